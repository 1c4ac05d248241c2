r"""Deciding by semismooth Newton on the squared hinge.

The function :math:`f(W) = \frac12 \sum (1 - \langle W, (y_i - y_j) x_i^T\rangle)_+^2` has the minimum zero
if and only if the facts can be stored. Its second derivative lives on the active pairs alone, a few
per fact, so a Newton step by conjugate gradients costs little more than two thin matrix products a
time. Two ways out:

* a step at which every target beats every rival: stored;
* a gradient that has become small against the residuals :math:`r_{ij}`: since
  :math:`\nabla f = -\sum r_{ij} (y_i - y_j) x_i^T`, the residuals are multipliers that bound the normalised
  margin of *any* weights by :math:`|\nabla f|_F / \sum r_{ij} |y_i - y_j| |x_i|`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import special
from scipy.optimize import brentq
from threadpoolctl import threadpool_limits

from simonides import arguments
from simonides.problems import checked
from simonides.solvers import kernels
from simonides.solvers.solution import Multipliers, Progress, Solution, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals
    from simonides.problems.decoupled import DecoupledProblem
    from simonides.problems.original import OriginalProblem
    from simonides.problems.scan import Scan

_LONGEST_CG = 400
_FORCING = (0.01, 0.1)
_DAMPING = 1e-11
_SUFFICIENT_DECREASE = 1e-4
_SHORTEST_STEP = 1e-6
_RESOLUTION = 1e-12
_START_PAIRS = 2.0
_START_DEVIATIONS = 0.5
_LEAST_DEVIATION = 1e-6


def feasibility(
    problem: OriginalProblem | DecoupledProblem,
    *,
    start: Reals | None = None,
    tolerance: float = 1e-9,
    max_steps: int = 200,
    watch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Find weights that store all facts, or multipliers that prove there are none.

    ``tolerance`` is the normalised margin that counts as none. ``start`` warm-starts from given weights;
    ``watch`` is called after every step. Interrupted, it returns the best so far.
    """
    tolerance = arguments.real(
        "tolerance", tolerance, least=0, open_least=True, remedy="pass a small margin such as 1e-9"
    )
    max_steps = arguments.whole("max_steps", max_steps, least=0, remedy="pass a step limit")
    if start is not None:
        start = checked.matrix("start", start, columns=problem.dim_in)
        if len(start) != problem.dim_out:
            raise arguments.refuse(
                "start.shape", start.shape, f"with {problem.dim_out} rows", "dim_out x dim_in"
            )
    # Thin products gain nothing from threads and lose much when other work shares the cores.
    with threadpool_limits(1, user_api="blas"):
        return _solve(problem, start, tolerance, max_steps, watch)


def _solve(
    problem: OriginalProblem | DecoupledProblem,
    start: Reals | None,
    tolerance: float,
    max_steps: int,
    watch: Callable[[Progress], None] | None,
) -> Solution:
    began = time.perf_counter()
    # Neither storability nor the normalised margin depends on the inputs' lengths; speed does.
    lengths = np.linalg.norm(problem.inputs, axis=1, keepdims=True)
    inputs = problem.inputs / np.where(lengths > 0, lengths, 1.0)
    point = _Point.at(problem, inputs, _scaled_hebbian(problem, inputs) if start is None else start)
    impossible = problem.impossible_pair()
    if impossible is not None:
        return _refused(problem, point, impossible, time.perf_counter() - began)
    history: list[Progress] = []
    status, forcing, previous = Status.STOPPED, _FORCING[1], np.inf
    try:
        for step in range(max_steps + 1):
            size = float(np.linalg.norm(point.gradient))
            upper = size / max(float(point.residuals @ point.spans), np.finfo(float).tiny)
            seconds = time.perf_counter() - began
            lost = problem.facts - point.scan.recalled
            history.append(Progress(step, point.objective, lost, seconds, margin_upper=upper))
            if watch is not None:
                watch(history[-1])
            if lost == 0:
                status = Status.STORED
                break
            if upper < tolerance:
                status = Status.INFEASIBLE
                break
            if step == max_steps:
                break
            forcing = float(np.clip(0.5 * (size / previous) ** 1.5, *_FORCING))
            previous = size
            moved = point.moved(point.newton_direction(forcing))
            if moved is None:
                break
            point = moved
    except KeyboardInterrupt:
        status = Status.STOPPED
    final = problem.scan(problem.inputs @ point.weights.T, 0.0)
    return Solution(
        weights=point.weights,
        status=status,
        recalled=final.recalled,
        smallest_gap=final.smallest_gap,
        steps=max(len(history) - 1, 0),
        seconds=time.perf_counter() - began,
        history=tuple(history),
        multipliers=point.multipliers() if status is Status.INFEASIBLE else None,
    )


def _refused(
    problem: OriginalProblem | DecoupledProblem,
    point: _Point,
    pair: tuple[int, int],
    seconds: float,
) -> Solution:
    """Return the solution of a problem with a constraint that is zero: one multiplier proves it."""
    scan = problem.scan(problem.inputs @ point.weights.T, 0.0)
    fact, rival = (np.array([number]) for number in pair)
    return Solution(
        weights=point.weights,
        status=Status.INFEASIBLE,
        recalled=scan.recalled,
        smallest_gap=scan.smallest_gap,
        steps=0,
        seconds=seconds,
        multipliers=Multipliers(fact, rival, np.ones(1)),
    )


