"""Where the theory is known to be poor, in words."""

from __future__ import annotations

import numpy as np

from simonides.arrays import Truths
from simonides.signal.maps.architecture import Architecture
from simonides.signal.maps.forward import Gains

MANY_TOKENS = 8
"""Tokens over the dimension from which gradients are known to be overestimated."""

FEW_DIMENSIONS = 64
"""Below it networks scatter: the cosine of two tokens by some 1/√d, here an eighth."""


class PoorTheoryWarning(UserWarning):
    """An answer in a regime where the theory is known to be off."""


def caveats(
    architecture: Architecture, gains: Gains, *, frozen: Truths, limit: bool
) -> tuple[str, ...]:
    """Return where the theory is known to be poor for these networks, most important first.

    ``frozen`` says where attention exceeds its critical beta, ``limit`` whether statistics are those
    of infinitely many tokens.
    """
    deep, centred = architecture.layers > 1, architecture.centred
    weak = np.square(gains.attention_skip) < gains.attention_variance
    notes = {
        "Frozen attention with a weak skip: tokens that copy the same key are not described by one norm "
        "and one cosine, and the predicted cosine rises too early, by up to 0.3.": (
            deep and not centred and np.any(frozen & weak)
        ),
        "Frozen centred attention: predicted gradients of deep networks are too large, at beta = 3 by a "
        "factor of 16 where they were measured (24 layers).": deep and centred and np.any(frozen),
        "Many more tokens than dimensions: predicted gradients are too large, by up to 16% where those "
        "of one layer were measured (d = 256 and 512, T = 4 d to 16 d).": (
            architecture.tokens >= MANY_TOKENS * architecture.dim
        ),
        "Causal mask: cosine and entropy are for late positions, which see almost all keys; gradients "
        "are averages over positions.": architecture.causal,
        "Statistics of infinitely many tokens: entropy and participation are far off near and below the "
        "critical beta at any number of tokens in use.": limit,
        "A small dimension: single networks scatter widely around the mean predicted.": (
            architecture.dim < FEW_DIMENSIONS
        ),
    }
    return tuple(note for note, holds in notes.items() if holds)
