r"""Scores at capacity: the laws of the target and of its rivals (Fig. 4 of the paper).

At the edge of storability each fact's scores are the projection of a Gaussian vector onto the
retrieval cone: the target's score is the level :math:`t` and a rival's is
:math:`\min(g_j, t - c)`. Off-target scores have unit variance in these units. There is nothing to
fit. Not in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from simonides import arguments
from simonides.theory.cone import RetrievalCone
from simonides.theory.exceedance import density
from simonides.theory.laws import Law

if TYPE_CHECKING:
    from simonides.arrays import Reals

_RIVAL_REACH = 9.5


@dataclass(frozen=True)
class _ScoreLaw(Law):
    """Scores at capacity of a fact that competes among ``candidates`` with a ``margin``."""

    candidates: float
    margin: float = 0.0

    def __post_init__(self) -> None:
        arguments.real(
            "candidates", self.candidates, least=2, remedy="a fact competes with at least one rival"
        )
        arguments.real(
            "margin", self.margin, least=0, remedy="pass 0 to ask only for the top score"
        )

    @cached_property
    def _cone(self) -> RetrievalCone:
        return RetrievalCone(float(self.candidates), float(self.margin))


class TargetScoreLaw(_ScoreLaw):
    """Law of the target's score at capacity, :math:`t`.

    >>> law = TargetScoreLaw(candidates=2)
    >>> float(np.round(law.cdf(0.0), 3)) < 0.5 < float(np.round(law.mean, 3)) + 0.5
    True
    """

    @property
    def support(self) -> tuple[float, float]:
        """Interval that carries the law."""
        return self._cone.level_range

    def _density(self, x: Reals) -> Reals:
        pull = self._cone.rivals(self.candidates - 1, x)
        return np.maximum(pull.integral(1 + pull.relative_tail), 0.0)

    def _distribution(self, x: Reals) -> Reals:
        return self._cone.level_cdf(x)


class RivalScoreLaw(_ScoreLaw):
    r"""Law of an off-target score at capacity, :math:`\min(g, t - c)`."""

    @property
    def support(self) -> tuple[float, float]:
        """Interval that carries the law."""
        return -_RIVAL_REACH, max(self._cone.level_range[1] - self.margin, -_RIVAL_REACH + 1)

    def _density(self, x: Reals) -> Reals:
        pull = self._cone.rivals(self.candidates - 2, x + self.margin)
        untouched = density(x) * (1 - pull.probability_below())
        lowered = pull.integral(pull.tail * (2 + pull.relative_tail))
        return np.maximum(untouched + lowered, 0.0)

    def _distribution(self, x: Reals) -> Reals:
        pull = self._cone.rivals(self.candidates - 2, x + self.margin)
        above_and_lowered = pull.integral(pull.tail / pull.nodes)
        above_and_lowered += pull.left_of_pole * special.ndtr(-x)
        return np.clip(special.ndtr(x) + above_and_lowered, 0.0, 1.0)
