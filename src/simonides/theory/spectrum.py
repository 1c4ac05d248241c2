r"""Singular values of the best memory at capacity: the truncated quarter circle (Claim 2).

With :math:`x = 2\cos(\psi/2)` the quarter circle's upper tail is
:math:`1 - F(x) = (\psi - \sin\psi)/\pi` and its second moment above :math:`x` is
:math:`(\psi - \tfrac12\sin 2\psi)/\pi`: Kepler's equation, and no quadrature anywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.theory.laws import Law

if TYPE_CHECKING:
    from simonides.arrays import Reals


@dataclass(frozen=True)
class QuarterCircleLaw(Law):
    r"""Singular values of a square matrix of i.i.d. N(0, 1/d) entries: :math:`\sqrt{4-x^2}/\pi`.

    >>> float(QuarterCircleLaw().cdf(2.0))
    1.0
    """

    @property
    def support(self) -> tuple[float, float]:
        """From 0 to 2."""
        return 0.0, 2.0

    def _density(self, x: Reals) -> Reals:
        return np.asarray(np.sqrt((2 - x) * (2 + x)) / math.pi)

    def _distribution(self, x: Reals) -> Reals:
        return np.asarray((x * np.sqrt((2 - x) * (2 + x)) / 2 + 2 * np.arcsin(x / 2)) / math.pi)


@dataclass(frozen=True)
class CapacityLaw(Law):
    r"""Non-zero singular values at capacity over the largest one (eq. 10).

    A quarter circle truncated from below: density proportional to :math:`\sqrt{1 - x^2}` on
    :math:`[x_{\min}, 1]`, where :math:`2 x_{\min}` leaves the rank fraction above it. A
    replica-symmetric prediction; exact at full rank, where the problem is convex.
    """

    rank_fraction: float = 1.0

    def __post_init__(self) -> None:
        _rank_fraction(self.rank_fraction)

    @cached_property
    def cutoff(self) -> float:
        """Smallest non-zero singular value over the largest."""
        return math.cos(_tail_angle(self.rank_fraction) / 2)

    @property
    def support(self) -> tuple[float, float]:
        """From the cutoff to 1."""
        return self.cutoff, 1.0

    def _density(self, x: Reals) -> Reals:
        return np.asarray(4 * np.sqrt((1 - x) * (1 + x)) / (math.pi * self.rank_fraction))

    def _distribution(self, x: Reals) -> Reals:
        angle = 2 * np.arccos(np.clip(x, -1.0, 1.0))
        return np.asarray(1 - (angle - np.sin(angle)) / (math.pi * self.rank_fraction))


def critical_load(rank_fraction: float = 1.0) -> float:
    r"""Return the load :math:`p \log p / d^2` at capacity in the limit of large dimension.

    .. math:: \alpha_c(\kappa) = \tfrac12 \int_{1-\kappa}^{1} F^{-1}(u)^2\, du
        \qquad\text{(eq. 9)}

    with :math:`F` the quarter circle's distribution function. One half at full rank (Claim 1).
    Below full rank it is the replica-symmetric value, an upper bound.

    >>> critical_load()
    0.5
    >>> print(f"{critical_load(0.25):.7f}")
    0.3114563
    """
    angle = _tail_angle(_rank_fraction(rank_fraction))
    return float(_minus_sine(2 * angle)) / (4 * math.pi)


def _tail_angle(rank_fraction: float) -> float:
    """Return the angle at which the quarter circle's upper tail holds the rank fraction."""
    from scipy.optimize import brentq

    def surplus(angle: float) -> float:
        return _minus_sine(angle) - math.pi * rank_fraction

    return float(brentq(surplus, 0.0, math.pi, xtol=1e-18, rtol=1e-15))


def _minus_sine(angle: float) -> float:
    """Return angle - sin(angle) without cancellation."""
    if angle > 0.5:
        return angle - math.sin(angle)
    term, total, order = angle**3 / 6, 0.0, 3
    while abs(term) > 1e-17 * abs(total):
        total += term
        term *= -(angle**2) / ((order + 1) * (order + 2))
        order += 2
    return total


def _rank_fraction(value: float) -> float:
    return arguments.real(
        "rank_fraction",
        value,
        least=0,
        most=1,
        open_least=True,
        remedy="pass the rank bound over the dimension",
    )
