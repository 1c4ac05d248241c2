"""Units of coordinates: columns of inputs and outputs brought to about the same size, without rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simonides.problems.original import OriginalProblem

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals


@dataclass(frozen=True, eq=False)
class Units:
    """Powers of two, one for each coordinate of inputs and of outputs, that new coordinates are taken in.

    Unlike whitening they know no directions but the coordinates themselves; but no digit is lost, however
    much sizes differ, and equal vectors stay equal.

    >>> problem = OriginalProblem([[3.0, 0.01], [-2.0, 0.02]], [[1.0, 8e5], [2.0, -8e5]])
    >>> units = Units.of(problem)
    >>> units.of_inputs.tolist(), units.of_outputs.tolist()
    ([1, -6], [-1, 20])
    """

    of_inputs: Integers
    of_outputs: Integers

    @classmethod
    def of(cls, problem: OriginalProblem) -> Units:
        """Return the units in which inputs have unit size, and outputs unit deviations from their mean."""
        return cls(
            _exponents(problem.inputs), _exponents(problem.outputs - problem.outputs.mean(axis=0))
        )

    @property
    def spread(self) -> float:
        """By what factor units differ, inputs and outputs together."""
        decades = sum(int(np.ptp(exponents)) for exponents in (self.of_inputs, self.of_outputs))
        return float(2.0**decades)

    def left_alone(self) -> Units:
        """Return units that change nothing."""
        return Units(0 * self.of_inputs, 0 * self.of_outputs)

    def applied(self, problem: OriginalProblem) -> OriginalProblem:
        """Return the problem in these units."""
        targets = None if problem.paired else problem.targets
        return OriginalProblem(
            np.ldexp(problem.inputs, -self.of_inputs),
            np.ldexp(problem.outputs, -self.of_outputs),
            targets,
        )

    def weights_back(self, weights: Reals) -> Reals:
        """Return the weights that act on vectors as they were as ``weights`` on those in these units."""
        return np.asarray(np.ldexp(weights, -self._of_weights))

    def weights_forward(self, weights: Reals) -> Reals:
        """Return the weights that act on vectors in these units as ``weights`` on those as they were."""
        return np.asarray(np.ldexp(weights, self._of_weights))

    @property
    def _of_weights(self) -> Integers:
        return np.asarray(self.of_outputs[:, None] + self.of_inputs)


def _exponents(rows: Reals) -> Integers:
    """Return the power of two next to the size of each column; an empty one has that of the smallest."""
    sizes = np.sqrt(np.einsum("ij,ij->j", rows, rows) / len(rows))
    smallest = sizes[sizes > 0].min(initial=np.inf)
    if smallest == np.inf:
        return np.zeros(rows.shape[1], dtype=np.int64)
    return np.asarray(np.rint(np.log2(np.maximum(sizes, smallest))).astype(np.int64))
