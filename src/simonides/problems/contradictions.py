"""Facts that no weights store: one input with two right outputs, or an input of zeros."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals


def clashing(inputs: Reals, targets: Integers) -> list[tuple[int, int]]:
    """Return pairs of facts with equal inputs and different targets: no weights store both.

    The first fact of an input is paired with each later one that differs from it.
    """
    first: dict[bytes, int] = {}
    pairs = []
    for fact, row in enumerate(inputs):
        before = first.setdefault(row_digest(row), fact)
        if targets[before] != targets[fact]:
            pairs.append((before, fact))
    return pairs


def row_digest(row: Reals) -> bytes:
    """Return bytes that equal rows share, and others do not."""
    # Adding zero makes negative zero positive, so that equal rows have equal bytes.
    return hashlib.blake2b((row + 0.0).tobytes(), digest_size=16).digest()


def empty(inputs: Reals) -> list[int]:
    """Return the facts whose input is zero: all their outputs score alike, so that none is highest.

    >>> empty(np.array([[0.0, 2.0], [0.0, 0.0]]))
    [1]
    """
    return [int(fact) for fact in np.flatnonzero(~np.any(inputs, axis=1))]
