"""Facts put into a language model: read, stored, proved, run, measured and written."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.editing.folder import MOST_TOKENS
from simonides.editing.language_model import LanguageModel
from simonides.editing.middle import Spared, applied, layers_to_try, understand
from simonides.editing.ordinary_text import python_text, read_text
from simonides.editing.outcome import Edit, EditRequest, outcome_of
from simonides.editing.running import run
from simonides.editing.statements import given_statements, read_statements
from simonides.editing.storing import place, refuse_twins, store
from simonides.editing.text_statistics import second_moments, text_score
from simonides.editing.token_facts import kept_facts, token_facts, without
from simonides.failures import BadArgumentError
from simonides.interrupts import completed
from simonides.problems import checked
from simonides.reading import expecting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from simonides.arrays import Reals
    from simonides.editing.middle import MiddleChange
    from simonides.editing.statements import Statement
    from simonides.editing.storing import Placed
    from simonides.editing.token_facts import TokenFact
    from simonides.solvers.solution import Progress

MARGIN = 0.05
"""Of the stream's root mean square: a thousand facts hold by it far beyond single precision's rounding."""

_LARGEST = 100.0
"""Margin, in root mean squares of the stream: one that is asked for by mistake."""

_MIDDLE_SHARE = 0.5
"""Of a time limit, for the middle layer at most: what it leaves undone the last layer stores."""


def edit(
    model: str | Path | LanguageModel,
    facts: str | Path | Iterable[tuple[str, ...]],
    *,
    layer: int | str = -1,
    keep: str | Path | None = None,
    preserve: str | Path | Iterable[tuple[str, str]] | None = None,
    margin: float = MARGIN,
    rank: int | None = None,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Callable[[str], None] | None = None,
) -> Edit:
    """Put facts into a language model with small changes of its weights, and prove them.

    Which token wins after a prompt is linear in the weights of the last layer's ``mlp.down_proj`` where the
    final norm is an RMSNorm. So what is proved is proved of the model itself, up to its own floating point;
    that it holds there too is checked by running the edited model. The last layer repeats what it was told.
    To be understood in other words, a fact is first stored in a layer in the middle, and what that leaves
    undone in the last.

    Parameters
    ----------
    model : path or LanguageModel
        A folder that ``transformers`` wrote, a ``.gguf`` file, or a model that is loaded.
    facts : path or pairs of str
        A CSV file with the columns prompt and answer, or such pairs. An answer follows its prompt after one
        space. Each of its tokens is a fact. A layer in the middle also needs the subject, a part of the
        prompt, in a third column; lines of one subject and one answer are wordings of one fact.
    layer : int or "auto"
        The last one, -1; one in the middle, counted from zero; or the one in the middle at which wordings
        held out are understood best.
    keep : path, optional
        Ordinary text that the change is to disturb least: 60% of it for second moments, the rest for
        perplexity. Default: the language reference that comes with Python.
    preserve : path or pairs of str, optional
        Prompts whose present next token must stay; with an answer also that after each token of it.
    margin : float
        Distance at which each stream must lie inside its token's cell, over the stream's root mean square.
    rank : int, optional
        Largest rank of the last layer's change, which is longer for it. Alone it may be an adapter.
    time_limit : float, optional
        Seconds for storing, after which the best so far is taken. So it is when interrupted.
    threads : int, optional
        Threads to use.
    watch : callable, optional
        Called with a line about what is being done.

    Returns
    -------
    Edit
        What is stored, proved and measured; ``save`` writes the edited model.

    Raises
    ------
    BadArgumentError
        For files that are not what they must be, facts that contradict each other, tokens that no weights
        tell apart, other layers, and models of other kinds.

    Examples
    --------
    >>> outcome = edit("SmolLM2", [("The capital of Atlantis is", "Poseidonis")])  # doctest: +SKIP
    >>> outcome.save("edited")  # doctest: +SKIP
    """
    margin = arguments.between("margin", margin, 0, _LARGEST, remedy="pass a share such as 0.05")
    arguments.time_limit(time_limit)
    statements = _statements("facts", facts, need_answer=True)
    staying = [] if preserve is None else _statements("preserve", preserve, need_answer=False)
    text = python_text() if keep is None else read_text(keep)
    say = watch if watch is not None else _silent
    with _torch_threads(threads):
        say("loading the model")
        loaded = model if isinstance(model, LanguageModel) else LanguageModel.load(model)
        _check_layer(layer, loaded, statements)
        if rank is not None:
            rank = checked.rank_of_shape(rank, *reversed(loaded.weight.shape))
        marks = [time.perf_counter()]
        with expecting("facts", _name(facts), "facts that a model can hold", "change that line"):
            learnt = token_facts(statements, loaded.tokenizer, loaded.longest)
            refuse_twins(loaded, learnt)
            _refuse_more(learnt)
        with expecting(
            "preserve", _name(preserve), "prompts that a model reads", "change that line"
        ):
            kept = kept_facts(staying, loaded.tokenizer, loaded.longest, loaded.next_tokens)
            kept = without(kept, learnt)
            refuse_twins(loaded, kept)
            _refuse_more([*learnt, *kept])
        before = text_score(loaded, text.held_out, lambda n: say(f"{n:,} tokens foretold"))
        marks.append(time.perf_counter())
        middle = None
        if not _is_last(layer, loaded):
            chosen = None if isinstance(layer, str) else layer % loaded.layers
            half = None if time_limit is None else _MIDDLE_SHARE * time_limit
            spared = Spared(text.learnt, tuple(fact.prefix for fact in kept))
            middle = understand(loaded, statements, spared, chosen, half, say)
        marks.append(time.perf_counter())
        remaining = _remaining(time_limit, middle, marks[2] - marks[1])
        with applied(middle, loaded):

            def read() -> tuple[Placed, Reals]:
                placed = place(
                    loaded, learnt, kept, margin, lambda n: say(f"keys of {n:,} facts read")
                )
                return placed, second_moments(
                    loaded, text.learnt, lambda n: say(f"{n:,} tokens of text read")
                )

            # After work in the middle an interrupt loses nothing; before any there is nothing to lose.
            (placed, metric), pressed = (read(), False) if middle is None else completed(read)
            marks.append(time.perf_counter())
            stored = store(
                loaded, placed, metric, rank=rank, time_limit=0.0 if pressed else remaining,
                threads=threads, watch=lambda progress: say(_line(progress)),
            )  # fmt: skip
            if pressed:
                stored = replace(stored, solution=replace(stored.solution, interrupted=True))
        marks.append(time.perf_counter())
        say("running the edited model")
        seen = run(loaded, middle, stored.change, learnt, kept, text)
    request = EditRequest(tuple(statements), learnt, kept, margin, text)
    reading, storing = (float(sum(np.diff(marks)[first::2])) for first in (0, 1))
    return outcome_of(loaded, request, middle, stored, seen, before, (storing, reading))


def _remaining(
    time_limit: float | None, middle: MiddleChange | None, seconds: float
) -> float | None:
    """Return the time left for the last layer after so many seconds for the one in the middle."""
    if middle is None or not (middle.interrupted or time_limit is not None):
        return time_limit
    return 0.0 if time_limit is None or middle.interrupted else max(time_limit - seconds, 0.0)


def _is_last(layer: int | str, model: LanguageModel) -> bool:
    return layer in (-1, model.layers - 1)


def _check_layer(layer: int | str, model: LanguageModel, statements: Sequence[Statement]) -> None:
    """Refuse a layer that is none, and facts without a subject for one in the middle."""
    if layer != "auto":
        last = model.layers - 1
        condition = f"auto, or a whole number from -{last + 1} to {last}"
        remedy = "choose a layer of the model; -1 is the last"
        if isinstance(layer, bool) or not isinstance(layer, int) or not -last - 1 <= layer <= last:
            raise arguments.refuse("layer", layer, condition, remedy)
    if _is_last(layer, model):
        return
    if model.layers < 2:
        raise arguments.refuse("layer", layer, "-1 in a model of one layer", "pass -1")
    changeable = model.at(layer).changeable if isinstance(layer, int) else layers_to_try(model)
    if not changeable:
        condition = "one whose mlp has a down_proj, which alone is changed"
        raise arguments.refuse("layer", layer, condition, "pass -1, or another layer")
    lacking = next((each for each in statements if not each.subject), None)
    if lacking is not None:
        raise arguments.refuse(
            "layer", layer, f"-1 where line {lacking.line} of the facts names no subject",
            "give a column subject: the part of the prompt that the fact is about",
        )  # fmt: skip


def _refuse_more(facts: Sequence[TokenFact]) -> None:
    """Raise ``ValueError`` for more facts than a proof can be written of."""
    count = sum(len(fact.prefix) for fact in facts)
    if count > MOST_TOKENS:
        raise ValueError(
            f"the prefixes of all facts have {count:,} tokens, more than {MOST_TOKENS:,}"
        )


def _statements(name: str, source: Any, *, need_answer: bool) -> list[Statement]:
    if not isinstance(source, str) and not hasattr(source, "__fspath__"):
        try:
            return given_statements(source, name, need_answer=need_answer)
        except BadArgumentError:
            raise
        except (TypeError, ValueError) as error:
            raise arguments.refuse(name, "pairs", "of prompt and answer", str(error)) from None
    return read_statements(source, name, need_answer=need_answer)


def _name(source: Any) -> str:
    return str(source) if isinstance(source, str) or hasattr(source, "__fspath__") else "pairs"


def _silent(_line: str) -> None:
    """Show nothing."""


def _line(progress: Progress) -> str:
    return f"step {progress.step}: {progress.violations:,} facts not recalled"


class _torch_threads:  # noqa: N801 - used as a block
    """A block in which torch uses so many threads."""

    def __init__(self, threads: int | None) -> None:
        if threads is not None:
            arguments.whole("threads", threads, remedy="pass the number of threads to use")
            threads = min(threads, os.cpu_count() or 1)
        self._threads, self._before = threads, 0

    def __enter__(self) -> None:
        if self._threads is not None:
            import torch

            self._before = torch.get_num_threads()
            torch.set_num_threads(self._threads)

    def __exit__(self, *_: object) -> None:
        if self._threads is not None:
            import torch

            torch.set_num_threads(self._before)
