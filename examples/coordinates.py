"""Vectors in coordinates of their own: the directions they have, each of unit size."""

import math

import numpy as np

from simonides.arrays import Reals

_EMPTY = 1e-6
"""A direction smaller than this, against the largest, is rounding of single precision."""


def own_directions(vectors: Reals, *, centred: bool, dim: int | None = None) -> Reals:
    """Return the vectors in their ``dim`` largest directions (all that are not empty), at unit size.

    Coordinates change no score that a linear map can give, as long as no direction is left out. Outputs
    may be centred, since scores are compared; inputs may not.
    """
    rows = vectors - vectors.mean(axis=0) if centred else vectors
    left, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    kept = int(np.count_nonzero(sizes > _EMPTY * sizes[0])) if dim is None else dim
    return np.asarray(left[:, :kept] * math.sqrt(len(rows)))
