r"""Singular values of the best memory at capacity (Claim 2), and of layers before training (eq. C.70).

At capacity: the truncated quarter circle.

With :math:`x = 2\cos(\psi/2)` the quarter circle's upper tail is
:math:`1 - F(x) = (\psi - \sin\psi)/\pi` and its second moment above :math:`x` is
:math:`(\psi - \tfrac12\sin 2\psi)/\pi`: Kepler's equation, and no quadrature anywhere.

Before training: for :math:`W = UV` with :math:`U` of shape d x m and :math:`V` m x d, i.i.d. N(0, 1/d)
entries, let :math:`G(z)` be the resolvent of the m non-zero squared singular values and
:math:`h = zG`. Then :math:`z (h - 1) = h (1 - \kappa + \kappa h)^2`: the free product of two
Marchenko-Pastur laws (Fig. C.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.theory.laws import Law
from simonides.theory.quadrature import gauss_legendre

if TYPE_CHECKING:
    from simonides.arrays import Reals

_PANELS, _PANEL_NODES = 512, 8
"""Of integrals over a product's law: 64 panels are exact to rounding, more sharpen the cubic between."""


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


@dataclass(frozen=True)
class InitialLaw(Law):
    """Non-zero singular values of a product of two Gaussian layers of width ``rank_fraction`` d."""

    rank_fraction: float = 1.0

    def __post_init__(self) -> None:
        _rank_fraction(self.rank_fraction)

    @cached_property
    def support(self) -> tuple[float, float]:
        r"""The two edges, where :math:`dz/dh = 0`: :math:`2\kappa h^2 - 3\kappa h - (1-\kappa) = 0`."""
        kappa = self.rank_fraction
        root = math.sqrt(9 * kappa**2 + 8 * kappa * (1 - kappa))
        upper = (3 * kappa + root) / (4 * kappa)
        lower = -2 * (1 - kappa) / (3 * kappa + root)
        return math.sqrt(self._squared_value(lower)), math.sqrt(self._squared_value(upper))

    def _squared_value(self, h: float) -> float:
        return h * (1 - self.rank_fraction + self.rank_fraction * h) ** 2 / (h - 1)

    def _density(self, x: Reals) -> Reals:
        return np.asarray(2 * x * self._squared_density(x * x))

    def _squared_density(self, z: Reals) -> Reals:
        r"""Density of the squared values, :math:`|\mathrm{Im}\, h| / (\pi z)`, from the cubic."""
        kappa = self.rank_fraction
        companion = np.zeros((z.size, 3, 3))
        companion[:, 1, 0] = companion[:, 2, 1] = 1.0
        companion[:, 0, 2] = -z / kappa**2
        companion[:, 1, 2] = (z - (1 - kappa) ** 2) / kappa**2
        companion[:, 2, 2] = -2 * (1 - kappa) / kappa
        with np.errstate(divide="ignore", invalid="ignore"):
            height = np.abs(np.linalg.eigvals(companion).imag).max(axis=1) / (math.pi * z)
        return np.asarray(np.where(z > 0, height, 0.0))

    def moment(self, order: float) -> float:
        """Return the mean of a power of the variable."""
        x, weights, _ = self._nodes
        return float(weights.ravel() @ x.ravel() ** order)

    def _distribution(self, x: Reals) -> Reals:
        from scipy.interpolate import CubicHermiteSpline

        low, high = self.support
        places, masses, slopes = self._cumulative
        share = (x - low) / (high - low)
        place = np.cbrt(share / (1 + np.sqrt(1 - share)))
        return np.clip(CubicHermiteSpline(places, masses, slopes)(place), 0.0, 1.0)

    def _opened(self, place: Reals) -> tuple[Reals, Reals]:
        """Return values and density over a place in [0, 1] that opens both edges.

        x runs like the cube of the place at the lower edge, where the density of a square product
        grows like x^(-1/3), and like the square at the upper one, where it ends as a square root.
        """
        low, high = self.support
        x = low + (high - low) * place**3 * (2 - place**3)
        stretch = 6 * (high - low) * place**2 * (1 - place**3)
        return x, self._density(x.ravel()).reshape(x.shape) * stretch

    @cached_property
    def _nodes(self) -> tuple[Reals, Reals, Reals]:
        """Values, probability weights and panel edges of a composite Gauss rule."""
        edges = np.linspace(0.0, 1.0, _PANELS + 1)
        nodes, weights = gauss_legendre(0.0, 1.0 / _PANELS, _PANEL_NODES)
        x, opened = self._opened(edges[:-1, None] + nodes)
        return x, opened * weights, edges

    @cached_property
    def _cumulative(self) -> tuple[Reals, Reals, Reals]:
        """Places, distribution function and its slope there."""
        _, weights, edges = self._nodes
        masses = np.concatenate(([0.0], np.cumsum(weights.sum(axis=1))))
        return edges, masses / masses[-1], self._opened(edges)[1] / masses[-1]


def critical_load(rank_fraction: float = 1.0) -> float:
    r"""Return the load :math:`p \log p / d^2` at capacity in the limit of large dimension.

    .. math:: \alpha_c(\kappa) = \tfrac12 \int_{1-\kappa}^{1} F^{-1}(u)^2\, du
        \qquad\text{(eq. 9)}

    with :math:`F` the quarter circle's distribution function. One half at full rank (Claim 1).

    Parameters
    ----------
    rank_fraction : float
        Rank bound over the dimension, :math:`\kappa`.

    Returns
    -------
    float
        The load; below full rank the replica-symmetric value, an upper bound.

    Raises
    ------
    ValueError
        For a fraction outside (0, 1].

    Examples
    --------
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
    return arguments.fraction(
        "rank_fraction", value, remedy="pass the rank bound over the dimension"
    )
