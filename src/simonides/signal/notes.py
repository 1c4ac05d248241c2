"""Where the theory is known to be poor, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simonides.arrays import Reals, Truths
    from simonides.signal.maps.architecture import Architecture

MANY_TOKENS = 8
"""Tokens over the dimension from which gradients are known to be overestimated."""

FEW_DIMENSIONS = 64
"""Below it networks scatter: the cosine of two tokens by some 1/√d, here an eighth."""


class PoorTheoryWarning(UserWarning):
    """An answer in a regime where the theory is known to be off."""


def caveats(
    architecture: Architecture,
    *,
    frozen: Truths | bool,
    attention_skip: Reals | float,
    attention_variance: Reals | float,
    limit: bool,
) -> tuple[str, ...]:
    """Return where the theory is known to be poor for these networks, most important first.

    ``frozen`` says where attention exceeds its critical beta, ``limit`` whether statistics are those
    of infinitely many tokens.
    """
    notes = []
    weak = np.square(attention_skip) < attention_variance
    deep = architecture.layers > 1
    if deep and not architecture.centred and np.any(frozen & weak):
        notes.append(
            "Frozen attention with a weak skip: tokens that copy the same key are not described by one "
            "norm and one cosine, and the predicted cosine rises too early, by up to 0.3."
        )
    if deep and architecture.centred and np.any(frozen):
        notes.append(
            "Frozen centred attention: predicted gradients of deep networks are too large, at beta = 3 "
            "by a factor of 16 where they were measured (24 layers)."
        )
    if architecture.tokens >= MANY_TOKENS * architecture.dim:
        notes.append(
            "Many more tokens than dimensions: predicted gradients are too large, by up to 16% "
            "where those of one layer were measured (d = 256 and 512, T = 4 d to 16 d)."
        )
    if architecture.causal:
        notes.append(
            "Causal mask: cosine and entropy are for late positions, which see almost all keys; gradients "
            "are averages over positions."
        )
    if limit:
        notes.append(
            "Statistics of infinitely many tokens: entropy and participation are far off near and below "
            "the critical beta at any number of tokens in use."
        )
    if architecture.dim < FEW_DIMENSIONS:
        notes.append("A small dimension: single networks scatter widely around the mean predicted.")
    return tuple(notes)
