r"""Whitening: the same facts in coordinates where no direction is longer than another.

With :math:`x' = A x`, :math:`y' = B (y - c)` and :math:`W = B^T W' A`, every score difference stays what it
was: :math:`(y'_i - y'_j)^T W' x'_i = (y_i - y_j)^T W x_i`. Hence the same facts can be stored, by weights
that go back and forth, as :math:`A` and :math:`B` are invertible.

Outputs may be shifted, since only their differences count; :math:`B` is taken from their covariance.
Inputs may not: :math:`W (x - m)` has the bias :math:`-W m`, which favours some outputs over others
whatever the input, and weights alone cannot make up for it. So :math:`A` is taken from the inputs' second
moments about zero.

Multipliers need no transform. Whitening turns :math:`S = \sum \lambda_{ij} (y_i - y_j) x_i^T` into
:math:`B S A^T`, which is zero when :math:`S` is. A sum that is only nearly zero has to be evaluated anew,
on the problem the proof is about: normalised margins, and bounds of them, change by a factor of at most
the condition number of :math:`A` times that of :math:`B`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simonides import arguments
from simonides.arrays import Reals
from simonides.problems.problem import SharedProblem

FLOOR = 1e-6
"""Whitened vectors are off by rounding / floor, which stays below the margin 1e-9 that counts as none."""

_SMALLEST_FLOOR = 1e-15
"""Rounding makes directions of this size out of none."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """A symmetric positive matrix: orthonormal ``directions``, one per row, and a factor along each."""

    directions: Reals
    factors: Reals

    @classmethod
    def to_unit_size(cls, rows: Reals, floor: float) -> Stretch:
        """Return the stretch after which the rows' second moments are the identity.

        A direction whose root mean square is below ``floor`` times the largest is stretched as if it
        had that size: it stays shorter than one, and one that the rows lack stays empty. Rows that are
        all zero are left as they are.
        """
        # Singular values of the rows resolve sizes that the eigenvalues of their moments, the squares,
        # would round away. Those of the triangular factor are the same, and it is small.
        triangle = np.linalg.qr(rows, mode="r")
        _, values, directions = np.linalg.svd(triangle, full_matrices=True)
        sizes = np.zeros(rows.shape[1])
        sizes[: len(values)] = values / np.sqrt(len(rows))
        if sizes[0] == 0:
            return cls(directions, np.ones_like(sizes))
        return cls(directions, 1 / np.maximum(sizes, floor * sizes[0]))

    @cached_property
    def matrix(self) -> Reals:
        """The matrix itself."""
        return np.asarray((self.directions.T * self.factors) @ self.directions)

    @cached_property
    def inverse(self) -> Reals:
        """Its inverse."""
        return np.asarray((self.directions.T / self.factors) @ self.directions)

    @property
    def condition(self) -> float:
        """The largest factor over the smallest."""
        return float(self.factors.max() / self.factors.min())


@dataclass(frozen=True, eq=False)
class Whitening:
    """The stretch A of inputs, the stretch B of outputs, and the centre c of outputs.

    >>> from simonides import OriginalProblem
    >>> problem = OriginalProblem([[3.0, 0.0], [0.0, 1.0]], [[5.0, 0.0], [5.0, 2.0]])
    >>> whitening = Whitening.of(problem)
    >>> whitening.of_inputs.condition
    3.0
    >>> whitening.centre.tolist()
    [5.0, 1.0]
    """

    of_inputs: Stretch
    of_outputs: Stretch
    centre: Reals

    @classmethod
    def of(cls, problem: SharedProblem, *, floor: float = FLOOR) -> Whitening:
        """Return what whitens the inputs and outputs of a problem.

        Second moments become the identity in every direction whose size, its root mean square, is at
        least ``floor`` times the largest. The others, such as those that fewer facts than dimensions
        or a constant coordinate leave empty, are stretched as if they had that size, so that the
        transform is invertible: neither condition number exceeds 1 / ``floor``.
        """
        floor = arguments.real(
            "floor",
            floor,
            least=_SMALLEST_FLOOR,
            most=1,
            remedy="pass the relative size below which a direction counts as empty",
        )
        centre = problem.outputs.mean(axis=0)
        return cls(
            Stretch.to_unit_size(problem.inputs, floor),
            Stretch.to_unit_size(problem.outputs - centre, floor),
            centre,
        )

    @property
    def condition(self) -> float:
        """The product of both condition numbers; normalised margins change by no larger factor."""
        return self.of_inputs.condition * self.of_outputs.condition

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.of_outputs.factors), len(self.of_inputs.factors)

    def applied(self, problem: SharedProblem) -> SharedProblem:
        """Return a problem in the new coordinates: the one they were made for, or a part of it."""
        if (problem.dim_out, problem.dim_in) != self._shape:
            raise arguments.refuse(
                "(dim_out, dim_in)",
                (problem.dim_out, problem.dim_in),
                f"{self._shape}",
                "make the whitening of a problem with these dimensions",
            )
        # Equal outputs must stay equal to the last bit, since they make a fact impossible; in a matrix
        # product the rounding of a row may depend on its place.
        kinds, kind = np.unique(problem.outputs, axis=0, return_inverse=True)
        outputs = ((kinds - self.centre) @ self.of_outputs.matrix)[kind.ravel()]
        return problem.recoded(problem.inputs @ self.of_inputs.matrix, outputs)

    def weights_back(self, whitened: Reals) -> Reals:
        """Return the weights that act on the original vectors as ``whitened`` on the new ones."""
        whitened = self._checked(whitened)
        return np.asarray(self.of_outputs.matrix @ whitened @ self.of_inputs.matrix)

    def factors_back(self, left: Reals, right: Reals) -> tuple[Reals, Reals]:
        """Return the factors of the weights that act on the original vectors as U V^T on the new ones."""
        return self.of_outputs.matrix @ left, self.of_inputs.matrix @ right

    def weights_forward(self, weights: Reals) -> Reals:
        """Return the weights that act on the new vectors as ``weights`` on the original ones."""
        weights = self._checked(weights)
        return np.asarray(self.of_outputs.inverse @ weights @ self.of_inputs.inverse)

    def _checked(self, weights: Reals) -> Reals:
        weights = np.asarray(weights)
        if weights.shape != self._shape:
            raise arguments.refuse(
                "weights.shape", weights.shape, f"{self._shape}", "one row per output coordinate"
            )
        return weights


def whitened(problem: SharedProblem, *, floor: float = FLOOR) -> tuple[SharedProblem, Whitening]:
    """Return the problem in whitened coordinates, and the way back.

    >>> from simonides import OriginalProblem
    >>> problem, whitening = whitened(OriginalProblem.gaussian(20, 4, seed=0))
    >>> bool(np.allclose(problem.inputs.T @ problem.inputs / 20, np.eye(4)))
    True
    """
    whitening = Whitening.of(problem, floor=floor)
    return whitening.applied(problem), whitening
