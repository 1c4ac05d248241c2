"""Any loss that knows its slopes, averaged over a problem's facts: what training on it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.solvers.training.softmax import MeanCrossEntropy, Risk
from simonides.theory.losses import CrossEntropy, SquaredHinge, TrainableLoss

if TYPE_CHECKING:
    from simonides.problems.problem import Problem
    from simonides.solvers.training.softmax import Floats, Precision
    from simonides.threads import Each

LOSSES: dict[str, type[CrossEntropy] | type[SquaredHinge]] = {
    "cross_entropy": CrossEntropy,
    "squared_hinge": SquaredHinge,
}
"""The losses by name."""


def loss_named(loss: object) -> TrainableLoss:
    """Return a loss to train on: one itself, one of :data:`LOSSES`, or yours as ``module:Class``.

    >>> loss_named("squared_hinge")
    SquaredHinge()
    """
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss]()
    made = arguments.imported("loss", loss) if isinstance(loss, str) and ":" in loss else loss
    if isinstance(made, type):
        made = made()
    if not isinstance(made, TrainableLoss):
        names = ", ".join(map(repr, LOSSES))
        raise arguments.refuse(
            "loss",
            loss,
            f"one of {names}, or yours with value, prox, vanishes and derivatives",
            "a loss without derivatives can be predicted, not trained",
        )
    return made


def mean_loss(
    problem: Problem, loss: TrainableLoss, precision: Precision, each: Each = map
) -> MeanCrossEntropy | MeanLoss:
    """Return a loss averaged over the facts of a problem; the cross-entropy has a faster pass."""
    if type(loss) is CrossEntropy:  # not one that is derived from it
        return MeanCrossEntropy(problem, precision, each)
    return MeanLoss(problem, loss, precision)


class MeanLoss:
    """A loss averaged over facts, in one pass over all candidates, on one thread.

    >>> from simonides import OriginalProblem
    >>> problem = OriginalProblem.gaussian(5, 3, seed=0)
    >>> MeanLoss(problem, SquaredHinge()).at(np.zeros((3, 3))).loss
    2.0
    """

    def __init__(
        self, problem: Problem, loss: TrainableLoss, precision: Precision = "float64"
    ) -> None:
        self._problem, self._loss = problem, loss
        self._precision = np.dtype(precision).type
        self._lengths = np.linalg.norm(problem.inputs, axis=1)

    def at(self, weights: Floats) -> Risk:
        """Return loss, gradient and recall at weights of shape (dim_out, dim_in)."""
        problem, outputs = self._problem, self._problem.shared_outputs
        images = problem.images(np.asarray(weights, dtype=np.float64)).astype(self._precision)
        loss, recalled, pull = 0.0, 0, 0.0
        gradient = np.zeros(weights.shape)
        for block in problem.score_blocks(images, self._precision):
            rows = block.rows
            values, by_own, by_rivals = self._loss.derivatives(block.own, block.rivals)
            if outputs is None:
                terms = np.matmul(by_rivals[:, None, :], problem.rivals_of(rows))[:, 0]
            else:
                terms = by_rivals @ outputs
            terms = terms + by_own[:, None] * problem.target_outputs[rows]
            gradient += terms.T @ problem.inputs[rows]
            loss += float(values.sum())
            recalled += int(np.count_nonzero(block.own > block.rivals.max(axis=1)))
            pull += float(np.linalg.norm(terms, axis=1) @ self._lengths[rows])
        facts = problem.facts
        return Risk(loss / facts, gradient / facts, recalled, pull / facts)
