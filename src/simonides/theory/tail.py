r"""Listwise retrieval: the target must beat the average of its strongest rivals.

Asking only that the target exceed the mean of the top fraction :math:`r` of its rivals removes the
logarithm: a fact costs a constant number of parameters however many candidates there are. At
:math:`r = 1/K` the criterion is the usual one, that the target wins. Not in the paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from simonides import arguments
from simonides.estimate import Estimate
from simonides.failures import ConvergenceError
from simonides.theory.cone import RetrievalCone
from simonides.theory.projection import tail_squared_distance

if TYPE_CHECKING:
    from simonides.arrays import Reals

_SAMPLES = 4096
"""A standard error below 1% where few rivals are averaged, and less the more there are."""

_ROWS_PER_BLOCK = 512
"""Rows projected at once: some megabytes where thousands of rivals are averaged."""

FRACTION_REMEDY = "pass the fraction of rivals that are averaged, or leave it out"


@dataclass(frozen=True)
class TailCone:
    """Score vectors whose target exceeds the mean of the top ``fraction`` of ``candidates``."""

    candidates: int
    fraction: float
    margin: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", arguments.candidates(self.candidates))
        arguments.fraction("fraction", self.fraction, remedy=FRACTION_REMEDY)
        arguments.real("margin", self.margin, least=0, remedy="pass 0 for no margin")

    @property
    def averaged(self) -> float:
        """Number of rivals averaged, at least one and at most all."""
        return averaged_rivals(self.fraction, self.candidates)

    def statistical_dimension(self, rng: np.random.Generator, samples: int = _SAMPLES) -> Estimate:
        """Return the mean squared distance of a Gaussian vector, by exact projection of samples.

        The squared shortfall of the target against infinitely many rivals, whose mean is known,
        serves as control variate: the more rivals are averaged, the smaller the standard error.
        """
        samples = arguments.whole("samples", samples, least=8, remedy="ask for a few thousand")
        blocks = [
            self._sample(min(_ROWS_PER_BLOCK, samples - start), rng)
            for start in range(0, samples, _ROWS_PER_BLOCK)
        ]
        distances = np.concatenate([block[0] for block in blocks])
        control = np.concatenate([block[1] for block in blocks])
        control -= tail_statistical_dimension(self.fraction, self.margin)
        slope = np.cov(distances, control)[0, 1] / np.var(control, ddof=1)
        return Estimate.of_mean(distances - slope * control)

    @cached_property
    def _reach(self) -> float:
        """Rivals beyond the averaged ones that a projection may touch, with a wide allowance."""
        return 96 + 4 * RetrievalCone(self.candidates, self.margin).mean_active

    def _sample(self, rows: int, rng: np.random.Generator) -> tuple[Reals, Reals]:
        """Draw squared distances, and squared shortfalls against the limit of many rivals."""
        rivals = self.candidates - 1
        target = rng.standard_normal(rows)
        depth = min(rivals, math.ceil(self.averaged + 8 * math.sqrt(self.averaged) + self._reach))
        top = highest_normals(rows, rivals, depth, rng) + self.margin
        distance = tail_squared_distance(target, top, self.averaged, complete=depth == rivals)
        if np.isnan(distance).any():
            raise ConvergenceError(
                f"the projection for {self} reaches below the {depth} highest rivals that were drawn"
            )
        shortfall = np.maximum(tail_mean(self.fraction) + self.margin - target, 0.0)
        return distance, shortfall**2


def averaged_rivals(fraction: float, candidates: float) -> float:
    """Return the number of rivals that a fraction of the candidates is: from one to all rivals.

    >>> averaged_rivals(0.1, 50), averaged_rivals(0.001, 50), averaged_rivals(1.0, 50)
    (5.0, 1.0, 49.0)
    """
    return max(min(fraction * candidates, candidates - 1.0), 1.0)


def tail_statistical_dimension(fraction: float, margin: float = 0.0) -> float:
    r"""Return the price of a fact for listwise retrieval among infinitely many candidates.

    .. math:: \delta(r, c) = E[(k_r + c - g)_+^2], \qquad k_r = E[g \mid g > (1-r)\text{-quantile}]

    Among :math:`K` candidates it is too high, by a relative error of order :math:`1/(rK)`. Not in the
    paper.

    Parameters
    ----------
    fraction : float
        Fraction r of the rivals, the strongest, whose mean the target must exceed.
    margin : float
        By how much, c.

    Returns
    -------
    float
        The price in parameters.

    Examples
    --------
    >>> tail_statistical_dimension(1.0)
    0.5
    """
    fraction = arguments.fraction("fraction", fraction, remedy=FRACTION_REMEDY)
    margin = arguments.real("margin", margin, least=0, remedy="pass 0 for no margin")
    level = tail_mean(fraction) + margin
    return float((1 + level**2) * special.ndtr(level) + level * _normal_density(level))


def highest_normals(rows: int, size: int, depth: int, rng: np.random.Generator) -> Reals:
    """Draw the ``depth`` highest of ``size`` independent normals, in descending order, row by row.

    The spacings of ordered uniforms are exponential, so the cost does not depend on ``size``.
    """
    # Drawn depth by depth, so that a deeper draw from the same seed extends a shallower one.
    spacings = np.cumsum(rng.standard_exponential((depth, rows)).T, axis=1)
    rest = rng.standard_gamma(size + 1 - depth, (rows, 1))
    return np.asarray(-special.ndtri(spacings / (spacings[:, -1:] + rest)))


def tail_mean(fraction: float) -> float:
    """Return the mean of the top ``fraction`` of the standard normal law."""
    return _normal_density(float(special.ndtri(fraction))) / fraction


def _normal_density(x: float) -> float:
    """Return the standard normal density."""
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
