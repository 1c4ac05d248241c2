r"""The least change of a matrix that stores facts, between two bounds.

A matrix is in use, and fact :math:`i` has the image :math:`b_i` already. Wanted is the change
:math:`\Delta` that disturbs least and puts every image at a distance :math:`\gamma_i` or more inside its
target's cell:

.. math:: \min_\Delta \tfrac12 \operatorname{tr} \Delta C \Delta^T \quad\text{subject to}\quad
          (y_i - y_j)^T (b_i + \Delta x_i) \ge \gamma_i |y_i - y_j| \quad\text{for all } i, j .

With :math:`C` the second moments of ordinary inputs, the length of the change, the root of
:math:`\operatorname{tr} \Delta C \Delta^T`, is the root mean square by which it moves their images. Of all
constraints a few per fact matter: those looked at are solved by the augmented Lagrangian and Newton's
method, and each step ends with a pass over all rivals that brings in what it broke. Multipliers
:math:`\lambda \ge 0` bound the length of every such change from below,

.. math:: \frac{\sum \lambda_{ij} (\gamma_i |y_i - y_j| - (y_i - y_j)^T b_i)}
          {\bigl| \sum \lambda_{ij} (y_i - y_j) x_i^T C^{-1/2} \bigr|_F} ,

so that there is a gap to end at; without bound they prove that no change will do.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.certificate import ChangeCertificate
from simonides.problems import checked
from simonides.problems.problem import sharing
from simonides.solvers.change.constraints import MovingFacts
from simonides.solvers.change.course import Course
from simonides.solvers.change.metric import Metric
from simonides.solvers.change.newton import newton_step
from simonides.solvers.deciding.decide import decide
from simonides.solvers.deciding.proof import proved
from simonides.solvers.driver import Limits, Report, drive
from simonides.solvers.solution import Multipliers, Solution, Status, Verdict
from simonides.threads import crew

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simonides.arrays import Reals
    from simonides.problems.problem import Problem
    from simonides.solvers.change.constraints import Constraints
    from simonides.solvers.solution import Progress

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

_FAR = 0.1
"""Lead above its margin from which on a constraint without a multiplier is no longer looked at."""

_MOST_KEPT = 64
"""Constraints of a fact, on average, up to which none is dropped: near capacity they come and go."""

_LEAST_DEMAND = 1e-3
"""Of what facts lack at first: what multipliers ask for on average is hardly ever less."""

_FIRST_DOUBT = 20
"""Steps after which it is asked whether the facts can be stored at all, if most are still lost: where they
can, and are not close to capacity, hardly one is."""

_PATIENCE = (60, 120, 240)
"""Steps after which it is asked in any case, while margins are not kept."""

_HOPELESS = 100.0
"""Length that a change must have, over that so far, at which it is not waited for: where it can be found,
bound and length are within a few per cent of each other by then."""


def least_change(
    problem: Problem,
    offsets: Any = None,
    metric: Any = None,
    margin: Any = 1.0,
    *,
    gap: float = 0.01,
    max_steps: int = 400,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Solution:
    r"""Store facts in a matrix that is in use by changing it as little as possible.

    Parameters
    ----------
    problem : Problem
        The facts; their inputs share the candidates.
    offsets : array (facts, dim_out), optional
        What each input's image is without the change. Default: zero.
    metric : array (dim_in, dim_in), optional
        The positive definite matrix C that weighs the change, such as the second moments of ordinary
        inputs plus a small multiple of the identity. Default: the identity.
    margin : float or array (facts,)
        Distance at which each image must lie inside its target's cell, in the unit of images.
    gap : float
        Relative gap between the bounds on the length of the change at which to end.
    max_steps : int
        Most Newton steps to take.
    time_limit : float, optional
        Seconds after which the best so far is returned. So it is when interrupted.
    threads : int, optional
        Threads to use.
    watch : callable, optional
        Called with the :class:`Progress` of every step.

    Returns
    -------
    Solution
        ``weights`` is the change and ``change`` its length; no change with these margins is shorter than
        ``change_lower``, which ``multipliers`` prove. Recall is that of offset and change together.
        ``stored`` if every margin is kept, ``stopped`` if it ended before, even if all are recalled.
        ``infeasible`` if no change is found to be possible: ``certificate`` is the proof of ``decide``,
        and where targets have an equal among the outputs ``multipliers.facts`` names all such facts.

    Raises
    ------
    BadArgumentError
        For margins that are not positive, arrays of other shapes, a metric that is not positive definite,
        or a problem whose inputs do not share their candidates.

    Examples
    --------
    >>> import numpy as np
    >>> from simonides import OriginalProblem
    >>> problem = OriginalProblem.gaussian(20, 12, seed=0)
    >>> images = np.random.default_rng(1).standard_normal((20, 12))
    >>> solution = least_change(problem, images, margin=0.1)
    >>> solution.recalled, solution.change <= 1.01 * solution.change_lower
    (20, True)
    """
    shared = sharing(problem)
    if shared is None:
        remedy = "pass an OriginalProblem"
        raise arguments.refuse("problem", str(problem), "one of shared candidates", remedy)
    gap = arguments.fraction("gap", gap, remedy="pass a relative gap such as 0.01")
    limits = Limits(max_steps, time_limit)
    margins = _margins(margin, shared.facts)
    images = np.zeros((shared.facts, shared.dim_out))
    if offsets is not None:
        images = checked.matrix("offsets", offsets, columns=shared.dim_out)
        if len(images) != shared.facts:
            shape = f"with {shared.facts} rows"
            raise arguments.refuse("offsets.shape", images.shape, shape, "one row per fact")
    weighed = Metric.of(metric, shared.dim_in)
    with crew(threads) as each:
        white = weighed.whitened(shared.inputs)
        facts = MovingFacts.of(shared, white, images, margins, each)
        deadline = arguments.deadline(time_limit)
        solver = _LeastChange(facts, images, margins, weighed, gap, deadline, threads)
        return drive(solver, limits, watch)


def _margins(margin: Any, facts: int) -> Reals:
    values = np.asarray(margin, dtype=np.float64)
    if values.shape not in ((), (facts,)):
        raise arguments.refuse("margin.shape", values.shape, f"() or ({facts},)", "one per fact")
    for value in values.ravel():
        arguments.between(
            "margin", value, 0, checked.LONGEST, remedy="pass the distance that images must keep"
        )
    return np.broadcast_to(values, (facts,)).copy()


@dataclass(frozen=True, eq=False)
class _State:
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
class _LeastChange:
    """The solver."""

    facts: MovingFacts
    offsets: Reals
    margins: Reals
    metric: Metric
    gap: float
    deadline: float
    threads: int | None

    def start(self) -> _State:
        constraints, course = self.facts.none(), Course(self.gap / 2)
        pulls, images = np.zeros_like(self.facts.offsets), self.facts.offsets
        if self._twins is not None:
            recall = self.facts.problem.recall(images, self.facts.each)
            lost = self.facts.problem.facts - recall.recalled
            return _State(constraints, pulls, images, lost, np.inf, course)
        return self._passed(constraints, pulls, images, course)

    def states(self, state: _State) -> Generator[_State, None, tuple[_State, Status]]:
        twins = self._twins
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

    def _doubtful(self, state: _State) -> bool:
        """Return whether it is time to ask if the facts can be stored at all."""
        steps = state.course.steps
        mostly = steps == _FIRST_DOUBT and state.lost > self.facts.problem.facts / 2
        return mostly or (steps in _PATIENCE and state.worst > 0)

    def _passed(
        self, constraints: Constraints, pulls: Reals, images: Reals, course: Course
    ) -> _State:
        """Return the state with the constraints that a pass over all rivals finds close."""
        facts, rivals, every = self.facts.close_rivals(images, constraints)
        constraints = constraints.joined(facts, rivals)
        leads = constraints.leads(images)
        lost = np.unique(constraints.pairs.facts[leads <= 0]).size
        worst = float((constraints.margins - leads).max(initial=-np.inf)) if every else np.inf
        return _State(constraints, pulls, images, lost, worst, course)

    def _stepped(self, state: _State) -> _State:
        """Return the state one Newton step further, with multipliers updated where it is time."""
        course, count = state.course, self.facts.problem.facts
        stiffness, beyond = course.stiffness * self._unit, course.beyond
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
            course = course.updated(following.worst, self.gap / 2 * max(demand, _LEAST_DEMAND))
        elif following.lost > count / 2 and course.steps % 2 == 0:
            course = course.stiffer(_EARLY_STIFFNESS)
        if len(constraints) > _MOST_KEPT * count:
            constraints = constraints.where((forces > 0) | (leads < constraints.margins + _FAR))
        return replace(following, constraints=constraints, course=course, lower=lower, proof=proof)

    def _multipliers(self, constraints: Constraints, values: Reals) -> Multipliers:
        """Return the multipliers of the problem's own constraints, those that are not zero."""
        facts, rivals = constraints.pairs.facts, constraints.pairs.rivals
        values = values / constraints.spans / self.facts.units[facts]
        used = values > 0
        return Multipliers(facts[used], rivals[used], values[used])

    @cached_property
    def _unit(self) -> float:
        """The unit of stiffness: over the square of an input without its common part."""
        squares = self.facts.squares
        rest = np.median(squares - self.facts.common**2)
        return float(1 / max(rest, _LEAST_REST * np.median(squares)))

    @cached_property
    def _twins(self) -> Multipliers | None:
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

    def _refuted(self, state: _State) -> _State | None:
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

    def report(self, state: _State) -> Report:
        return Report(state.length**2 / 2, state.lost)

    def place(self, state: _State) -> _State:
        return state

    def at(self, place: _State) -> _State:
        return place

    def finish(self, state: _State, status: Status) -> Solution:
        problem = self.facts.problem
        change = self.metric.back(self.facts.change(state.pulls))
        recall = problem.recall(self.offsets + problem.images(change), self.facts.each)
        if status is not Status.INFEASIBLE:
            kept = recall.recalled == problem.facts and state.worst <= 0
            status = Status.STORED if kept else Status.STOPPED
        proof = state.proof
        if proof is None:  # the first state, before any multiplier
            proof = Multipliers(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        solution = replace(
            Solution.of_recall(change, status, recall),
            multipliers=state.proof,
            change=state.length,
            change_lower=state.lower,
            change_certificate=ChangeCertificate(
                problem.fingerprint(), change, self.offsets, self.margins,
                proof.facts, proof.rivals, proof.values, self.metric.matrix,
            ),
        )  # fmt: skip
        if status is not Status.INFEASIBLE:
            return solution
        decision = proved(problem, solution)
        return replace(solution, verdict=decision.verdict, certificate=decision.certificate)
