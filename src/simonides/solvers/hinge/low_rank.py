r"""Storing in a product of two factors, by Levenberg-Marquardt on the squared hinge.

:math:`W = U V^T` with :math:`U` of shape (dim_out, rank) and :math:`V` of shape (dim_in, rank): two layers,
or a low-rank update. The problem is not convex, so a search that fails proves nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg

from simonides import arguments
from simonides.interrupts import Keyboard, completed
from simonides.problems import checked
from simonides.solvers.hinge.conjugate_gradients import conjugate_gradients
from simonides.solvers.hinge.curvature import Curvature
from simonides.solvers.hinge.hinge import Hinge, Task
from simonides.solvers.hinge.initial_weights import scaled
from simonides.solvers.solution import Progress, Solution, Status
from simonides.threads import crew

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals
    from simonides.problems.problem import Problem

_LONGEST_CG = 200
_FORCING = 0.1
_FIRST_DAMPING = 1e-2
_LEAST_DAMPING, _MOST_DAMPING = 1e-8, 1e6
_MOSTLY_RECALLED = 0.4
_MOST_DOUBLINGS = 10
_STALLED = 1e-5
_PATIENCE = 20


def low_rank(
    problem: Problem,
    rank: int,
    *,
    start: Reals | None = None,
    max_steps: int = 500,
    threads: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Search for weights of a given rank that store all facts.

    It starts from the truncated singular value decomposition of ``start``, or of the Hebbian weights.
    Ending without success is ``converged`` where no step improves any more, ``stopped`` at the step
    limit or when interrupted; neither says that the facts cannot be stored.
    """
    rank = checked.rank(rank, problem)
    max_steps = arguments.whole("max_steps", max_steps, least=0, remedy="pass a step limit")
    start = None if start is None else checked.weights("start", start, problem)
    with crew(threads) as each:
        return _search(Task(problem, each), rank, start, max_steps, watch)


@dataclass(frozen=True, eq=False)
class _Factors:
    """Both factors stacked, (dim_out + dim_in) x rank, and the hinge at their product."""

    stacked: Reals
    hinge: Hinge

    @classmethod
    def at(cls, task: Task, stacked: Reals) -> _Factors:
        return cls(stacked, Hinge.at(task, _product(stacked, task.problem.dim_out)))

    @classmethod
    def start(cls, task: Task, rank: int, weights: Reals | None) -> _Factors:
        left, values, right = linalg.svd(scaled(task, weights), full_matrices=False)
        cut = (left[:, :rank] * values[:rank]) @ right[:rank]
        left, values, right = linalg.svd(scaled(task, cut), full_matrices=False)
        root = np.sqrt(values[:rank])
        return cls.at(task, np.vstack((left[:, :rank] * root, right[:rank].T * root)))

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


def _search(
    task: Task,
    rank: int,
    start: Reals | None,
    max_steps: int,
    watch: Callable[[Progress], None] | None,
) -> Solution:
    began = time.perf_counter()
    history: list[Progress] = []
    point, early = completed(lambda: _Factors.start(task, rank, start))
    impossible = task.problem.impossible_pair() is not None
    status, damping, doublings, idle = Status.STOPPED, _FIRST_DAMPING, 0, 0
    with Keyboard() as keyboard:
        for step in range(0 if early else max_steps + 1):
            hinge = point.hinge
            seconds = time.perf_counter() - began
            history.append(Progress(step, hinge.objective, hinge.lost, seconds))
            if watch is not None:
                watch(history[-1])
            if hinge.lost == 0:
                status = Status.STORED
                break
            stalled = idle > _PATIENCE or damping > _MOST_DAMPING
            if stalled or impossible or not point.gradient().any():
                status = Status.CONVERGED
                break
            if step == max_steps:
                break
            if hinge.scan.recalled > _MOSTLY_RECALLED * task.problem.facts and (
                doublings < _MOST_DOUBLINGS
            ):
                point = _Factors.at(task, np.sqrt(2) * point.stacked)
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
    if keyboard.interrupted:
        status = Status.STOPPED
    recall, late = completed(point.hinge.recall)
    return Solution(
        weights=point.hinge.weights,
        status=status,
        recalled=recall.recalled,
        smallest_gap=recall.smallest_gap,
        steps=max(len(history) - 1, 0),
        seconds=time.perf_counter() - began,
        history=tuple(history),
        factors=point.pair,
        interrupted=early or keyboard.interrupted or late,
    )
