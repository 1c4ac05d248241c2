r"""The largest normalised margin, between two bounds that close in on it.

Past the first weights that store the facts, minimise :math:`\frac{\varepsilon}{2} |W|^2 + f(W)` with
the squared hinge :math:`f` and let :math:`\varepsilon` fall. The weights then tend to the shortest with all
leads at least one, whose margin is the largest. On the way there is always a bracket: the weights'
own margin from below, and from above :math:`|\sum r_{ij} A_{ij}|_F / \sum r_{ij}` with the residuals as
multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.problems import checked
from simonides.solvers.driver import Limits, Report, drive
from simonides.solvers.hinge.feasibility import HEADROOM, feasibility, newton_step
from simonides.solvers.hinge.hinge import Hinge, HingeProblem
from simonides.solvers.hinge.initial_weights import scaled
from simonides.solvers.solution import Solution, Status
from simonides.threads import crew

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simonides.arrays import Reals
    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Multipliers, Progress

_FALL = 0.1
"""Factor of the ridge from one centre to the next: fourteen of them take it to rounding."""

_FORCING = (1e-4, 0.1)
"""Newton equations are solved no more exactly than single precision can, and no less than helps."""

_CENTRED = 0.03
"""Slope left, in that of the ridge, at which a point is close enough to its centre to go on."""

_SAFETY = 0.3
"""Share of that slope that a Newton equation may leave, so that one step usually centres."""

_SURE = 0.9
"""Relative gap at which to end: the lower bound is then a tenth of the upper one, far above rounding."""

_LEAST_RIDGE = 1e-14
"""Of the first ridge: below, the bracket is as narrow as rounding lets it be."""


def maximum_margin(
    problem: Problem,
    *,
    gap: float = 1e-3,
    start: Reals | None = None,
    tolerance: float = 1e-9,
    max_steps: int = 400,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Store the facts with the largest normalised margin.

    Parameters
    ----------
    problem : Problem
        The facts.
    gap : float
        Relative gap between the bounds at which to end.
    start, tolerance, max_steps, time_limit, threads, watch
        As in :func:`simonides.decide`.

    Returns
    -------
    Solution
        Its margins are the bracket, and its multipliers prove the upper one. If the facts cannot be stored
        it is that of ``feasibility``.

    Raises
    ------
    BadArgumentError
        For a gap that is not between 0 and 1.

    Examples
    --------
    >>> from simonides import OriginalProblem
    >>> solution = maximum_margin(OriginalProblem.gaussian(20, 12, seed=0))
    >>> solution.margin_upper / solution.margin_lower < 1.01
    True
    """
    checked.problem(problem)
    gap = arguments.fraction("gap", gap, remedy="pass a relative gap such as 1e-3")
    options: Any = {"max_steps": max_steps, "threads": threads, "watch": watch}
    stored = feasibility(
        problem, start=start, tolerance=tolerance, time_limit=time_limit, **options
    )
    over = len(stored.history) > max_steps
    if stored.status is not Status.STORED or stored.cut_short or over:
        return stored
    left = None if time_limit is None else max(time_limit - stored.seconds, 0.0)
    with crew(threads) as each:
        solver = _LargestMargin(HingeProblem(problem, each, exact=True), stored, gap)
        return drive(solver, Limits(max_steps, left), watch, after=stored)


def without_margin(
    problem: Problem,
    stored: Solution,
    tolerance: float,
    *,
    max_steps: int,
    time_limit: float | None,
    threads: int | None,
    watch: Callable[[Progress], None] | None,
) -> Solution:
    """Go on from weights that recall all facts, perhaps by rounding alone, until a bound tells.

    That is multipliers by which no weights have a margin above the tolerance, or else weights with one.
    """
    with crew(threads) as each:
        task, enough = HingeProblem(problem, each, exact=True), HEADROOM * tolerance
        solver = _LargestMargin(task, stored, _SURE, enough)
        return drive(solver, Limits(max_steps, time_limit), watch, after=stored)


@dataclass(frozen=True, eq=False)
class _Centre:
    """A point of the path: the hinge, and the bracket that it and those before it leave."""

    hinge: Hinge
    bracket: _Bracket


@dataclass(frozen=True, eq=False)
class _LargestMargin:
    """The solver, from weights that store all facts; a margin below ``enough`` counts as none."""

    task: HingeProblem
    stored: Solution
    gap: float
    enough: float = 0.0

    def start(self) -> _Centre:
        # From a scale where many pairs are active, with the ridge that holds the weights there.
        hinge = Hinge.at(self.task, scaled(self.task, self.stored.weights))
        while not hinge.residuals.any():
            hinge = Hinge.at(self.task, hinge.weights / 2)
        return _Centre(hinge, _Bracket())

    def states(self, centre: _Centre) -> Generator[_Centre, None, tuple[_Centre, Status]]:
        hinge = centre.hinge
        size = float(np.vdot(hinge.weights, hinge.weights))
        ridge = max(-float(np.vdot(hinge.gradient, hinge.weights)), hinge.objective) / size
        least = _LEAST_RIDGE * ridge
        while ridge > least:
            bracket = centre.bracket.narrowed(hinge)
            centre = _Centre(hinge, bracket)
            yield centre
            if bracket.upper - bracket.lower <= self.gap * bracket.upper:
                break
            if bracket.upper < self.enough:
                break
            if _steepness(hinge, ridge) <= _CENTRED:
                ridge *= _FALL
            forcing = np.clip(_SAFETY * _CENTRED / _steepness(hinge, ridge), *_FORCING)
            moved = newton_step(hinge, float(forcing), ridge)
            if moved is None:
                ridge *= _FALL
            else:
                hinge = moved
        return centre, Status.STORED

    def report(self, centre: _Centre) -> Report:
        hinge, bracket = centre.hinge, centre.bracket
        return Report(hinge.objective, hinge.lost, bracket.lower, bracket.upper)

    def place(self, _centre: _Centre) -> None:
        """Return None: every bracket is as good as those before it."""

    def at(self, _place: object) -> _Centre:
        raise AssertionError("no state is gone back to")

    def finish(self, centre: _Centre, _status: Status) -> Solution:
        bracket = centre.bracket
        if bracket.upper < self.enough:
            proof, upper = bracket.multipliers, bracket.upper
            refuted = replace(self.stored, status=Status.INFEASIBLE)
            return replace(refuted, multipliers=proof, margin_upper=upper)
        if bracket.weights is None:
            return self.stored
        problem = self.task.problem
        recall = problem.recall(problem.images(bracket.weights), self.task.each)
        return replace(
            Solution.of_recall(bracket.weights, Status.STORED, recall),
            multipliers=bracket.multipliers,
            margin_lower=bracket.lower,
            margin_upper=bracket.upper,
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
