r"""Convex losses of one fact's scores: values, proximal maps and derivatives.

A loss :math:`\ell(z)` sees the K scores of one fact. Any object will do that has

========================= ==========================================================================
``value``                 :math:`\ell(z)`, row by row
``prox``                  :math:`\arg\min_z \frac{1}{2\tau}|z - a|^2 + \ell(z)`, row by row
``vanishes``              whether perfect recall can drive it to zero
``derivatives``           only to be trained, not for theory: its value and slopes by the scores
========================= ==========================================================================

The first three are :class:`Loss`, all four :class:`TrainableLoss`. Theory (:mod:`simonides.theory.risk`)
further takes it that the loss is convex and that rivals enter alike, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np
from scipy import special

from simonides import arguments
from simonides.failures import ConvergenceError
from simonides.theory.projection import raised_level

if TYPE_CHECKING:
    from simonides.arrays import Reals

_NEWTON_STEPS = 100
"""Bisection alone, which steps fall back on, needs some 60 from levels 1e8 apart to the tolerance."""

_TOLERANCE = 1e-11
"""Relative error of the level: some ten thousand times rounding, far below any sampling error."""


@runtime_checkable
class Loss(Protocol):
    """A convex function of the scores of one fact: all that theory needs of it."""

    @property
    def vanishes(self) -> bool:
        """Whether the loss tends to zero when scores that recall the fact are scaled up.

        True: below capacity there is no minimum, the loss is driven to zero and the norm grows
        without bound. False: there is a minimum at every load.
        """

    def value(self, scores: Reals) -> Reals:
        """Return the loss of each row of scores, shape (n, K), the target's first: shape (n,)."""

    def prox(self, points: Reals, step: float) -> Reals:
        """Return the proximal map of ``step`` times the loss at each row of points, target first.

        Shape (n, K) to shape (n, K); points are left as they are.
        """


@runtime_checkable
class TrainableLoss(Loss, Protocol):
    """A loss that is smooth and knows its slopes, so that weights can be trained on it."""

    def derivatives(self, own: Reals, rivals: Reals) -> tuple[Reals, Reals, Reals]:
        r"""Return the loss of each fact and its derivatives by the target's and the rivals' scores.

        Parameters
        ----------
        own : array of shape (n,)
            Scores of the targets.
        rivals : array of shape (n, R)
            Scores of the rivals: R = K - 1, or R = K with :math:`-\infty` where the target stands.
            A rival at :math:`-\infty` counts for nothing, and its derivative is zero.

        Returns
        -------
        value, by_own : array of shape (n,)
            The loss, and its derivative by the target's score.
        by_rivals : array of shape (n, R)
            Its derivative by each rival's score.
        """


@dataclass(frozen=True)
class CrossEntropy:
    r"""Minus the log probability of the target under the softmax of the scores (eq. A.1).

    With :math:`b_j = a_j + \tau 1[j = 1]` the proximal map is
    :math:`z_j = b_j - \omega(\log\tau + b_j - L)`, where :math:`\omega(x) = W_0(e^x)` is Wright's omega
    function and :math:`L`, the log-sum-exp of the result, solves
    :math:`\sum_j \omega(\log\tau + b_j - L) = \tau`.

    >>> loss = CrossEntropy()
    >>> bool(np.isclose(loss.value(np.zeros((1, 4)))[0], np.log(4)))
    True
    """

    vanishes: ClassVar[bool] = True

    def value(self, scores: Reals) -> Reals:
        """Return the loss of each row."""
        return np.asarray(special.logsumexp(scores, axis=1) - scores[:, 0])

    def prox(self, points: Reals, step: float) -> Reals:
        """Return the proximal map at each row."""
        step = _step(step)
        raised = points.copy()
        raised[:, 0] += step
        shifted = raised + np.log(step)
        # Where ω is small it is an exponential, so Newton's method works on the logarithm of the
        # sum; the root lies between these two levels, and a step that leaves them bisects.
        low, high = np.max(raised, axis=1) - step, special.logsumexp(raised, axis=1)
        level = high
        for _ in range(_NEWTON_STEPS):
            omega = special.wrightomega(shifted - level[:, None])
            total = omega.sum(axis=1)
            low, high = np.where(total > step, level, low), np.where(total > step, high, level)
            previous = level
            level = level + np.log(total / step) * total / (omega / (1 + omega)).sum(axis=1)
            level = np.where((level < low) | (level > high), (low + high) / 2, level)
            if np.max(np.abs(level - previous)) < _TOLERANCE * (1 + np.max(np.abs(level))):
                break
        else:
            raise ConvergenceError(
                f"the cross-entropy's proximal map did not converge at step {step}"
            )
        return np.asarray(raised - special.wrightomega(shifted - level[:, None]))

    def derivatives(self, own: Reals, rivals: Reals) -> tuple[Reals, Reals, Reals]:
        """Return the loss and its slopes; see :class:`TrainableLoss`. Small losses keep their digits."""
        behind = np.maximum(rivals.max(axis=1) - own, 0.0)
        odds = np.exp(rivals - (own + behind)[:, None])
        against = odds.sum(axis=1)
        total = against + np.exp(-behind)
        value = behind + np.log1p(against + np.expm1(-behind))
        return value, -against / total, odds / total[:, None]


@dataclass(frozen=True)
class SquaredHinge:
    r"""Half the squared shortfalls, :math:`\frac12 \sum_{j \ge 2} (1 - z_1 + z_j)_+^2`."""

    vanishes: ClassVar[bool] = True

    def value(self, scores: Reals) -> Reals:
        """Return the loss of each row."""
        shortfall = np.maximum(1 - scores[:, :1] + scores[:, 1:], 0.0)
        return np.asarray(np.einsum("ij,ij->i", shortfall, shortfall) / 2)

    def prox(self, points: Reals, step: float) -> Reals:
        """Return the proximal map at each row: the target rises as in a weighted projection."""
        step = _step(step)
        target, rivals = points[:, 0], points[:, 1:]
        weight = step / (1 + step)
        level = raised_level(target, rivals, margin=1.0, weight=weight)
        shortfall = np.maximum(1 + rivals - level[:, None], 0.0)
        return np.column_stack((level, rivals - weight * shortfall))

    def derivatives(self, own: Reals, rivals: Reals) -> tuple[Reals, Reals, Reals]:
        """Return the loss and its slopes; see :class:`TrainableLoss`."""
        shortfall = np.maximum(1 - own[:, None] + rivals, 0.0)
        value = np.einsum("ij,ij->i", shortfall, shortfall) / 2
        return value, -shortfall.sum(axis=1), shortfall


def _step(step: float) -> float:
    return arguments.positive("step", step, remedy="the proximal map needs a positive step")
