r"""Storing in a product of two factors, by Levenberg-Marquardt on the squared hinge.

:math:`W = U V^T` with :math:`U` of shape (dim_out, rank) and :math:`V` of shape (dim_in, rank): two layers,
or a low-rank update. The problem is not convex, so a search that fails proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.problems import checked
from simonides.solvers.driver import Limits, Report, drive
from simonides.solvers.factors import cut, truncated
from simonides.solvers.hinge.conjugate_gradients import conjugate_gradients
from simonides.solvers.hinge.curvature import Curvature
from simonides.solvers.hinge.hinge import Hinge, HingeProblem
from simonides.solvers.hinge.initial_weights import scaled
from simonides.solvers.solution import Solution, Status
from simonides.threads import crew

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from simonides.arrays import Reals
    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Progress

_LONGEST_CG = 200
"""Iterations for a direction: half of those of ``feasibility``, as its equations are damped."""

_FORCING = 0.1
"""Directions are wanted roughly: the damping changes at every step."""

_FIRST_DAMPING = 1e-2
"""In units of the mean curvature; it adapts within a few steps from anywhere near."""

_LEAST_DAMPING, _MOST_DAMPING = 1e-8, 1e6
"""Less is lost in single precision; with more a step moves nothing, and the search has ended."""

_MOSTLY_RECALLED = 0.4
"""Share of facts recalled from which on a smaller margin is asked for, as in ``feasibility``."""

_MOST_DOUBLINGS = 10
"""A thousandfold scale in all: beyond it hardly a pair is active."""

_STALLED = 1e-5
"""Relative gain of a step that counts as none."""

_PATIENCE = 20
"""Steps without gain in a row after which the search has ended."""


def low_rank(
    problem: Problem,
    rank: int | None = None,
    *,
    start: Reals | None = None,
    max_steps: int = 500,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Search for two factors whose product stores all facts.

    Ending without success is ``converged`` where no step improves any more, ``stopped`` at a limit or
    when interrupted; neither says that the facts cannot be stored.

    Parameters
    ----------
    problem : Problem
        The facts.
    rank : int, optional
        Inner dimension of the factors. Default: the largest a matrix of this shape has.
    start : array (dim_out, dim_in), optional
        Weights whose truncated singular value decomposition to start from. Default: the Hebbian ones.
    max_steps, time_limit, threads, watch
        As in :func:`simonides.decide`.

    Returns
    -------
    Solution
        The weights, and their ``factors`` (dim_out, rank) and (dim_in, rank).

    Raises
    ------
    BadArgumentError
        For a rank that no matrix of this shape has.

    Examples
    --------
    >>> from simonides import OriginalProblem
    >>> solution = low_rank(OriginalProblem.gaussian(20, 12, seed=0), rank=6)
    >>> solution.recalled, solution.factors[0].shape
    (20, (12, 6))
    """
    checked.problem(problem)
    rank = checked.rank(min(problem.dim_in, problem.dim_out) if rank is None else rank, problem)
    limits = Limits(max_steps, time_limit)
    start = None if start is None else checked.weights("start", start, problem)
    with crew(threads) as each:
        return drive(_Search(HingeProblem(problem, each), rank, start), limits, watch)