@dataclass(frozen=True)
class _Point:
    """Weights, the pairs that are active there, and their residuals."""

    problem: OriginalProblem | DecoupledProblem
    inputs: Reals
    weights: Reals
    images: Reals
    scan: Scan
    residuals: Reals
    gradient: Reals

    @classmethod
    def at(
        cls,
        problem: OriginalProblem | DecoupledProblem,
        inputs: Reals,
        weights: Reals,
        images: Reals | None = None,
    ) -> _Point:
        if images is None:
            images = inputs @ weights.T
        scan = problem.scan(images, 1.0)
        pairs = scan.pairs
        gaps = np.empty(len(pairs))
        kernels.pair_gaps(
            images, problem.target_outputs, pairs.table, pairs.pointer, pairs.index, gaps
        )
        residuals = np.maximum(1.0 - gaps, 0.0)
        pulled = np.empty_like(images)
        kernels.pull(
            residuals, problem.target_outputs, pairs.table, pairs.pointer, pairs.index, pulled
        )
        return cls(problem, inputs, weights, images, scan, residuals, -(pulled.T @ inputs))

    @property
    def objective(self) -> float:
        return float(self.residuals @ self.residuals) / 2

    @cached_property
    def spans(self) -> Reals:
        """Length of each pair's constraint; zero for a zero input."""
        pairs = self.scan.pairs
        differences = self.problem.target_outputs[pairs.facts] - pairs.table[pairs.index]
        lengths = np.linalg.norm(self.inputs, axis=1)[pairs.facts]
        return np.asarray(lengths * np.linalg.norm(differences, axis=1))

    def newton_direction(self, forcing: float) -> Reals:
        """Solve the Newton equation by conjugate gradients, to the given relative residual."""
        inputs, targets, pairs = self.inputs, self.problem.target_outputs, self.scan.pairs
        damping = _DAMPING * float(self.spans @ self.spans) / self.weights.size
        pulled = np.empty_like(self.images)
        direction = np.zeros_like(self.weights)
        left = -self.gradient
        search = left.copy()
        size = first = float(np.vdot(left, left))
        for _ in range(_LONGEST_CG):
            kernels.curve(
                inputs @ search.T, targets, pairs.table, pairs.pointer, pairs.index, pulled
            )
            bent = pulled.T @ inputs + damping * search
            stride = size / float(np.vdot(search, bent))
            direction += stride * search
            left -= stride * bent
            shrunk = float(np.vdot(left, left))
            if shrunk <= forcing**2 * first:
                break
            search = left + (shrunk / size) * search
            size = shrunk
        return direction

    def moved(self, direction: Reals) -> _Point | None:
        """Return the point along a descent direction, or None if no step descends."""
        slope = float(np.vdot(self.gradient, direction))
        along = self.inputs @ direction.T
        step = 1.0
        while step >= _SHORTEST_STEP:
            weights, images = self.weights + step * direction, self.images + step * along
            point = _Point.at(self.problem, self.inputs, weights, images)
            if point.objective <= self.objective + _SUFFICIENT_DECREASE * step * slope:
                return point
            # Close to the minimum the objective no longer resolves the descent; its gradient does.
            if point.objective <= self.objective * (1 + _RESOLUTION) and np.linalg.norm(
                point.gradient
            ) < np.linalg.norm(self.gradient):
                return point
            step /= 2
        return None

    def multipliers(self) -> Multipliers:
        """Return the residuals as multipliers of the constraints of the problem as it was given."""
        pairs = self.scan.pairs
        kept = self.residuals > 0
        facts = pairs.facts[kept]
        lengths = np.linalg.norm(self.problem.inputs, axis=1)[facts]
        values = self.residuals[kept] / np.where(lengths > 0, lengths, 1.0)
        return Multipliers(facts, pairs.rivals[kept], values)


def _scaled_hebbian(problem: OriginalProblem | DecoupledProblem, inputs: Reals) -> Reals:
    """Return the Hebbian weights at a scale where a few pairs per parameter are active.

    At unit target scores half of all pairs would be, which is slow and does not fit in memory. How
    many are is estimated by taking each fact's off-target scores as Gaussian.
    """
    targets = problem.target_outputs
    weights = targets.T @ inputs / problem.facts
    images = inputs @ weights.T
    scores = np.einsum("ij,ij->i", images, targets)
    deviations = np.linalg.norm(images, axis=1) * np.sqrt(np.mean(targets**2))
    typical = float(np.median(deviations))
    if typical == 0:
        return np.asarray(weights)
    deviations = np.maximum(deviations, _LEAST_DEVIATION * typical)
    wanted = _START_PAIRS * weights.size / problem.facts

    def surplus(reach: float) -> float:
        lead = (scores - reach) / deviations
        return (problem.candidates - 1) * float(np.mean(special.ndtr(-lead))) - wanted

    low, high = _START_DEVIATIONS * typical, 40 * typical
    if surplus(low) >= 0:
        return np.asarray(weights / low)
    if surplus(high) <= 0:
        return np.asarray(weights / high)
    return np.asarray(weights / brentq(surplus, low, high, rtol=1e-3))
