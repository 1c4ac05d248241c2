r"""The least change of a bounded rank, from the least change of any.

The problem is not convex, so there is no bound of its own: no change of any rank is shorter than the bound
of the whole problem, and the gap to that need not close. The search begins at the truncated singular value
decomposition of the least change, with no multipliers, and minimises the augmented Lagrangian over matrices
of the rank by damped steps in their tangent spaces. Softly at first: the constraints are traded for length
until those that can be kept together are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from simonides.solvers.change.course import Course
from simonides.solvers.change.search import FAR, LEAST_DEMAND, MOST_KEPT
from simonides.solvers.change.tangent import Penalty, Product, tangent_step
from simonides.solvers.driver import Report
from simonides.solvers.factors import truncated
from simonides.solvers.solution import Status

if TYPE_CHECKING:
    from collections.abc import Generator

    from simonides.arrays import Reals
    from simonides.solvers.change.constraints import Constraints
    from simonides.solvers.change.search import Change, LeastChange
    from simonides.solvers.solution import Solution

_FIRST_STIFFNESSES = (16.0, 64.0, 256.0)
"""In the unit of the course: a soft start leads to shorter changes, a stiff one more often to any."""

_EARLY_STIFFNESS = 256.0
"""Up to here it grows while most facts are lost."""

_SETTLED = 0.5
"""Turn of a step, undamped, at which multipliers are worth an update."""

_LEAST_DAMPING, _MOST_DAMPING = 1e-3, 1e6
"""With less a step is not damped; with more it moves nothing, and the search has ended."""

_GOOD, _POOR = 0.7, 0.3
"""Gain over that expected above which damping falls, and below which it grows."""

_SHORTER = 1e-3
"""Relative gain in length, or in what the worst constraint lacks, that counts."""

_PATIENCE = {True: 20, False: 80}
"""Steps without such a gain after which the search has ended: once margins are kept, and before."""


@dataclass(frozen=True, eq=False)
class Bounded:
    """A change of bounded rank, its images, the constraints looked at, and the search of any rank.

    ``kept`` is the shortest so far that keeps every margin, and ``idle`` the steps since it or the worst
    constraint, of which ``mark`` says how it was, got better.
    """

    whole: Change
    product: Product
    images: Reals
    constraints: Constraints
    leads: Reals
    lost: int
    worst: float
    course: Course
    damping: float = 1.0
    kept: Product | None = None
    mark: float = np.inf
    idle: int = 0

    def noted(self) -> Bounded:
        """Return the state with the shortest change that keeps every margin, and what is new."""
        kept, length = self.kept, self.product.length
        if self.worst <= 0 and (kept is None or length < kept.length):
            mark = np.inf if kept is None else self.mark
            new = length < (1 - _SHORTER) * mark
            mark, kept = (length if new else mark), self.product
        else:
            new = kept is None and self.worst < (1 - _SHORTER) * self.mark
            mark = self.worst if new else self.mark
        return replace(self, kept=kept, mark=mark, idle=0 if new else self.idle + 1)


@dataclass(frozen=True, eq=False)
class BoundedRank:
    """The solver; ``basis`` spans the whitened inputs where they are fewer than their coordinates."""

    search: LeastChange
    rank: int
    basis: Reals | None

    def start(self) -> Bounded:
        """Return the first state."""
        return self._cut(self.search.start())

    def states(self, state: Bounded) -> Generator[Bounded, None, tuple[Bounded, Status]]:
        """Yield each state; return the last and how it ended."""
        steps, whole = self.search.states(state.whole), state.whole
        while True:
            try:
                whole = next(steps)
            except StopIteration as ending:
                whole, status = ending.value
                break
            state = self._cut(whole)
            yield state
        state = self._cut(whole)
        if status is not Status.STORED or state.kept is not None:  # no longer than that of any rank
            return state, status
        begin = best = state
        for stiffness in _FIRST_STIFFNESSES:
            state = replace(begin, course=replace(begin.course, stiffness=stiffness))
            while state.idle <= _PATIENCE[state.kept is not None] and state.damping < _MOST_DAMPING:
                state = self._stepped(state).noted()
                yield state
            if state.kept is not None:
                return state, Status.STORED
            best = min(best, state, key=lambda end: end.lost)
        return best, Status.STOPPED

    def _cut(self, whole: Change) -> Bounded:
        """Return the truncated singular value decomposition of a change of any rank."""
        facts = self.search.facts
        product = Product.nearest(facts.change(whole.pulls), self.rank)
        images = facts.offsets + facts.inputs @ product.matrix.T
        constraints = replace(whole.constraints, multipliers=np.zeros(len(whole.constraints)))
        if self.search.twins is None:
            seen = facts.seen(images, constraints)
        else:
            seen = constraints, np.empty(0), whole.lost, np.inf
        course = Course(self.search.gap / 2)
        state = Bounded(whole, product, images, *seen, course)
        return replace(state, kept=product if state.worst <= 0 else None)

    def _stepped(self, state: Bounded) -> Bounded:
        """Return the state one step further, or the same with more damping."""
        facts, course = self.search.facts, state.course
        stiffness = course.stiffness * self.search.unit
        need = state.constraints.margins + course.beyond
        penalty = Penalty(state.constraints, stiffness, need)
        step = tangent_step(penalty, state.product, state.leads, state.damping)
        if not step.gain >= 0:
            return replace(state, damping=4 * state.damping)
        ratio = step.gain / max(step.expected, np.finfo(float).tiny)
        factor = 0.3 if ratio > _GOOD else 1.5 if ratio < _POOR else 1.0
        constraints, course = penalty.constraints, replace(course, steps=course.steps + 1)
        forces = penalty.forces(step.leads)
        if step.turn * (1 + state.damping) < _SETTLED:
            constraints = replace(constraints, multipliers=forces)
            # Half of the gap may be spent on asking for more than the margin.
            demand = float(forces @ (constraints.margins - constraints.initial))
            demand /= max(float(forces.sum()), np.finfo(float).tiny)
            course = course.updated(state.worst, self.search.gap / 2 * max(demand, LEAST_DEMAND))
        elif state.lost > facts.problem.facts / 2 and course.steps % 2 == 0:
            course = course.stiffer(_EARLY_STIFFNESS)
        if len(constraints) > MOST_KEPT * facts.problem.facts:
            constraints = constraints.where((forces > 0) | (step.leads < constraints.margins + FAR))
        constraints, leads, lost, worst = facts.seen(step.images, constraints)
        return replace(
            state, product=step.product, images=step.images, constraints=constraints, leads=leads,
            lost=lost, worst=worst, course=course,
            damping=max(factor * state.damping, _LEAST_DAMPING),
        )  # fmt: skip

    def report(self, state: Bounded) -> Report:
        """Return the length and what is lost."""
        return Report(state.product.length**2 / 2, state.lost)

    def place(self, state: Bounded) -> Bounded:
        """Return the state itself."""
        return state

    def at(self, place: Bounded) -> Bounded:
        """Return the state itself."""
        return place

    def finish(self, state: Bounded, status: Status) -> Solution:
        """Return the solution at a state."""
        product = state.product if state.kept is None else state.kept
        matrix = product.matrix if self.basis is None else product.matrix @ self.basis.T
        change = self.search.metric.back(matrix)
        left, right = truncated(change, self.rank)
        kept = state.kept is not None
        solution = self.search.solution(
            np.ascontiguousarray(left @ right.T), product.length, kept, state.whole, status
        )
        return replace(solution, factors=(left, right))
