"""Bounds on what double precision may be off by, and lengths that neither overflow nor underflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simonides.arrays import Reals

UNIT = 2.0**-53
UNDERFLOW = 2.0**-1000
"""More than any product can lose by underflow, were all its factors below 1e70."""


def gamma(terms: int) -> float:
    """Return the relative error that so many operations in a row can make at most."""
    return terms * UNIT / (1 - terms * UNIT)


def lengths(rows: Reals) -> Reals:
    """Return the length of each row; squares of what is divided by the largest cannot all underflow."""
    peaks = np.abs(rows).max(axis=1)
    scaled = rows / np.where(peaks > 0, peaks, 1.0)[:, None]
    return np.asarray(peaks * np.linalg.norm(scaled, axis=1))


def length(matrix: Reals) -> float:
    """Return the root of the sum of all squares."""
    return float(lengths(matrix.reshape(1, -1))[0])
