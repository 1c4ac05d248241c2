r"""Singular values of two random layers before training (eq. C.70, Fig. C.2).

For :math:`W = UV` with :math:`U` of shape d x m and :math:`V` m x d, i.i.d. N(0, 1/d) entries, let
:math:`G(z)` be the resolvent of the m non-zero squared singular values and :math:`h = zG`. Then
:math:`z (h - 1) = h (1 - \kappa + \kappa h)^2`: the free product of two Marchenko-Pastur laws.
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

_PANELS = 512
_PANEL_NODES = 8


@dataclass(frozen=True)
class InitialLaw(Law):
    """Non-zero singular values of a product of two Gaussian layers of width ``rank_fraction`` d."""

    rank_fraction: float = 1.0

    def __post_init__(self) -> None:
        arguments.real(
            "rank_fraction",
            self.rank_fraction,
            least=0,
            most=1,
            open_least=True,
            remedy="pass the rank bound over the dimension",
        )

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
        """Return the mean of the given power of the variable."""
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
