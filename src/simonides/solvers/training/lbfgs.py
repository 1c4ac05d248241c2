"""One step of L-BFGS: a direction from recent steps, and a search along it.

The second derivative is taken as the identity before any step was taken; coordinates in which that is
nearly so make the first step a good one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from simonides.problems.scan import ALLOWANCE, Allowance

if TYPE_CHECKING:
    from simonides.arrays import Reals

PAIRS = 30
"""Steps remembered: their products cost little beside a pass over all scores."""

_LEAST_PAIRS = 3
"""Steps remembered where memory is limited: with none it would be steepest descent."""

_SUFFICIENT_DECREASE = 1e-4
_SUFFICIENT_FLATTENING = 0.9
"""Wolfe's conditions with their customary values for quasi-Newton directions."""

_MOST_TRIALS = 30
"""Halvings from a unit step to below single precision's rounding."""


class Point(Protocol):
    """Where a function was evaluated, and what it is there."""

    @property
    def place(self) -> Reals:
        """Parameters, one flat vector."""

    @property
    def loss(self) -> float:
        """Value."""

    @property
    def slopes(self) -> Reals:
        """Derivative by the parameters."""


PointT = TypeVar("PointT", bound=Point)
FoundT = TypeVar("FoundT", bound=Point, covariant=True)


class Objective(Protocol[FoundT]):
    """A function to minimise."""

    def at(self, place: Reals) -> FoundT:
        """Evaluate it."""

    def resolution(self, loss: float) -> float:
        """Return how far a value may be off by rounding."""


@dataclass(frozen=True, eq=False)
class _Pair:
    """A step taken and by how much the slopes changed along it."""

    step: Reals
    change: Reals
    curvature: float


class RecentSteps:
    """The last steps, and what they tell about the second derivative."""

    def __init__(self) -> None:
        self._pairs: deque[_Pair] = deque(maxlen=PAIRS)

    def step(self, objective: Objective[PointT], point: PointT) -> PointT | None:
        """Return the next point and remember the step, or return None if no step descends."""
        moved = _searched(objective, point, self._direction(point.slopes))
        if moved is None and self._pairs:
            self._pairs.clear()
            moved = _searched(objective, point, -point.slopes)
        if moved is not None:
            step, change = moved.place - point.place, moved.slopes - point.slopes
            curvature = float(step @ change)
            # Slopes of a vanishing loss are so small that their squares are zero.
            if curvature > 0 and float(change @ change) > 0:
                room = ALLOWANCE.get(Allowance()).bytes / (2 * step.nbytes)
                while len(self._pairs) >= max(_LEAST_PAIRS, room):
                    self._pairs.popleft()
                self._pairs.append(_Pair(step, change, curvature))
        return moved

    def _direction(self, slopes: Reals) -> Reals:
        """Return minus the slopes times the inverse second derivative, as far as the steps tell."""
        direction = -slopes
        shares = []
        for pair in reversed(self._pairs):
            share = float(pair.step @ direction) / pair.curvature
            direction -= share * pair.change
            shares.append(share)
        if self._pairs:
            last = self._pairs[-1]
            direction *= last.curvature / float(last.change @ last.change)
        for pair, share in zip(self._pairs, reversed(shares), strict=True):
            direction += (share - float(pair.change @ direction) / pair.curvature) * pair.step
        return direction


def _searched(objective: Objective[PointT], point: PointT, direction: Reals) -> PointT | None:
    """Return a point along the direction that is lower and flatter, or None if there is none.

    Steps are doubled while the slope stays steep, and halved back where the loss has not fallen.
    """
    slope = float(point.slopes @ direction)
    slack = objective.resolution(point.loss)
    short, long, step = 0.0, np.inf, 1.0
    for _ in range(_MOST_TRIALS):
        trial = objective.at(point.place + step * direction)
        if not trial.loss <= point.loss + _SUFFICIENT_DECREASE * step * slope + slack:
            long = step
        elif float(trial.slopes @ direction) < _SUFFICIENT_FLATTENING * slope:
            short = step
        else:
            return trial
        step = 2 * short if np.isinf(long) else (short + long) / 2
    return None
