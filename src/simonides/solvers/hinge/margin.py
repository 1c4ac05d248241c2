r"""The largest normalised margin, between two bounds that close in on it.

Past the first weights that store the facts, minimise :math:`\frac{\varepsilon}{2} |W|^2 + f(W)` with
the squared hinge :math:`f` and let :math:`\varepsilon` fall. The weights then tend to the shortest with all
leads at least one, whose margin is the largest. On the way there is always a bracket: the weights'
own margin from below, and from above :math:`|\sum r_{ij} A_{ij}|_F / \sum r_{ij}` with the residuals as
multipliers.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.interrupts import Keyboard, completed
from simonides.solvers.hinge.feasibility import feasibility, newton_step
from simonides.solvers.hinge.hinge import Hinge, Task
from simonides.solvers.hinge.initial_weights import scaled
from simonides.solvers.solution import Progress, Solution, Status
from simonides.threads import crew

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals
    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Multipliers

_FALL = 0.1
_FORCING = (1e-4, 0.1)
_CENTRED = 0.03
_SAFETY = 0.3
_LEAST_RIDGE = 1e-14


def maximum_margin(
    problem: Problem,
    *,
    gap: float = 1e-3,
    start: Reals | None = None,
    tolerance: float = 1e-9,
    max_steps: int = 400,
    threads: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Store the facts with the largest normalised margin, to a relative duality gap of ``gap``.

    The solution's margins are the bracket, and its multipliers prove the upper one. If the facts
    cannot be stored it is that of ``feasibility``.
    """
    gap = arguments.real(
        "gap", gap, least=0, most=1, open_least=True, remedy="pass a relative gap such as 1e-3"
    )
    found = feasibility(
        problem,
        start=start,
        tolerance=tolerance,
        max_steps=max_steps,
        threads=threads,
        watch=watch,
    )
    if found.status is not Status.STORED or found.interrupted:
        return found
    with crew(threads) as each:
        return _widen(Task(problem, each, exact=True), found, gap, max_steps, watch)


def _widen(
    task: Task,
    found: Solution,
    gap: float,
    max_steps: int,
    watch: Callable[[Progress], None] | None,
) -> Solution:
    began = time.perf_counter() - found.seconds
    history = list(found.history)
    best = _Bracket()
    with Keyboard() as keyboard:  # the bracket so far stands
        # From a scale where many pairs are active, with the ridge that holds the weights there.
        hinge = Hinge.at(task, scaled(task, found.weights))
        while not hinge.residuals.any():
            hinge = Hinge.at(task, hinge.weights / 2)
        size = float(np.vdot(hinge.weights, hinge.weights))
        ridge = max(-float(np.vdot(hinge.gradient, hinge.weights)), hinge.objective) / size
        least = _LEAST_RIDGE * ridge
        while len(history) <= max_steps and ridge > least:
            best = best.narrowed(hinge)
            seconds = time.perf_counter() - began
            history.append(
                Progress(len(history), hinge.objective, hinge.lost, seconds, best.lower, best.upper)
            )
            if watch is not None:
                watch(history[-1])
            if best.upper - best.lower <= gap * best.upper:
                break
            if _steepness(hinge, ridge) <= _CENTRED:
                ridge *= _FALL
            forcing = np.clip(_SAFETY * _CENTRED / _steepness(hinge, ridge), *_FORCING)
            moved = newton_step(hinge, float(forcing), ridge)
            if moved is None:
                ridge *= _FALL
            else:
                hinge = moved
    if best.weights is None:
        return replace(found, interrupted=keyboard.interrupted)
    images = task.problem.inputs @ best.weights.T
    recall, late = completed(lambda: task.problem.recall(images, task.each))
    return replace(
        found,
        weights=best.weights,
        recalled=recall.recalled,
        smallest_gap=recall.smallest_gap,
        steps=len(history) - 1,
        seconds=time.perf_counter() - began,
        history=tuple(history),
        multipliers=best.multipliers,
        margin_lower=best.lower,
        margin_upper=best.upper,
        interrupted=keyboard.interrupted or late,
    )


def _steepness(hinge: Hinge, ridge: float) -> float:
    """Return the slope that is left, against that of the ridge alone."""
    pull = ridge * hinge.weights
    return float(np.linalg.norm(hinge.gradient + pull) / np.linalg.norm(pull))


@dataclass(frozen=True, eq=False)
class _Bracket:
    """The best bounds seen, each with what proves it."""

    lower: float = -np.inf
    upper: float = np.inf
    weights: Reals | None = None
    multipliers: Multipliers | None = None

    def narrowed(self, hinge: Hinge) -> _Bracket:
        best = self
        if hinge.lost == 0 and hinge.margin_lower > best.lower:
            best = replace(best, lower=hinge.margin_lower, weights=hinge.weights)
        if hinge.margin_upper < best.upper:
            best = replace(best, upper=hinge.margin_upper, multipliers=hinge.multipliers())
        return best
