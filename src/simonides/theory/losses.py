r"""Convex losses of one fact's scores, and their proximal maps.

A loss :math:`\ell(z)` sees the K scores of one fact, the target's first. Theory needs its value and
:math:`\mathrm{prox}_{\tau\ell}(a) = \arg\min_z \frac{1}{2\tau}|z - a|^2 + \ell(z)`, row by row. Any object
with the members of :class:`Loss` will do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from scipy import special

from simonides import arguments
from simonides.failures import ConvergenceError
from simonides.theory.projection import raised_level

if TYPE_CHECKING:
    from simonides.arrays import Reals

_NEWTON_STEPS = 100
_TOLERANCE = 1e-11


class Loss(Protocol):
    """A convex function of the scores of one fact."""

    @property
    def vanishes(self) -> bool:
        """Whether the loss tends to zero when scores that recall the fact are scaled up."""
        ...

    def value(self, scores: Reals) -> Reals:
        """Return the loss of each row of scores, target first."""
        ...

    def prox(self, points: Reals, step: float) -> Reals:
        """Return the proximal map of ``step`` times the loss at each row of points."""
        ...


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


def _step(step: float) -> float:
    return arguments.real(
        "step", step, least=0, open_least=True, remedy="the proximal map needs a positive step"
    )