@dataclass(frozen=True, eq=False)
class _Factors:
    """Both factors stacked, (dim_out + dim_in) x rank, and the hinge at their product."""

    stacked: Reals
    hinge: Hinge

    @classmethod
    def at(cls, task: HingeProblem, stacked: Reals) -> _Factors:
        return cls(stacked, Hinge.at(task, _product(stacked, task.problem.dim_out)))

    def moved(self, step: Reals) -> _Factors | None:
        """Return the factors after a step, or None if it was far too long."""
        stacked = self.stacked + step
        hinge = self.hinge.try_at(_product(stacked, self.hinge.task.problem.dim_out))
        return None if hinge is None else _Factors(stacked, hinge)

    @property
    def pair(self) -> tuple[Reals, Reals]:
        left, right = np.split(self.stacked, [self.hinge.task.problem.dim_out])
        return left, right

    def gradient(self) -> Reals:
        left, right = self.pair
        return np.vstack((self.hinge.gradient @ right, self.hinge.gradient.T @ left))

    def direction(self, damping: float) -> tuple[Reals, float]:
        """Return the damped Gauss-Newton direction, and by how much it should lower the objective."""
        precision: Any = np.float32 if self.hinge.moderate else np.float64
        left, right = (factor.astype(precision) for factor in self.pair)
        curvature = Curvature(self.hinge, precision)
        # The mean curvature along a coordinate of the factors sets the damping's unit: that of an
        # entry of the product, times the square of the row of the other factor that it meets.
        along = len(left) * np.vdot(right, right) + len(right) * np.vdot(left, left)
        unit = curvature.trace / self.hinge.weights.size * float(along) / self.stacked.size
        ridge = precision(damping * unit)

        def operator(step: Reals) -> Reals:
            along_left, along_right = np.split(step, [len(left)])
            bent = curvature(along_left @ right.T + left @ along_right.T)
            return np.asarray(np.vstack((bent @ right, bent.T @ left)) + ridge * step)

        downhill = -self.gradient()
        size = float(np.linalg.norm(downhill))
        step, _ = conjugate_gradients(
            operator,
            (downhill / size).astype(precision),
            forcing=_FORCING,
            longest=_LONGEST_CG,
        )
        curved = float(np.vdot(step, operator(step) - ridge * step)) * size**2
        step = step.astype(np.float64) * size
        return step, float(np.vdot(downhill, step)) - curved / 2


def _product(stacked: Reals, dim_out: int) -> Reals:
    left, right = np.split(stacked, [dim_out])
    return np.asarray(left @ right.T)


@dataclass(frozen=True, eq=False)
class _Search:
    """The solver."""

    task: HingeProblem
    rank: int
    begin: Reals | None

    def start(self) -> _Factors:
        begin = cut(scaled(self.task, self.begin), self.rank)
        left, right = truncated(scaled(self.task, begin), self.rank)
        return _Factors.at(self.task, np.vstack((left, right)))

    def states(self, point: _Factors) -> Generator[_Factors, None, tuple[_Factors, Status]]:
        facts = self.task.problem.facts
        impossible = self.task.problem.impossible_pair() is not None
        damping, doublings, idle = _FIRST_DAMPING, 0, 0
        while True:
            yield point
            if point.hinge.lost == 0:
                return point, Status.STORED
            stalled = idle > _PATIENCE or damping > _MOST_DAMPING
            if stalled or impossible or not point.gradient().any():
                return point, Status.CONVERGED
            recalled = point.hinge.scan.recalled
            if recalled > _MOSTLY_RECALLED * facts and doublings < _MOST_DOUBLINGS:
                point = _Factors.at(self.task, np.sqrt(2) * point.stacked)
                doublings += 1
                if not point.gradient().any():
                    continue
            direction, expected = point.direction(damping)
            trial = point.moved(direction)
            gained = -np.inf if trial is None else point.hinge.objective - trial.hinge.objective
            if trial is not None and gained > 0:
                idle = idle + 1 if gained < _STALLED * point.hinge.objective else 0
                damping = max(damping * (0.3 if gained > 0.5 * expected else 1.0), _LEAST_DAMPING)
                point = trial
            else:
                idle += 1
                damping *= 4

    def report(self, point: _Factors) -> Report:
        return Report(point.hinge.objective, point.hinge.lost)

    def place(self, point: _Factors) -> Reals:
        return point.stacked

    def at(self, place: Reals) -> _Factors:
        return _Factors.at(self.task, place)

    def finish(self, point: _Factors, status: Status) -> Solution:
        if point.hinge.lost == 0:  # also at a limit
            status = Status.STORED
        solution = Solution.of_recall(point.hinge.weights, status, point.hinge.recall())
        return replace(solution, factors=point.pair)
