"""The search for the least change: Newton steps on the constraints looked at, until the bounds meet."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from simonides.certificate import ChangeCertificate
from simonides.solvers.change.constraints import MovingFacts
from simonides.solvers.change.course import Course
from simonides.solvers.change.metric import Metric
from simonides.solvers.change.newton import newton_step
from simonides.solvers.deciding.decide import decide
from simonides.solvers.deciding.proof import proved
from simonides.solvers.driver import Report
from simonides.solvers.solution import Multipliers, Solution, Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Generator

    from simonides.arrays import Reals
    from simonides.solvers.change.constraints import Constraints

_LEAST_REST = 1e-9
"""Of an input's square: what rounding leaves of one that is all common."""

_EARLY_STIFFNESS = 16.0
"""Up to here it grows while most facts are lost: the solution moves on with it."""

_FEW_LOST = 0.05
"""Share of facts lost below which directions are solved for exactly."""

_SETTLED = 0.1
"""Turn of a step, in the change's own length, at which multipliers are worth an update."""

_CONVERGED = 1e-3
"""Turn at which they are even after a short step: there is no more to be gained without."""

FAR = 0.1
"""Lead above its margin from which on a constraint without a multiplier is no longer looked at."""

MOST_KEPT = 64
"""Constraints of a fact, on average, up to which none is dropped: near capacity they come and go."""

LEAST_DEMAND = 1e-3
"""Of what facts lack at first: what multipliers ask for on average is hardly ever less."""

_FIRST_DOUBT = 20
"""Steps after which it is asked whether the facts can be stored at all, if most are still lost: where they
can, and are not close to capacity, hardly one is."""

_PATIENCE = (60, 120, 240)
"""Steps after which it is asked in any case, while margins are not kept."""

_HOPELESS = 100.0
"""Length that a change must have, over that so far, at which it is not waited for: where it can be found,
bound and length are within a few per cent of each other by then."""


@dataclass(frozen=True, eq=False)
class Change:
    """A change as pulls, its images, the constraints looked at, and what is known by them.

    ``worst`` is what the worst constraint lacks of its margin, ``lower`` the proved length and ``proof``
    the multipliers that prove it.
    """

    constraints: Constraints
    pulls: Reals
    images: Reals
    lost: int
    worst: float
    course: Course
    lower: float = 0.0
    proof: Multipliers | None = None

    @property
    def length(self) -> float:
        """Length of the change."""
        square = float(np.vdot(self.pulls, self.images - self.constraints.facts.offsets))
        return float(np.sqrt(max(square, 0.0)))


