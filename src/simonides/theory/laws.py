"""Laws of one real variable: density, distribution function, quantiles, moments and samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from simonides import arguments
from simonides.theory.quadrature import composite_gauss_legendre

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from simonides.arrays import Reals

_TABLE_SIZE = 1025
"""Points of the table in which samples are interpolated: probabilities are off by less than 1e-6."""

NORMAL_REACH = 9.5
"""Standard deviations that hold a Gaussian but for a probability of 2e-21, below double precision."""


class Law(ABC):
    """A probability law with a density on an interval.

    A law supplies ``support``, ``_density`` and ``_distribution`` on flat arrays inside the
    support; everything else follows from them.
    """

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """Interval that carries the law, but for a probability below double precision."""

    @abstractmethod
    def _density(self, x: Reals) -> Reals: ...

    @abstractmethod
    def _distribution(self, x: Reals) -> Reals: ...

    def pdf(self, x: ArrayLike) -> Reals:
        """Return the density at ``x``, zero outside the support."""
        points = np.asarray(x, dtype=np.float64)
        low, high = self.support
        inside = (points >= low) & (points <= high)
        values = np.where(np.isnan(points), np.nan, 0.0)
        values[inside] = self._density(points[inside])
        return values

    def cdf(self, x: ArrayLike) -> Reals:
        """Return the probability of a value of at most ``x``."""
        points = np.asarray(x, dtype=np.float64)
        low, high = self.support
        inside = (points > low) & (points < high)
        values = np.where(np.isnan(points), np.nan, (points >= high).astype(np.float64))
        values[inside] = self._distribution(points[inside])
        return values

    def quantile(self, probability: ArrayLike) -> Reals:
        """Return the values below which the given probabilities lie."""
        from scipy.optimize import elementwise

        levels = np.asarray(probability, dtype=np.float64)
        if not np.all((levels >= 0) & (levels <= 1)):
            worst = float(levels[~((levels >= 0) & (levels <= 1))][0])
            raise arguments.refuse(
                "probability", worst, "between 0 and 1", "pass probabilities, not percentages"
            )
        grid, table = self._table
        flat = levels.ravel()
        cell = np.clip(np.searchsorted(table, flat, side="left"), 1, grid.size - 1)
        bracket = (grid[cell - 1], grid[cell])
        solved = elementwise.find_root(self._excess, bracket, args=(flat,))
        at_end = np.where(flat <= table[0], grid[0], grid[-1])
        inside = (flat > table[0]) & (flat < table[-1])
        return np.asarray(np.where(inside, solved.x, at_end).reshape(levels.shape))

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator) -> Reals:
        """Draw independent values (by interpolation of a fine table of quantiles)."""
        from scipy.interpolate import PchipInterpolator

        grid, table = self._table
        rising = np.concatenate(([True], np.diff(table) > 0))
        return np.asarray(PchipInterpolator(table[rising], grid[rising])(rng.random(size)))

    def moment(self, order: float) -> float:
        """Return the mean of the given power of the variable."""
        low, high = self.support
        # The cosine substitution removes the square-root edges that spectra have.
        angles, weights = composite_gauss_legendre(0.0, np.pi)
        x = (low + high) / 2 - (high - low) / 2 * np.cos(angles)
        jacobian = (high - low) / 2 * np.sin(angles)
        return float(weights @ (x**order * self._density(x) * jacobian))

    def _excess(self, x: Reals, probability: Reals) -> Reals:
        return self.cdf(x) - probability

    @property
    def mean(self) -> float:
        """Mean of the law."""
        return self.moment(1)

    @property
    def variance(self) -> float:
        """Variance of the law."""
        return self.moment(2) - self.mean**2

    @cached_property
    def _table(self) -> tuple[Reals, Reals]:
        low, high = self.support
        angles = np.linspace(0.0, np.pi, _TABLE_SIZE)
        grid = (low + high) / 2 - (high - low) / 2 * np.cos(angles)
        grid[0], grid[-1] = low, high
        return grid, np.maximum.accumulate(self.cdf(grid))


@dataclass(frozen=True)
class NormalLaw(Law):
    """A Gaussian of unit variance.

    >>> float(NormalLaw(2.0).cdf(2.0))
    0.5
    """

    centre: float = 0.0

    @property
    def support(self) -> tuple[float, float]:
        """Interval that carries the law."""
        return self.centre - NORMAL_REACH, self.centre + NORMAL_REACH

    def _density(self, x: Reals) -> Reals:
        return np.asarray(np.exp(-((x - self.centre) ** 2) / 2) / np.sqrt(2 * np.pi))

    def _distribution(self, x: Reals) -> Reals:
        return np.asarray(special.ndtr(x - self.centre))
