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

    def _distribution(self, x: Reals) -> Reals:
        from scipy.interpolate import CubicHermiteSpline

        low, high = self.support
        angles, masses, slopes = self._cumulative
        position = np.arccos(np.clip((low + high - 2 * x) / (high - low), -1.0, 1.0))
        return np.clip(CubicHermiteSpline(angles, masses, slopes)(position), 0.0, 1.0)

    @cached_property
    def _cumulative(self) -> tuple[Reals, Reals, Reals]:
        """Distribution function and its slope on a grid of the angle that opens the edges."""
        low, high = self.support

        def opened(angle: Reals) -> Reals:
            x = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
            return np.asarray(self._density(x) * (high - low) / 2 * np.sin(angle))

        edges = np.linspace(0.0, math.pi, _PANELS + 1)
        nodes, weights = gauss_legendre(-0.5, 0.5, _PANEL_NODES)
        width = math.pi / _PANELS
        points = (edges[:-1, None] + width / 2) + width * nodes
        panel_masses = width * opened(points.ravel()).reshape(points.shape) @ weights
        masses = np.concatenate(([0.0], np.cumsum(panel_masses)))
        return edges, masses / masses[-1], opened(edges) / masses[-1]