@dataclass(frozen=True, eq=False)
class LeastChange:
    """The solver, for facts whose inputs are whitened already."""

    facts: MovingFacts
    offsets: Reals
    margins: Reals
    metric: Metric
    gap: float
    deadline: float
    threads: int | None

    def start(self) -> Change:
        """Return the first state."""
        constraints, course = self.facts.none(), Course(self.gap / 2)
        pulls, images = np.zeros_like(self.facts.offsets), self.facts.offsets
        if self.twins is not None:
            recall = self.facts.problem.recall(images, self.facts.each)
            lost = self.facts.problem.facts - recall.recalled
            return Change(constraints, pulls, images, lost, np.inf, course)
        return self._passed(constraints, pulls, images, course)

    def states(self, state: Change) -> Generator[Change, None, tuple[Change, Status]]:
        """Yield each state; return the last and how it ended."""
        twins = self.twins
        if twins is not None:
            return replace(state, lower=np.inf, proof=twins), Status.INFEASIBLE
        while True:
            yield state
            enough = state.length - state.lower <= self.gap * state.length
            if state.worst <= 0 and (enough or not state.pulls.any()):
                return state, Status.STORED
            if self._doubtful(state):
                refuted = self._refuted(state)
                if refuted is not None:
                    return refuted, Status.INFEASIBLE
                hopeless = state.lower > _HOPELESS * state.length
                if hopeless and state.course.steps > _FIRST_DOUBT:
                    return state, Status.STOPPED
            state = self._stepped(state)

    def _doubtful(self, state: Change) -> bool:
        """Return whether it is time to ask if the facts can be stored at all."""
        steps = state.course.steps
        mostly = steps == _FIRST_DOUBT and state.lost > self.facts.problem.facts / 2
        return mostly or (steps in _PATIENCE and state.worst > 0)

    def _passed(
        self, constraints: Constraints, pulls: Reals, images: Reals, course: Course
    ) -> Change:
        """Return the state with the constraints that a pass over all rivals finds close."""
        constraints, _, lost, worst = self.facts.seen(images, constraints)
        return Change(constraints, pulls, images, lost, worst, course)

    def _stepped(self, state: Change) -> Change:
        """Return the state one Newton step further, with multipliers updated where it is time."""
        course, count = state.course, self.facts.problem.facts
        stiffness, beyond = course.stiffness * self.unit, course.beyond
        need = state.constraints.margins + beyond
        step = newton_step(
            state.constraints, state.pulls, state.images, stiffness, need, course.forcing
        )
        few_lost = state.lost <= _FEW_LOST * count
        course = course.after(step.size, step.iterations, few_lost)
        following = self._passed(step.constraints, step.pulls, step.images, course)
        constraints = following.constraints
        leads = constraints.leads(following.images)
        forces = np.maximum(
            constraints.multipliers + stiffness * (constraints.margins + beyond - leads), 0.0
        )
        prices = np.maximum(constraints.prices, 0.0)
        bound, values = max(
            ((constraints.least_length(values), values) for values in (forces, prices)),
            key=lambda pair: pair[0],
        )
        lower, proof = state.lower, state.proof
        if bound > lower or proof is None:
            lower, proof = bound, self._multipliers(constraints, values)
        idle = (constraints.prices == 0) & (constraints.multipliers == 0)
        broken = np.count_nonzero(idle & (leads < constraints.margins))
        settled = step.turn < (_SETTLED if step.size > 0.5 else _CONVERGED)
        if settled and broken <= _FEW_LOST * len(constraints):
            constraints = replace(constraints, multipliers=forces)
            # Half of the gap may be spent on asking for more than the margin.
            demand = float(forces @ (constraints.margins - constraints.initial))
            demand /= max(float(forces.sum()), np.finfo(float).tiny)
            course = course.updated(following.worst, self.gap / 2 * max(demand, LEAST_DEMAND))
        elif following.lost > count / 2 and course.steps % 2 == 0:
            course = course.stiffer(_EARLY_STIFFNESS)
        if len(constraints) > MOST_KEPT * count:
            constraints = constraints.where((forces > 0) | (leads < constraints.margins + FAR))
        return replace(following, constraints=constraints, course=course, lower=lower, proof=proof)

    def _multipliers(self, constraints: Constraints, values: Reals) -> Multipliers:
        """Return the multipliers of the problem's own constraints, those that are not zero."""
        facts, rivals = constraints.pairs.facts, constraints.pairs.rivals
        values = values / constraints.spans / self.facts.units[facts]
        used = values > 0
        return Multipliers(facts[used], rivals[used], values[used])

    @cached_property
    def unit(self) -> float:
        """The unit of stiffness: over the square of an input without its common part."""
        squares = self.facts.squares
        rest = np.median(squares - self.facts.common**2)
        return float(1 / max(rest, _LEAST_REST * np.median(squares)))

    @cached_property
    def twins(self) -> Multipliers | None:
        """Every target with an equal rival, as a proof: no image tells them apart."""
        problem, pair = self.facts.problem, self.facts.problem.impossible_pair()
        if pair is None:
            return None
        rows, first, places = np.unique(
            problem.outputs + 0.0, axis=0, return_index=True, return_inverse=True
        )
        if len(rows) == problem.candidates:
            return None
        places = places.ravel()
        last = np.zeros(len(rows), np.int64)
        last[places] = np.arange(problem.candidates)
        own = problem.targets
        rivals = np.where(first[places[own]] == own, last[places[own]], first[places[own]])
        facts = np.flatnonzero(rivals != own)
        return Multipliers(facts, rivals[facts], np.ones(len(facts))) if facts.size else None

    def _refuted(self, state: Change) -> Change | None:
        """Return the state with a proof that no weights store the facts, if offsets do not help."""
        left = max(self.deadline - time.monotonic(), 0.0)
        limit = left if np.isfinite(left) else None
        decision = decide(self.facts.problem, time_limit=limit, threads=self.threads)
        proof = decision.solution.multipliers
        if decision.verdict is not Verdict.NOT_STORABLE or proof is None:
            return None
        lower = self._proved(proof)
        return replace(state, lower=lower, proof=proof) if lower > 0 else None

    def _proved(self, proof: Multipliers) -> float:
        """Return the length that multipliers of the problem's own constraints prove."""
        constraints = self.facts.none().joined(proof.facts, proof.rivals)
        candidates = self.facts.problem.candidates
        _, places = np.unique(proof.facts * candidates + proof.rivals, return_inverse=True)
        values = np.bincount(places.ravel(), proof.values, len(constraints))
        return constraints.least_length(
            values * constraints.spans * self.facts.units[constraints.pairs.facts]
        )

    def report(self, state: Change) -> Report:
        """Return the length and what is lost."""
        return Report(state.length**2 / 2, state.lost)

    def place(self, state: Change) -> Change:
        """Return the state itself."""
        return state

    def at(self, place: Change) -> Change:
        """Return the state itself."""
        return place

    def finish(self, state: Change, status: Status) -> Solution:
        """Return the solution at a state."""
        change = self.metric.back(self.facts.change(state.pulls))
        return self.solution(change, state.length, state.worst <= 0, state, status)

    def solution(
        self, change: Reals, length: float, kept: bool, known: Change, status: Status
    ) -> Solution:
        """Return a change of some length, and whether it keeps every margin, with what is known."""
        problem = self.facts.problem
        recall = problem.recall(self.offsets + problem.images(change), self.facts.each)
        if status is not Status.INFEASIBLE:
            kept = kept and recall.recalled == problem.facts
            status = Status.STORED if kept else Status.STOPPED
        proof = known.proof
        if proof is None:  # the first state, before any multiplier
            proof = Multipliers(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        solution = replace(
            Solution.of_recall(change, status, recall),
            multipliers=known.proof,
            change=length,
            change_lower=known.lower,
            change_certificate=ChangeCertificate(
                problem.fingerprint(), change, self.offsets, self.margins,
                proof.facts, proof.rivals, proof.values, self.metric.matrix,
            ),
        )  # fmt: skip
        if status is not Status.INFEASIBLE:
            return solution
        decision = proved(problem, solution)
        return replace(solution, verdict=decision.verdict, certificate=decision.certificate)
