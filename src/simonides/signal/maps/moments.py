r"""Pair moments of an activation, and the arcsine that several of them are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simonides.arrays import Reals


@dataclass(frozen=True)
class PairValues:
    r"""Moments of an activation at variances q of two fields and gaps 1 - c of their correlation.

    ``square`` is :math:`E\varphi^2`, which does not depend on the gap and has the variance's shape;
    ``contrast`` is :math:`E\varphi^2 - E\varphi\varphi'`, kept apart so that nothing cancels as tokens
    collapse.
    """

    square: Reals
    contrast: Reals


@dataclass(frozen=True)
class PairSlopes:
    r"""The same of its derivative: :math:`E\dot\varphi^2` and :math:`E\dot\varphi\dot\varphi'`."""

    square: Reals
    product: Reals


def arcsine_fall(variance: Reals, gap: Reals, room: float) -> Reals:
    r"""Return :math:`\arcsin\frac{q}{q + r} - \arcsin\frac{q c}{q + r}` with all its digits at small gaps.

    For correlations that are not negative: beyond a right angle the arcsine would fold.

    >>> print(f"{float(arcsine_fall(np.array(1.0), np.array(1e-12), 1.0)) * 1e12:.6f}")
    0.577350
    """
    here, at_one = breadths(variance, gap, room)
    return np.arcsin(variance * gap * (2 - gap) / (here + (1 - gap) * at_one))


def breadths(variance: Reals, gap: Reals, room: float) -> tuple[Reals, Reals]:
    r"""Return :math:`\sqrt{(q + r)^2 - q^2 c^2}` at each gap, and at none."""
    here = np.sqrt((room + variance * gap) * (room + variance * (2 - gap)))
    return here, np.sqrt(room * (room + 2 * variance))
