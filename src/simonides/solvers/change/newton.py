r"""A Newton step of the augmented Lagrangian, by its dual.

.. math:: \varphi(M) = \tfrac12 |M|^2 + \tfrac{1}{2\sigma}
          \sum_k (\lambda_k + \sigma (c_k - \langle M, A_k \rangle))_+^2 .

On the constraints that are active its minimum is :math:`M = \sum x_k A_k` with

.. math:: \bigl( A A^T + \tfrac1\sigma \bigr) x = c + \lambda / \sigma ,

a system of as many equations as active constraints, some thirty per fact at most. Conjugate gradients solve
it in some tens of iterations behind a preconditioner with two parts: the direction that all inputs share is
treated exactly, by a matrix of the output dimension; of the rest each fact's own block is solved, and what
ties the facts is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from simonides.solvers.change import kernels

if TYPE_CHECKING:
    from simonides.arrays import Reals
    from simonides.solvers.change.constraints import Constraints

_LONGEST_CG = 200
"""Iterations for a direction; ten times what is usual means that the next step will do better."""

_LONGEST_SEARCH = 40
"""Halvings that leave nothing of an interval in double precision."""

_NEAR = 1e-4
"""Relative step length that is near enough to the best: the next direction corrects it."""

_LEAST_FINE = 1e-9
"""Of an input's square: what rounding leaves of one that is all common."""


@dataclass(frozen=True, eq=False)
class Step:
    """What a Newton step leads to; ``size`` is how long it was, ``turn`` how far its end is from here."""

    constraints: Constraints
    pulls: Reals
    images: Reals
    size: float
    turn: float
    iterations: int


def newton_step(
    constraints: Constraints,
    pulls: Reals,
    images: Reals,
    stiffness: float,
    need: Reals,
    forcing: float,
) -> Step:
    """Step from a change and its images towards the minimum, as far as the function falls.

    ``stiffness`` is sigma, ``need`` the lead that is asked of each constraint, ``forcing`` the relative
    residual that the equations may leave.
    """
    facts = constraints.facts
    leads = constraints.leads(images)
    active = constraints.multipliers + stiffness * (need - leads) > 0
    system = System(constraints.where(active), stiffness, need[active])
    solved, iterations = system.solve(forcing)
    prices = np.zeros(len(constraints))
    prices[active] = solved
    shift = system.constraints.pulls(solved) - pulls
    moved = facts.moved(shift)
    before, length = float(np.vdot(pulls, moved)), float(np.vdot(shift, moved))
    size = best_size(constraints, stiffness, need - leads, constraints.leads(moved), before, length)
    whole = np.vdot(pulls, images - facts.offsets) + 2 * before + length
    return Step(
        replace(constraints, prices=prices),
        pulls + size * shift,
        images + size * moved,
        size,
        float(np.sqrt(max(length, 0.0) / whole)) if whole > 0 else np.inf,
        iterations,
    )


def best_size(
    constraints: Constraints,
    stiffness: float,
    missing: Reals,
    gains: Reals,
    before: float,
    length: float,
) -> float:
    """Return the step at which the function is least: its slope is piecewise linear and rises."""
    if not length > 0:
        return 1.0  # there is nowhere to go
    size, low, high = 1.0, 0.0, np.inf
    for _ in range(_LONGEST_SEARCH):
        forces = np.maximum(constraints.multipliers + stiffness * (missing - size * gains), 0.0)
        slope = before + size * length - float(forces @ gains)
        active = gains[forces > 0]
        low, high = (low, size) if slope > 0 else (size, high)
        following = size - slope / (length + stiffness * float(active @ active))
        if not abs(following - size) > _NEAR * size:
            return size
        size = following if low <= following <= high else (low + high) / 2
    return size


@dataclass(frozen=True, eq=False)
class System:
    """The equations of the active constraints."""

    constraints: Constraints
    stiffness: float
    need: Reals

    def solve(self, forcing: float) -> tuple[Reals, int]:
        """Return the prices of the constraints by conjugate gradients from those of the last step."""
        answer = self.constraints.prices.copy()
        right = self.constraints.multipliers / self.stiffness + self.need - self.constraints.initial
        left = right - self._product(answer)
        refined = self._preconditioned(left)
        search, size = refined, float(left @ refined)
        enough = forcing**2 * float(right @ self._preconditioned(right))
        count = 0
        while size > enough and count < _LONGEST_CG:
            product = self._product(search)
            stride = size / float(search @ product)
            answer = answer + stride * search
            left = left - stride * product
            refined = self._preconditioned(left)
            shrunk = float(left @ refined)
            search = refined + shrunk / size * search
            size = shrunk
            count += 1
        return answer, count

    def _product(self, values: Reals) -> Reals:
        constraints = self.constraints
        moved = constraints.facts.moved(constraints.pulls(values))
        return np.asarray(constraints.leads(moved) + values / self.stiffness)

    def _preconditioned(self, values: Reals) -> Reals:
        near, (factor, common, solved) = self._fine(values[:, None])[:, 0], self._coarse
        return np.asarray(near - solved @ cho_solve(factor, common.T @ near))

    @cached_property
    def _coarse(self) -> tuple[tuple[Reals, bool], Reals, Reals]:
        """Along the common direction: a factored matrix, the constraints, and these solved by blocks."""
        constraints = self.constraints
        problem, pairs = constraints.facts.problem, constraints.pairs
        names = pairs.facts
        common = problem.target_outputs[names] - pairs.table[pairs.index]
        common *= (constraints.facts.common[names] / constraints.spans)[:, None]
        solved = self._fine(common)
        matrix = common.T @ solved
        matrix[np.diag_indices_from(matrix)] += 1.0
        return cho_factor(matrix), common, solved

    @cached_property
    def _blocks(self) -> tuple[Reals, Reals]:
        """Where each fact's block begins, and all blocks, factored."""
        constraints = self.constraints
        pairs, facts = constraints.pairs, constraints.facts
        counts = np.diff(pairs.pointer)
        places = np.concatenate(([0], np.cumsum(counts**2)))
        factors = np.empty(places[-1])
        rest = np.maximum(facts.squares - facts.common**2, _LEAST_FINE * facts.squares)
        kernels.factor_blocks(
            facts.problem.target_outputs, pairs.table, pairs.pointer, pairs.index, constraints.spans,
            rest, 1 / self.stiffness, places, factors,
        )  # fmt: skip
        return places, factors

    def _fine(self, columns: Reals) -> Reals:
        """Solve the block of every fact."""
        solved = columns.copy()
        kernels.solve_blocks(self.constraints.pairs.pointer, *self._blocks, solved)
        return solved
