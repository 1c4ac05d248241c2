r"""Statistical dimension of the retrieval cone: what one fact costs.

A fact is recalled when the target's score beats every rival's by the margin :math:`c`: the vector
of its :math:`K` scores lies in :math:`C_K(c) = \{z : z_1 \ge z_j + c\}`. Its price, in parameters,
is the mean squared distance of a Gaussian vector from that set,

.. math:: \delta_K(c) = E\,\mathrm{dist}^2(g, C_K(c)), \qquad g \sim N(0, I_K).

The projection raises the target to a level :math:`t` and lowers every rival above :math:`t - c`
to it, where :math:`t - g_1 = \sum_{j \ge 2} (g_j + c - t)_+`. Gaussian integration by parts gives

.. math:: \delta_K(c) = E[\text{active rivals}] + c\, E[t],

two integrals over :mod:`simonides.theory.exceedance`. At :math:`c = 0` it is the statistical
dimension of a convex cone in the sense of conic geometry.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from simonides import arguments
from simonides.theory.exceedance import ExceedanceSum, density
from simonides.theory.quadrature import gauss_legendre

if TYPE_CHECKING:
    from simonides.arrays import Reals

_NEGLIGIBLE = -44.0
"""Logarithm of a probability that no longer matters in double precision."""

_ALL_ACTIVE = 12.0
"""Margin per candidate beyond which a rival is inactive with probability below 1e-30."""

_LOWEST_LEVEL, _HIGHEST_LEVEL = -30.0, 45.0
"""Levels above the margin that hold every transition up to the most candidates allowed."""

_GRID_SIZE, _REFINEMENTS = 128, 2
"""Two refinements place the range to rounding error, one to 1e-5."""

MOST_CANDIDATES = 1e100
"""The highest of so many Gaussians is about 21, well inside the levels above."""


@dataclass(frozen=True)
class RetrievalCone:
    r"""The set of score vectors that recall a fact among ``candidates`` with a ``margin``.

    ``candidates`` may be fractional, which continues :math:`\delta_K` analytically in :math:`K`.
    """

    candidates: float
    margin: float = 0.0

    def level_cdf(self, level: Reals) -> Reals:
        """P(t < s) for the level t to which the projection raises the target."""
        return self.rivals(self.candidates - 1, level).probability_below()

    def rivals(self, count: float, level: Reals) -> ExceedanceSum:
        """Return the pull of ``count`` rivals on a target raised to ``level``."""
        return ExceedanceSum(level=level, threshold=level - self.margin, count=count)

    @property
    def all_active(self) -> bool:
        """Whether the margin is so wide that every rival is active, in double precision."""
        return self.margin > _ALL_ACTIVE * self.candidates

    @cached_property
    def level_range(self) -> tuple[float, float]:
        """Interval that holds the level t but for a probability below double precision."""
        return self._undecided(self.candidates - 1)

    def _undecided(self, count: float) -> tuple[float, float]:
        """Levels at which ``count`` rivals are neither surely below nor surely above."""
        low, high = self.margin + _LOWEST_LEVEL, self.margin + _HIGHEST_LEVEL
        for _ in range(_REFINEMENTS):
            grid = np.linspace(low, high, _GRID_SIZE)
            pull = self.rivals(count, grid)
            settled = pull.log_height < _NEGLIGIBLE
            surely_below = np.flatnonzero(settled & ~pull.left_of_pole)
            surely_above = np.flatnonzero(settled & pull.left_of_pole)
            low = float(grid[surely_below[-1]]) if surely_below.size else low
            high = float(grid[surely_above[0]]) if surely_above.size else high
        return low, high

    @cached_property
    def mean_level(self) -> float:
        """E[t], half the derivative of the statistical dimension with respect to the margin."""
        if self.all_active:
            return self.margin * (self.candidates - 1) / self.candidates
        low, high = self.level_range
        nodes, weights = gauss_legendre(low, high)
        return high - float(weights @ self.level_cdf(nodes))

    @cached_property
    def mean_active(self) -> float:
        """Mean number of rivals that the projection lowers."""
        low, high = self._undecided(self.candidates - 2)
        nodes, weights = gauss_legendre(low, high)
        below = self.rivals(self.candidates - 2, nodes).probability_below()
        undecided = float(weights @ (density(nodes - self.margin) * below))
        return (self.candidates - 1) * (undecided + float(special.ndtr(self.margin - high)))

    @cached_property
    def statistical_dimension(self) -> float:
        """Mean squared distance of a standard Gaussian vector from this set."""
        if self.all_active:
            return (self.candidates - 1) * (1 + self.margin**2 / self.candidates)
        if self.margin == 0:
            return self.mean_active
        return self.mean_active + self.margin * self.mean_level


def statistical_dimension(candidates: float, margin: float = 0.0) -> float:
    r"""Return the price of one fact, :math:`\delta_K(c)`, in parameters.

    The mean squared distance of K Gaussian scores from those that recall the fact,
    :math:`E\,\mathrm{dist}^2(g, \{z : z_1 \ge z_j + c\})`. Not in the paper; it is the limit
    :math:`-2 (1-q) f_K(q)` at :math:`q \to 1` of its energetic term, eq. (C.23).

    Parameters
    ----------
    candidates : float
        Outputs K that compete, from 2 to 1e100; fractions continue it between whole numbers.
    margin : float
        By how much the target must win, c, in units of a fresh output's score.

    Returns
    -------
    float
        To thirteen digits for whole numbers of candidates and for fractions from ten on; for smaller
        fractions with a margin, to four.

    Raises
    ------
    ValueError
        For fewer than two candidates or a negative margin.

    Examples
    --------
    >>> round(statistical_dimension(3), 12) == round(5 / 6, 12)
    True
    >>> print(f"{statistical_dimension(1000):.10f}")
    8.1202378064
    """
    return _statistical_dimension(*checked_rivalry(candidates, margin))


def checked_rivalry(candidates: float, margin: float) -> tuple[float, float]:
    """Return candidates and margin, refused by name where no fact could compete so."""
    return (
        arguments.real(
            "candidates", candidates, least=2, most=MOST_CANDIDATES, remedy=arguments.RIVAL
        ),
        arguments.real("margin", margin, least=0, remedy="pass 0 to ask only that the target wins"),
    )


@lru_cache(maxsize=4096)
def _statistical_dimension(candidates: float, margin: float) -> float:
    return RetrievalCone(candidates, margin).statistical_dimension
