"""Units of coordinates: columns of inputs and outputs brought to about the same size, without rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simonides.arrays import Integers, Reals
from simonides.problems.problem import SharedProblem

_LONGEST = 1e60
"""Size in new units up to which outputs stay far from what a problem refuses."""

_LARGEST = 200
"""Power of two up to which weights are left as they come out."""


@dataclass(frozen=True, eq=False)
class Units:
    """Powers of two, one for each coordinate of inputs and of outputs, that new coordinates are taken in.

    Unlike whitening they know no directions but the coordinates themselves; but no digit is lost, however
    much sizes differ, and equal vectors stay equal.

    >>> from simonides import OriginalProblem
    >>> problem = OriginalProblem([[3.0, 0.01], [-2.0, 0.02]], [[1.0, 8e5], [2.0, -8e5]])
    >>> units = Units.of(problem)
    >>> units.of_inputs.tolist(), units.of_outputs.tolist()
    ([1, -6], [-1, 20])
    """

    of_inputs: Integers
    of_outputs: Integers

    @classmethod
    def of(cls, problem: SharedProblem) -> Units:
        """Return the units in which inputs have unit size, and outputs unit deviations from their mean."""
        return cls(
            _exponents(problem.inputs), _exponents(problem.outputs - problem.outputs.mean(axis=0))
        )

    @property
    def spread(self) -> int:
        """By what power of two units differ, inputs and outputs together."""
        return sum(int(np.ptp(exponents)) for exponents in (self.of_inputs, self.of_outputs))

    def left_alone(self) -> Units:
        """Return units that change nothing."""
        return Units(0 * self.of_inputs, 0 * self.of_outputs)

    def applied(self, problem: SharedProblem) -> SharedProblem:
        """Return the problem in these units."""
        return problem.recoded(
            np.ldexp(problem.inputs, -self.of_inputs), np.ldexp(problem.outputs, -self.of_outputs)
        )

    def keep_in_range(self, problem: SharedProblem) -> bool:
        """Return whether outputs have a size in these units that a problem may have.

        Those far from zero and close together may not. Inputs of unit length always do.
        """
        with np.errstate(over="ignore"):
            sizes = np.abs(np.ldexp(problem.outputs, -self.of_outputs)).max(axis=1)
        return bool(sizes.max() < _LONGEST and sizes[sizes > 0].min() > 1 / _LONGEST)

    def weights_back(self, weights: Reals) -> Reals:
        """Return the weights that act on vectors as they were as ``weights`` on those in these units.

        Weights beyond the range of numbers are brought back by a common factor, which changes no recall.
        """
        return _in_range(weights, -self._of_weights)

    def weights_forward(self, weights: Reals) -> Reals:
        """Return the weights that act on vectors in these units as ``weights`` on those as they were."""
        return _in_range(weights, self._of_weights)

    @property
    def _of_weights(self) -> Integers:
        return np.asarray(self.of_outputs[:, None] + self.of_inputs)


def _exponents(rows: Reals) -> Integers:
    """Return the power of two next to the size of each column; an empty one has that of the smallest."""
    peaks = np.abs(rows).max(axis=0)
    filled = peaks > 0
    if not filled.any():
        return np.zeros(rows.shape[1], dtype=np.int64)
    powers = np.frexp(peaks[filled])[1].astype(np.int64)
    # Squares of a column whose largest entry is between 1/2 and 1 do not all underflow.
    columns = np.ldexp(rows[:, filled], -powers)
    powers += np.rint(np.log2(np.mean(columns**2, axis=0)) / 2).astype(np.int64)
    exponents = np.full(rows.shape[1], powers.min())
    exponents[filled] = powers
    return exponents


def _in_range(weights: Reals, powers: Integers) -> Reals:
    """Return weights times powers of two, and times one more where their largest would be out of range."""
    used = weights != 0
    largest = int((np.frexp(weights)[1] + powers)[used].max()) if used.any() else 0
    return np.asarray(np.ldexp(weights, powers - (largest if abs(largest) > _LARGEST else 0)))
