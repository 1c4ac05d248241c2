r"""Deciding by linear programming: for small problems whose margin is too small for Newton's method.

Where the largest margin is tiny, the weights at which the squared hinge vanishes are far away and its
valley is flat. A vertex of

.. math:: \max_{t \ge 0, \, |W_{kl}| \le 1} t
          \quad \text{with} \quad \langle W, A_{ij} \rangle \ge t |A_{ij}|_F

is found exactly, up to the rounding of one linear system: with :math:`t > 0` the weights store the
facts, at :math:`t = 0` the prices of the constraints are multipliers that prove that none do. Few
constraints matter, so they are added as they turn out to be broken.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linprog

from simonides.solvers.solution import Multipliers, Solution, Status

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals
    from simonides.problems.problem import Problem

_MOST_PARAMETERS = 400
_MOST_PAIRS = 10**6
"""Beyond these sizes it would take longer than anything that is worth waiting for."""

_FIRST_RIVALS, _MORE_RIVALS = 4, 2
"""Rivals of each fact in the first program, and more in each round: few constraints ever matter."""

_MOST_ROUNDS = 40
"""Rounds end when nothing new is broken; so many have added more constraints than there are parameters."""
_TOLERANCE = 1e-10
"""The smallest that HiGHS takes."""


_LONGEST = 10.0
"""Seconds: those that end take less than one, others circle without end, and Ctrl-C waits for them."""


def linear_program(
    problem: Problem, start: Reals, time_limit: float | None = None
) -> Solution | None:
    """Find weights that store all facts, or multipliers; None if the problem is too large.

    ``start`` says which constraints to look at first. Neither outcome is a proof before it is checked.
    """
    if start.size > _MOST_PARAMETERS or problem.facts * problem.candidates > _MOST_PAIRS:
        return None
    if problem.impossible_pair() is not None:
        return None
    began = time.perf_counter()
    deadline = began + min(_LONGEST, np.inf if time_limit is None else time_limit)
    pairs = _Pairs.closest(problem, start, _FIRST_RIVALS)
    status, weights, prices = Status.STOPPED, start, np.zeros(len(pairs))
    for _ in range(_MOST_ROUNDS):
        solved = _vertex(pairs.rows(problem), max(0.0, deadline - time.perf_counter()))
        if solved is None:
            break
        vertex, prices = solved
        if not vertex.any():
            status = Status.INFEASIBLE
            break
        weights = vertex.reshape(start.shape)
        broken = _Pairs.closest(problem, weights, _MORE_RIVALS, below=0.0)
        if not len(broken):
            status = Status.STORED
            break
        joined = pairs.joined(broken)
        if len(joined) == len(pairs):  # broken by rounding alone
            status = Status.INFEASIBLE
            break
        pairs = joined
    infeasible = status is Status.INFEASIBLE and prices.any()
    return replace(
        Solution.of_recall(weights, status, problem.recall(problem.images(weights))),
        seconds=time.perf_counter() - began,
        multipliers=pairs.multipliers(problem, prices) if infeasible else None,
    )


def _vertex(rows: Reals, seconds: float) -> tuple[Reals, Reals] | None:
    """Return the best weights within the unit cube and the price of each constraint, if there is time."""
    constraints, size = rows.shape
    answer = linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.hstack([-rows, np.ones((constraints, 1))]),
        b_ub=np.zeros(constraints),
        bounds=[(-1.0, 1.0)] * size + [(0.0, 1.0)],
        method="highs-ds",
        options={
            "presolve": False,
            "time_limit": seconds,
            "primal_feasibility_tolerance": _TOLERANCE,
            "dual_feasibility_tolerance": _TOLERANCE,
        },
    )
    if not answer.success or answer.x is None:
        return None
    vertex = np.asarray(answer.x[:size]) if answer.x[size] > 0 else np.zeros(size)
    return vertex, np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Constraints by their facts and rivals."""

    facts: Integers
    rivals: Integers

    def __len__(self) -> int:
        return len(self.facts)

    @classmethod
    def closest(
        cls, problem: Problem, weights: Reals, most: int, *, below: float = np.inf
    ) -> _Pairs:
        """Return the rivals of each fact that its target leads least, and by at most ``below``."""
        images = problem.images(weights)
        facts, rivals = [], []
        for fact in range(problem.facts):
            numbers, outputs = problem.competitors(fact)
            differences = problem.target_outputs[fact] - outputs
            leads = (differences @ images[fact]) / _lengths(differences)
            nearest = np.argsort(leads, kind="stable")[:most]
            kept = numbers[nearest[leads[nearest] <= below]]
            facts += [fact] * len(kept)
            rivals += kept.tolist()
        return cls(np.array(facts, dtype=np.int64), np.array(rivals, dtype=np.int64))

    def joined(self, others: _Pairs) -> _Pairs:
        both = np.array([[*self.facts, *others.facts], [*self.rivals, *others.rivals]])
        facts, rivals = np.unique(both, axis=1)
        return _Pairs(facts, rivals)

    def rows(self, problem: Problem) -> Reals:
        """Return the constraints, each of unit length."""
        differences, inputs = self._differences(problem), problem.inputs[self.facts]
        differences = differences / _lengths(differences)[:, None]
        inputs = inputs / _lengths(inputs)[:, None]
        products = differences[:, :, None] * inputs[:, None, :]
        return np.asarray(products.reshape(len(self), -1))

    def multipliers(self, problem: Problem, prices: Reals) -> Multipliers:
        """Return prices of constraints of unit length as multipliers of those of the problem."""
        used = prices > 0
        kept = _Pairs(self.facts[used], self.rivals[used])
        spans = _lengths(kept._differences(problem))
        lengths = _lengths(problem.inputs[kept.facts])
        # Relative to the shortest, so that none is beyond all numbers.
        shares = (spans.min() / spans) * (lengths.min() / lengths)
        return Multipliers(kept.facts, kept.rivals, prices[used] * shares)

    def _differences(self, problem: Problem) -> Reals:
        differences = np.empty((len(self), problem.dim_out))
        for fact in np.unique(self.facts):
            own = self.facts == fact
            numbers, outputs = problem.competitors(int(fact))
            chosen = outputs[np.searchsorted(numbers, self.rivals[own])]
            differences[own] = problem.target_outputs[fact] - chosen
        return differences


def _lengths(rows: Reals) -> Reals:
    """Return the length of each row, also where squares of its entries would be zero."""
    return np.asarray(np.hypot.reduce(rows, axis=1))
