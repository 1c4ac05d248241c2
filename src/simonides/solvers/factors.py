"""Two factors of a matrix: its best approximation of a given rank, shared out evenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

if TYPE_CHECKING:
    from simonides.arrays import Reals


def truncated(weights: Reals, rank: int) -> tuple[Reals, Reals]:
    """Return U and V with U V^T the best approximation of a rank, their columns of equal lengths.

    >>> left, right = truncated(np.diag([4.0, 1.0]), 1)
    >>> (left @ right.T).tolist()
    [[4.0, 0.0], [0.0, 0.0]]
    """
    left, sizes, right = linalg.svd(weights, full_matrices=False)
    roots = np.sqrt(sizes[:rank])
    return left[:, :rank] * roots, right[:rank].T * roots


def cut(weights: Reals, rank: int) -> Reals:
    """Return the best approximation of a rank."""
    left, sizes, right = linalg.svd(weights, full_matrices=False)
    return np.asarray((left[:, :rank] * sizes[:rank]) @ right[:rank])
