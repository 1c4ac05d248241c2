"""Deciding by semismooth Newton on the squared hinge.

The squared hinge has the minimum zero if and only if the facts can be stored with a margin. Two ways
out:

* a step at which every target beats every rival: stored;
* a gradient that has become small against the residuals: these are then multipliers that leave no
  room for a margin.

Once most facts are recalled, the scale of the weights is doubled: that halves the margin asked for,
leaves fewer pairs active and a better-conditioned Newton equation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.problems import checked
from simonides.solvers.driver import Limits, Report, drive
from simonides.solvers.hinge.conjugate_gradients import conjugate_gradients
from simonides.solvers.hinge.curvature import Curvature
from simonides.solvers.hinge.hinge import Hinge, HingeProblem
from simonides.solvers.hinge.initial_weights import scaled
from simonides.solvers.solution import Multipliers, Solution, Status
from simonides.threads import crew

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from simonides.arrays import Reals
    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Progress

_LONGEST_CG = 400
"""Iterations for a Newton direction; near capacity, where most are needed, a step takes about a hundred."""

_EXACT, _LOOSE, _LOOSER = 0.01, 0.1, 0.3
"""Residuals of Newton equations: once active pairs have settled, and before, by what a pass costs."""

HEADROOM = 0.9
"""Fraction of the tolerance at which a bound is good enough: who checks it adds the rounding."""

_COSTLY_PASS = 15
"""Curvature products that a pass over all rivals may cost before it pays to solve more exactly."""

_SETTLED = 0.1
"""Relative change in the number of active pairs below which they count as settled."""

_DAMPING = 1e-11
"""Of the mean curvature: keeps directions that no active pair sees finite, and changes no other."""

_SUFFICIENT_DECREASE = 1e-4
"""Share of the predicted decrease that a step must bring: Armijo's customary value."""

_SHORTEST_STEP = 1e-12
"""A shorter step changes nothing in double precision."""

_RESOLUTION = 1e-12
"""Relative decrease that the objective, a sum of many terms, still resolves."""

_MANY_RECALLED, _MOST_RECALLED = 0.4, 0.55
"""Shares of facts recalled that promise all, after a step that gained a lot and after any."""

_LARGE_GAIN = 0.8
"""Ratio of objectives below which a step has gained a lot."""

_MOST_DOUBLINGS = 10
"""A thousandfold scale in all: beyond it hardly a pair is active."""


