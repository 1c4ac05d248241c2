"""The edited model, run: what it recalls, what it kept, and what became of ordinary text."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simonides.editing.middle import applied
from simonides.editing.text_statistics import stream_change, text_score
from simonides.interrupts import Keyboard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.arrays import Reals
    from simonides.editing.language_model import LanguageModel
    from simonides.editing.middle import MiddleChange
    from simonides.editing.ordinary_text import OrdinaryText
    from simonides.editing.text_statistics import TextScore
    from simonides.editing.token_facts import TokenFact


@dataclass
class Run:
    """What the edited model did when it ran; nothing of it if that was interrupted.

    ``lost`` are the lines of facts that it does not recall, ``moved`` the change of the stream on text as a
    share of the stream.
    """

    stored: int | None = None
    kept: int | None = None
    lost: tuple[int, ...] = ()
    text: TextScore | None = None
    moved: float = np.nan
    interrupted: bool = True


def run(
    model: LanguageModel,
    middle: MiddleChange | None,
    change: Reals,
    learnt: list[TokenFact],
    kept: list[TokenFact],
    text: OrdinaryText,
) -> Run:
    """Return what a model with its changes does, or as much of it as there was time for."""
    outcome = Run()

    @contextlib.contextmanager
    def edited() -> Iterator[None]:
        with applied(middle, model), model.changed(change):
            yield

    with Keyboard():
        with edited():
            missing, gone = (_missing(model, facts) for facts in (learnt, kept))
            outcome.stored, outcome.kept = len(learnt) - len(missing), len(kept) - len(gone)
            outcome.lost = tuple(sorted({line for fact in missing for line in fact.lines}))
            outcome.text = text_score(model, text.held_out)
        outcome.moved = stream_change(model, text.held_out, edited)
        outcome.interrupted = False
    return outcome


def _missing(model: LanguageModel, facts: list[TokenFact]) -> list[TokenFact]:
    """Return the facts whose token the model, run as it is, does not find most likely."""
    tokens = model.next_tokens([fact.prefix for fact in facts])
    return [fact for token, fact in zip(tokens, facts, strict=True) if token != fact.target]
