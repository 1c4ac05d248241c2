r"""Scores at capacity: the laws of the target and of its rivals (Fig. 4 of the paper).

At the edge of storability each fact's scores are the projection of a Gaussian vector onto the
retrieval cone: the target's score is the level :math:`t` and a rival's is
:math:`\min(g_j, t - c)`. The unit is the deviation of the score of an output that is no candidate,
which weights of unit norm give; lowering the strongest rivals leaves theirs a little smaller. There
is nothing to fit. Not in the paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from simonides.theory.cone import RetrievalCone, checked_rivalry
from simonides.theory.exceedance import density
from simonides.theory.laws import NORMAL_REACH, Law

if TYPE_CHECKING:
    from simonides.arrays import Reals


@dataclass(frozen=True)
class _ScoreLaw(Law):
    """Scores at capacity of a fact that competes among ``candidates`` with a ``margin``."""

    candidates: float
    margin: float = 0.0

    def __post_init__(self) -> None:
        checked_rivalry(self.candidates, self.margin)

    @cached_property
    def _cone(self) -> RetrievalCone:
        return RetrievalCone(float(self.candidates), float(self.margin))

    @property
    def _all_active(self) -> bool:
        """Whether the margin is so wide that all rivals are lowered, and all scores Gaussian."""
        return self._cone.all_active

    def _gaussian(self, x: Reals, shift: float) -> Reals:
        """Return the standardised level, its mean shifted, when all rivals are active."""
        return np.asarray((x - self._cone.mean_level - shift) * math.sqrt(self.candidates))

    def _gaussian_support(self, shift: float) -> tuple[float, float]:
        middle = self._cone.mean_level + shift
        reach = NORMAL_REACH / math.sqrt(self.candidates)
        return middle - reach, middle + reach


class TargetScoreLaw(_ScoreLaw):
    """Law of the target's score at capacity, :math:`t`.

    >>> law = TargetScoreLaw(candidates=2)
    >>> print(f"{law.mean:.6f}")  # half the mean of the larger of two Gaussians
    0.282095
    """

    @property
    def support(self) -> tuple[float, float]:
        """Interval that carries the law."""
        return self._gaussian_support(0.0) if self._all_active else self._cone.level_range

    def _density(self, x: Reals) -> Reals:
        if self._all_active:
            return density(self._gaussian(x, 0.0)) * math.sqrt(self.candidates)
        pull = self._cone.rivals(self.candidates - 1, x)
        return np.maximum(pull.integral(1 + pull.relative_tail), 0.0)

    def _distribution(self, x: Reals) -> Reals:
        if self._all_active:
            return np.asarray(special.ndtr(self._gaussian(x, 0.0)))
        return self._cone.level_cdf(x)


class RivalScoreLaw(_ScoreLaw):
    r"""Law of an off-target score at capacity, :math:`\min(g, t - c)`."""

    @property
    def support(self) -> tuple[float, float]:
        """Interval that carries the law."""
        if self._all_active:
            return self._gaussian_support(-self.margin)
        low, high = self._cone.level_range
        return min(-NORMAL_REACH, low - self.margin), high - self.margin

    def _density(self, x: Reals) -> Reals:
        if self._all_active:
            return density(self._gaussian(x, -self.margin)) * math.sqrt(self.candidates)
        others = self._cone.rivals(self.candidates - 2, x + self.margin)
        untouched = density(x) * (1 - others.probability_below())
        # The contour is that of all rivals, this one included: where most are active it matters.
        pull = self._cone.rivals(self.candidates - 1, x + self.margin)
        own = pull.relative_tail / (self.candidates - 1)
        lowered = pull.integral(own * (2 + (self.candidates - 2) * own))
        return np.maximum(untouched + lowered, 0.0)

    def _distribution(self, x: Reals) -> Reals:
        if self._all_active:
            return np.asarray(special.ndtr(self._gaussian(x, -self.margin)))
        pull = self._cone.rivals(self.candidates - 1, x + self.margin)
        own = pull.relative_tail / (self.candidates - 1)
        above_and_lowered = pull.integral(own / pull.nodes)
        above_and_lowered += pull.left_of_pole * special.ndtr(-x)
        return np.clip(special.ndtr(x) + above_and_lowered, 0.0, 1.0)
