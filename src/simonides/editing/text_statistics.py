r"""What ordinary text does in a model: second moments of a layer's keys, and how well text is foretold.

With :math:`C = E[k k^T]` over the tokens of a text, :math:`\operatorname{tr} \Delta C \Delta^T` is the mean
square by which a change moves the stream there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.editing.language_model import batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from simonides.arrays import Reals
    from simonides.editing.language_model import LanguageModel

MOMENT_TOKENS = 6_000
"""Tokens for second moments: four for each of the 1,536 directions of a small model's keys."""

HELD_OUT_TOKENS = 4_000
"""Tokens for perplexity: two texts of so many differ by some per cent, the same text twice by nothing."""

_WINDOW = 256
"""Tokens that a text is cut into: each but the first has some context."""

_RIDGE = 0.01
"""Of the mean eigenvalue of C, added to each: directions that so little text never met are not free."""


@dataclass(frozen=True)
class TextScore:
    """How well a text is foretold, and the mean square of the stream, and of what a change adds to it.

    Attributes
    ----------
    perplexity : float
        Exponential of the mean negative log-likelihood of each token after those before it.
    next_token : float
        Share of tokens that the model finds most likely.
    tokens : int
        How many were foretold.
    """

    perplexity: float
    next_token: float
    tokens: int


def second_moments(
    model: LanguageModel, text: str, watch: Callable[[int], None] | None = None
) -> Reals:
    """Return C over the tokens of a text, with a ridge."""
    total, count = np.zeros((model.down.in_features,) * 2), 0
    for window in _windows(model, text, MOMENT_TOKENS):
        keys = model.states(window)[0][0].double().numpy()
        total += keys.T @ keys
        count += len(keys)
        if watch is not None:
            watch(count)
    total /= count
    total[np.diag_indices_from(total)] += _RIDGE * float(np.trace(total)) / len(total)
    return np.asarray((total + total.T) / 2)


def prompt_moments(model: LanguageModel, prefixes: Sequence[tuple[int, ...]]) -> Reals:
    """Return C over all tokens of prompts, zero where there are none."""
    total, count = np.zeros((model.down.in_features,) * 2), 0
    for _, tokens in batches(prefixes):
        keys = model.states(tokens)[0].flatten(0, 1).double().numpy()
        total += keys.T @ keys
        count += len(keys)
    return np.asarray(total / max(count, 1))


def text_score(
    model: LanguageModel, text: str, watch: Callable[[int], None] | None = None
) -> TextScore:
    """Return how well the model, run as it is, foretells a text."""
    import torch

    loss, right, count = 0.0, 0, 0
    for window in _windows(model, text, HELD_OUT_TOKENS):
        with torch.no_grad():
            logits = model.logits(window)[0, :-1]
        following = window[0, 1:]
        loss += float(torch.nn.functional.cross_entropy(logits, following, reduction="sum"))
        right += int((logits.argmax(1) == following).sum())
        count += len(following)
        if watch is not None:
            watch(count)
    return TextScore(math.exp(min(loss / count, 700.0)), right / count, count)


def stream_change(
    model: LanguageModel, text: str, edited: Callable[[], AbstractContextManager[None]]
) -> float:
    """Return by how much edits move the stream on a text, as a share of its root mean square."""
    moved, whole = 0.0, 0.0
    for window in _windows(model, text, HELD_OUT_TOKENS):
        before = model.states(window)[1].double()
        with edited():
            after = model.states(window)[1].double()
        moved += float((after - before).square().sum())
        whole += float(before.square().sum())
    return math.sqrt(moved / whole)


def _windows(model: LanguageModel, text: str, tokens: int) -> Iterator[Any]:
    """Yield a text in windows of tokens, from its beginning and up to a number."""
    import torch

    length = min(_WINDOW, model.longest)
    # A token has a character at least: no more text is looked at than can be used.
    longest = 32 * tokens
    ids = model.tokenizer(text[:longest], add_special_tokens=False, verbose=False)["input_ids"]
    ids = ids[:tokens]
    if len(ids) < 2:
        raise arguments.refuse("keep", text[:40], "a text of some tokens", "pass a longer one")
    for first in range(0, len(ids), length):
        if len(ids) - first >= 2:
            yield torch.tensor([ids[first : first + length]])
