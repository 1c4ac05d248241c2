"""Outputs that no score tells apart: equal vectors, and equal directions where only these are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.problems.contradictions import row_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals

_EPS = float(np.finfo(float).eps)

_ROUNDING = 32 * _EPS
"""By so much, relative to each entry, scaling to unit length may part rows of one direction."""

_SEED = 0


def refuse_twins(
    outputs: Reals, directions: Reals | None, name: Callable[[int], str], remedy: str
) -> None:
    """Refuse outputs that score the same for every input, so that neither is ever the best.

    ``directions`` are the outputs at unit length, where these are scored; ``name`` says what a row is
    called. Rows as given are taken at their word: those that differ in their last bit are two outputs.
    """
    condition, pair = "another vector", equal_rows(outputs)
    if pair is None and directions is not None:
        condition, pair = "in another direction, as outputs are normalized", parallel(directions)
    if pair is not None:
        first, later = pair
        raise arguments.refuse(
            name(later),
            name(first),
            f"{condition}, since equal ones always score the same and neither is ever stored",
            remedy,
        )


def equal_rows(rows: Reals) -> tuple[int, int] | None:
    """Return two rows that are equal, the earlier first, or None."""
    places: dict[bytes, int] = {}
    for place, row in enumerate(rows):
        first = places.setdefault(row_digest(row), place)
        if first != place:
            return first, place
    return None


def parallel(rows: Reals) -> tuple[int, int] | None:
    """Return two rows of unit length that are equal but for rounding, the earlier first, or None.

    Such rows lie side by side along any line: only neighbours along one are compared.

    >>> parallel(np.array([[0.6, 0.8], [1.0, 0.0], [0.6, 0.8 + 1e-16]]))
    (0, 2)
    """
    line = np.random.default_rng(_SEED).standard_normal(rows.shape[1])
    order = np.argsort(rows @ line, kind="stable")
    places = (rows @ line)[order]
    # Twice what equal rows may lie apart: their distance, and the rounding of the products.
    reach = 2 * (_ROUNDING + rows.shape[1] * _EPS) * float(np.linalg.norm(line))
    for step in range(1, len(rows)):
        close = np.flatnonzero(places[step:] - places[:-step] <= reach)
        if not close.size:
            return None
        one, other = order[close], order[close + step]
        apart = np.abs(rows[one] - rows[other])
        found = np.all(apart <= _ROUNDING * np.abs(rows[one]), axis=1)
        if found.any():
            pairs = np.sort(np.stack((one, other), axis=1)[found], axis=1)
            first, later = pairs[np.argmin(pairs[:, 1])]
            return int(first), int(later)
    return None
