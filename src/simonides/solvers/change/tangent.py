r"""A matrix of bounded rank, and Newton steps in the space that touches it.

Matrices of rank :math:`r` near :math:`M = U S V^T` are those of its tangent space, all
:math:`U X^T + Y V^T`, up to second order; :math:`M` itself is in it, and the projection on it is

.. math:: P(Z) = Z - (1 - U U^T) Z (1 - V V^T) .

In that space the augmented Lagrangian is convex again. With :math:`\rho` times half the square of the
distance from :math:`M` added, its minimum on the constraints that are active is

.. math:: M' = \frac{\rho}{1 + \rho} M + \frac{1}{1 + \rho} \sum_k x_k P(A_k) ,

where the prices :math:`x` solve a system of as many equations as constraints are active.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from simonides.solvers.change.constraints import MovingFacts
from simonides.solvers.change.newton import System, best_size

if TYPE_CHECKING:
    from simonides.arrays import Reals
    from simonides.solvers.change.constraints import Constraints

_MOST_EQUATIONS = 3000
"""Up to here they are solved by elimination: a second's work, where conjugate gradients take longer."""

_FORCING = 0.01
"""Residual that conjugate gradients leave of more equations: the next step corrects it."""

_MOST_STEPS = 8
"""Newton steps towards the minimum in the tangent space; with three, constraints still come and go."""

_NEAR = 0.05
"""Last of these steps, over the change, that is near enough to the minimum: the space turns by more."""


@dataclass(frozen=True, eq=False)
class Product:
    """A matrix by its singular values, between orthonormal columns (dim_out, rank) and (dim_in, rank)."""

    left: Reals
    sizes: Reals
    right: Reals

    @classmethod
    def nearest(cls, matrix: Reals, rank: int) -> Product:
        """Return the matrix of a rank that is nearest to one."""
        left, sizes, right = linalg.svd(matrix, full_matrices=False)
        return cls(left[:, :rank], sizes[:rank], right[:rank].T)

    @property
    def matrix(self) -> Reals:
        """The matrix itself."""
        return np.asarray((self.left * self.sizes) @ self.right.T)

    @property
    def length(self) -> float:
        """Root of the sum of squares of the matrix."""
        return float(np.linalg.norm(self.sizes))

    def projected(self, matrix: Reals) -> Reals:
        """Return what of a matrix is in the tangent space."""
        rest = matrix - self.left @ (self.left.T @ matrix)
        return np.asarray(matrix - rest + (rest @ self.right) @ self.right.T)

    def retracted(self, tangent: Reals) -> Product:
        """Return the matrix of this rank that is nearest to one in the tangent space, of twice the rank."""
        columns = np.linalg.qr(np.hstack((self.left, tangent @ self.right)))[0]
        inner = Product.nearest(columns.T @ tangent, len(self.sizes))
        return replace(inner, left=columns @ inner.left)


@dataclass(frozen=True, eq=False)
class _TangentFacts(MovingFacts):
    """Facts that are moved by what of a change is in a tangent space, times a share."""

    at: Product
    share: float

    def change(self, pulls: Reals) -> Reals:
        return np.asarray(self.share * self.at.projected(super().change(pulls)))

    def moved(self, pulls: Reals) -> Reals:
        return np.asarray(self.inputs @ self.change(pulls).T)


@dataclass(frozen=True, eq=False)
class Penalty:
    """Constraints, each with the lead that is asked of it, and how stiffly."""

    constraints: Constraints
    stiffness: float
    need: Reals

    def forces(self, leads: Reals) -> Reals:
        """Return what each constraint pulls with."""
        missing = self.need - leads
        return np.maximum(self.constraints.multipliers + self.stiffness * missing, 0.0)

    def value(self, leads: Reals) -> float:
        """Return what is paid for all constraints."""
        forces = self.forces(leads)
        return float(forces @ forces) / (2 * self.stiffness)


@dataclass(frozen=True, eq=False)
class TangentStep:
    """Where a step in the tangent space leads.

    ``gain`` is by how much the augmented Lagrangian falls, ``expected`` by how much it falls in the
    tangent space, ``turn`` how far the end is from here over its length.
    """

    product: Product
    images: Reals
    leads: Reals
    gain: float
    expected: float
    turn: float


def tangent_step(penalty: Penalty, product: Product, leads: Reals, damping: float) -> TangentStep:
    """Step from a product to the minimum in its tangent space, damped, and back to its rank."""
    constraints, facts = penalty.constraints, penalty.constraints.facts
    share, origin = 1 / (1 + damping), product.matrix
    # A part of the product stays, so that prices account for the rest.
    centre = constraints.initial + (1 - share) * (leads - constraints.initial)
    tangent, there = origin, leads
    for _ in range(_MOST_STEPS):
        active = penalty.forces(there) > 0
        some = constraints.where(active)
        wanted = (penalty.need - centre)[active]
        prices = _prices(some, product, share, penalty.stiffness, wanted)
        pulled = product.projected(facts.change(some.pulls(prices)))
        shift = share * pulled + (1 - share) * origin - tangent
        gains = constraints.leads(facts.inputs @ shift.T)
        before = float(np.vdot(tangent - (1 - share) * origin, shift)) / share
        square = float(np.vdot(shift, shift))
        size = best_size(
            constraints, penalty.stiffness, penalty.need - there, gains, before, square / share
        )
        tangent, there = tangent + size * shift, there + size * gains
        if size > 0.5 and size * np.sqrt(square) <= _NEAR * np.linalg.norm(tangent):
            break
    following = product.retracted(tangent)
    matrix = following.matrix
    moved = facts.offsets + facts.inputs @ matrix.T
    end = constraints.leads(moved)
    now = product.length**2 / 2 + penalty.value(leads)
    return TangentStep(
        following,
        moved,
        end,
        now - following.length**2 / 2 - penalty.value(end),
        now - float(np.vdot(tangent, tangent)) / 2 - penalty.value(there),
        float(np.linalg.norm(matrix - origin)) / max(following.length, np.finfo(float).tiny),
    )


def _prices(
    constraints: Constraints, product: Product, share: float, stiffness: float, wanted: Reals
) -> Reals:
    """Return the prices of active constraints, of which so much more lead is wanted."""
    facts = constraints.facts
    if len(constraints) > _MOST_EQUATIONS:
        tangent = _TangentFacts(
            facts.problem, facts.inputs, facts.offsets, facts.margins, facts.units, facts.each,
            product, share,
        )  # fmt: skip
        some = replace(constraints, facts=tangent)
        return System(some, stiffness, wanted + constraints.initial).solve(_FORCING)[0]
    names, pairs = constraints.pairs.facts, constraints.pairs
    differences = facts.problem.target_outputs[names] - pairs.table[pairs.index]
    differences /= constraints.spans[:, None]
    along, inputs = differences @ product.left, facts.inputs @ product.right
    within = inputs @ inputs.T
    across = facts.inputs @ facts.inputs.T - within
    of_facts = np.ix_(names, names)
    matrix = (differences @ differences.T) * within[of_facts]
    matrix += (along @ along.T) * across[of_facts]
    matrix *= share
    matrix[np.diag_indices_from(matrix)] += 1 / stiffness
    factor = linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)
    right = wanted + constraints.multipliers / stiffness
    return np.asarray(linalg.cho_solve(factor, right, check_finite=False))