def feasibility(
    problem: Problem,
    *,
    start: Reals | None = None,
    tolerance: float = 1e-9,
    max_steps: int = 400,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Find weights that store all facts, or multipliers that prove there are none.

    ``tolerance`` is the normalised margin that counts as none. ``start`` warm-starts from the direction
    of given weights; ``watch`` is called after every step. Interrupted or after ``time_limit`` seconds it
    returns the best so far. The result does not depend on ``threads``.
    """
    limits = Limits(max_steps, time_limit)
    start = None if start is None else checked.weights("start", start, problem)
    with crew(threads) as each:
        solver = _Feasibility(
            HingeProblem(problem, each), start, HEADROOM * arguments.tolerance(tolerance)
        )
        return drive(solver, limits, watch)


@dataclass(frozen=True, eq=False)
class _Feasibility:
    """The solver; a margin below ``enough`` counts as none."""

    task: HingeProblem
    begin: Reals | None
    enough: float

    def start(self) -> Hinge:
        return Hinge.at(self.task, scaled(self.task, self.begin))

    def states(self, hinge: Hinge) -> Generator[Hinge, None, tuple[Hinge, Status]]:
        if self.task.problem.impossible_pair() is not None:
            return hinge, Status.INFEASIBLE
        before, doublings = None, 0
        while True:
            yield hinge
            upper = hinge.margin_upper
            verdict = self._verdict(hinge)
            if verdict is not None:
                return hinge, verdict
            if doublings < _MOST_DOUBLINGS and _promises(hinge, before):
                hinge = hinge.doubled()
                doublings += 1
                if hinge.margin_upper < self.enough:
                    return hinge, Status.INFEASIBLE
            # No more exactly than the verdict needs.
            forcing = max(_forcing(hinge, before), min(self.enough / (2 * upper), _LOOSE))
            moved = newton_step(hinge, forcing)
            if moved is None:
                return hinge, Status.STOPPED
            before, hinge = hinge, moved

    def _verdict(self, hinge: Hinge) -> Status | None:
        if hinge.lost == 0:
            return Status.STORED
        return Status.INFEASIBLE if hinge.margin_upper < self.enough else None

    def report(self, hinge: Hinge) -> Report:
        return Report(hinge.objective, hinge.lost, margin_upper=hinge.margin_upper)

    def place(self, hinge: Hinge) -> Reals:
        return hinge.weights

    def at(self, place: Reals) -> Hinge:
        return Hinge.at(self.task, place)

    def finish(self, hinge: Hinge, status: Status) -> Solution:
        impossible = self.task.problem.impossible_pair()
        if impossible is not None:
            # A constraint that is zero whatever the weights: one multiplier is the proof.
            fact, rival = (np.array([number]) for number in impossible)
            solution = Solution.of_recall(hinge.weights, Status.INFEASIBLE, hinge.recall())
            return replace(
                solution, multipliers=Multipliers(fact, rival, np.ones(1)), margin_upper=0.0
            )
        if status is Status.STOPPED:  # at a limit, perhaps at the very state that tells
            status = self._verdict(hinge) or status
        proof = hinge.multipliers() if status is Status.INFEASIBLE else None
        solution = Solution.of_recall(hinge.weights, status, hinge.recall())
        return replace(solution, multipliers=proof, margin_upper=hinge.margin_upper)


def _promises(hinge: Hinge, before: Hinge | None) -> bool:
    """Return whether facts seem to fit: most are recalled, or many after a step that gained a lot."""
    recalled = hinge.scan.recalled / hinge.task.problem.facts
    gained = before is not None and hinge.objective < _LARGE_GAIN * before.objective
    return recalled > (_MANY_RECALLED if gained else _MOST_RECALLED)


def _forcing(hinge: Hinge, before: Hinge | None) -> float:
    """Return how exactly to solve the next Newton equation.

    Loosely while active pairs come and go: an exact step would fit those of now and break the rest.
    How loosely depends on what the pass over all rivals after it costs, in curvature products.
    """
    problem = hinge.task.problem
    costly = problem.candidates > 2 * problem.dim_in * _COSTLY_PASS
    loose = _LOOSE if costly else _LOOSER
    if before is None:
        return loose
    now, then = len(hinge.residuals), len(before.residuals)
    if abs(now - then) > _SETTLED * then:
        return loose
    ratio = np.linalg.norm(hinge.gradient) / np.linalg.norm(before.gradient)
    return float(np.clip(0.5 * ratio**1.5, _EXACT, loose))


def newton_step(hinge: Hinge, forcing: float, ridge: float = 0.0) -> Hinge | None:
    """Return the hinge one Newton step further, or None if no step descends.

    With a ``ridge`` the function that descends is the hinge plus half the ridge times :math:`|W|^2`.
    """
    for precision in (np.float32, np.float64) if hinge.moderate else (np.float64,):
        moved = _descend(hinge, _newton_direction(hinge, forcing, ridge, precision), ridge)
        if moved is not None:
            return moved
    return None


def _newton_direction(
    hinge: Hinge, forcing: float, ridge: float, precision: type[np.floating[Any]]
) -> Reals:
    curvature = Curvature(hinge, precision)
    damping = precision(ridge + _DAMPING * curvature.trace / hinge.weights.size)
    downhill = -(hinge.gradient + ridge * hinge.weights)
    size = float(np.linalg.norm(downhill))
    direction, _ = conjugate_gradients(
        lambda search: curvature(search) + damping * search,
        (downhill / size).astype(precision),
        forcing=forcing,
        longest=_LONGEST_CG,
    )
    return np.asarray(direction.astype(np.float64) * size)


def _descend(hinge: Hinge, direction: Reals, ridge: float) -> Hinge | None:
    def height(point: Hinge) -> float:
        return point.objective + ridge * float(np.vdot(point.weights, point.weights)) / 2

    def steepness(point: Hinge) -> float:
        return float(np.linalg.norm(point.gradient + ridge * point.weights))

    if not direction.any():
        return None
    slope = float(np.vdot(hinge.gradient + ridge * hinge.weights, direction))
    along = hinge.task.images(direction)
    start, step = height(hinge), 1.0
    while step >= _SHORTEST_STEP:
        point = hinge.try_at(hinge.weights + step * direction, hinge.images + step * along)
        if point is None:
            step /= 2
            continue
        reached = height(point)
        if reached <= start + _SUFFICIENT_DECREASE * step * slope:
            return point
        # Close to the minimum the objective no longer resolves the descent; its gradient does.
        if reached <= start * (1 + _RESOLUTION) and steepness(point) < steepness(hinge):
            return point
        step /= 2
    return None
