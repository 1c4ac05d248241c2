r"""The mean cross-entropy of a product of two thin factors, with every product as thin as they are.

For weights :math:`U V^T` the scores are those of the vectors :math:`a_i = V^T x_i` and
:math:`b_j = U^T y_j`, which are as short as the rank. With :math:`P_{ij}` the softmax of the scores,

.. math:: \nabla_V L = \frac1p \sum_i x_i q_i^T, \quad q_i = \sum_j P_{ij} (b_j - b_{t_i}), \qquad
          \nabla_U L = \frac1p \sum_{ij} P_{ij} (y_j - y_{t_i}) a_i^T .

Three products of facts by candidates by rank instead of two as wide as the outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simonides import threads
from simonides.solvers.training.softmax import Exponentials, Standing

if TYPE_CHECKING:
    from simonides.problems.problem import SharedProblem
    from simonides.solvers.training.softmax import Floats, Precision


@dataclass(frozen=True, eq=False)
class FactoredRisk:
    r"""The cross-entropy at given factors, and its derivative by each.

    ``pull`` is :math:`\frac1p \sum_i |q_i| |x_i|`, what the right factor's derivative would be if its
    terms did not cancel.
    """

    loss: float
    left: Floats
    right: Floats
    recalled: int
    pull: float


class FactoredCrossEntropy:
    """The cross-entropy of a problem with shared outputs, as a function of two factors of the weights.

    It takes what ``MeanCrossEntropy`` takes, and depends as little on threads. Every block of facts has a
    sum for each output: at most 16 x candidates x rank numbers are held.
    """

    def __init__(
        self, problem: SharedProblem, precision: Precision = "float64", each: threads.Each = map
    ) -> None:
        self._dtype = np.dtype(precision)
        self._each = each
        self._blocks = threads.blocks(problem.facts)
        self._inputs = problem.inputs.astype(self._dtype)
        self._lengths = np.linalg.norm(problem.inputs, axis=1)
        self._outputs = problem.outputs
        self._narrow_outputs = problem.outputs.astype(self._dtype)
        self._targets = problem.targets
        self._exponentials = Exponentials(problem, self._dtype)

    def at(self, left: Floats, right: Floats) -> FactoredRisk:
        """Return loss, derivatives and recall at factors (dim_out, rank) and (dim_in, rank)."""
        left, right = (np.asarray(factor, dtype=self._dtype) for factor in (left, right))
        outputs = self._narrow_outputs @ left
        sums = list(self._each(lambda part: self._block(part, outputs, right), self._blocks))
        facts = len(self._inputs)
        drawn, along = np.zeros(outputs.shape), np.zeros(right.shape)
        for block in sums:
            drawn += block.left
            along += block.right
        return FactoredRisk(
            loss=sum(block.loss for block in sums) / facts,
            left=self._outputs.T @ drawn / facts,
            right=along / facts,
            recalled=sum(block.recalled for block in sums),
            pull=sum(block.pull for block in sums) / facts,
        )

    def _block(self, part: slice, outputs: Floats, right: Floats) -> FactoredRisk:
        """Return sums over the facts of a block, on the left one of inputs for every output."""
        inputs, targets = self._inputs[part], self._targets[part]
        images = inputs @ right
        terms, drawn = np.empty_like(images), np.zeros_like(outputs)
        loss, recalled = 0.0, 0
        for chunk in self._exponentials.of(part, images, outputs):
            rows, own = chunk.rows, targets[chunk.rows]
            standing = Standing.of(chunk.target, chunk.best, chunk.mass)
            total, share = (
                each.astype(self._dtype)[:, None] for each in (standing.total, standing.share)
            )
            terms[rows] = chunk.rivals @ outputs / total - share * outputs[own]
            drawn += chunk.rivals.T @ (images[rows] / total)
            np.subtract.at(drawn, own, share * images[rows])
            loss += standing.loss
            recalled += standing.recalled
        lengths = np.sqrt(np.einsum("ij,ij->i", terms, terms))
        pull = float(lengths @ self._lengths[part])
        return FactoredRisk(loss, drawn, inputs.T @ terms, recalled, pull)
