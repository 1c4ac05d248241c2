"""Measuring a task: a pure function of it, but for the seconds."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from threadpoolctl import threadpool_limits

from simonides.arrays import Integers, Reals
from simonides.experiments.expand import predicted
from simonides.experiments.score_laws import score_laws
from simonides.experiments.task import THRESHOLD, Task
from simonides.problems.problem import Problem
from simonides.solvers.deciding.threshold import threshold
from simonides.solvers.methods import named


@dataclass(frozen=True, eq=False)
class Measurement:
    """What was measured; None where a solver does not tell.

    ``outcome`` is how the solver ended, or the verdict of one that decides. ``loss`` is the mean
    cross-entropy. The margins bracket the largest normalised margin. Scores are in units of the
    weights' norm (:mod:`simonides.experiments.score_laws`); ``singular_values`` are scaled to a mean square
    of one.
    ``threshold``, ``left_open`` and ``decisions`` are those of :mod:`simonides.solvers.deciding.threshold`.
    """

    solver_seconds: float
    outcome: str | None = None
    recalled: int | None = None
    accuracy: float | None = None
    loss: float | None = None
    steps: int | None = None
    margin_lower: float | None = None
    margin_upper: float | None = None
    norm: float | None = None
    target_mean: float | None = None
    target_std: float | None = None
    best_rival_mean: float | None = None
    best_rival_std: float | None = None
    rival_mean: float | None = None
    rival_std: float | None = None
    threshold: int | None = None
    left_open: int | None = None
    decisions: int | None = None
    singular_values: Reals | None = None
    target_counts: Integers | None = None
    best_rival_counts: Integers | None = None
    rival_counts: Integers | None = None


def measure(task: Task) -> Measurement:
    """Measure a task, on one thread.

    >>> measure(Task("original", 20, 8, 1.0, "hebbian", (), instance=0, seed=1)).accuracy
    1.0
    """
    # More threads would sum in another order and change the last bits.
    with threadpool_limits(1):
        return _threshold(task) if task.facts is None else _solve(task, task.facts)


_last: dict[tuple[object, ...], Problem] = {}
"""The instance drawn last, with the most facts that were needed."""


def drawn(task: Task, facts: int) -> Problem:
    """Return the first facts of a task's instance: the same numbers, whatever was drawn before.

    An instance is drawn once for all its tasks that a process measures in a row: drawing the outputs of a
    decoupled one can take as long as training on them.
    """
    name = task.problem, task.dim, task.problem_seed, task.candidates, task.ensemble
    whole = _last.get(name)
    if whole is None or whole.facts < facts:
        whole = task.draw(facts)
        # A cluster's worker may have threads, each with an instance of its own: none is read back.
        _last.clear()
        _last[name] = whole
    return whole if whole.facts == facts else whole.prefix(facts)


@cache
def warm_up(problem: str, solver: str, bounded: bool) -> None:
    """Measure a tiny task of this kind, once in a process.

    What it loads and compiles is then not counted as the time of the first real one. A method of the user's
    is not called with problems that nobody posed.
    """
    if ":" in solver:
        return
    facts = None if solver == THRESHOLD else 6
    stops = facts is not None and "max_steps" in named(solver).options
    options = (("max_steps", 3),) if stops else ()
    measure(Task(problem, 4, facts, 0.5 if bounded else 1.0, solver, options, 0, 0))


def _threshold(task: Task) -> Measurement:
    guess = max(1.0, predicted(task.problem, task.dim, task.rank, task.candidates))
    largest = threshold(partial(drawn, task), guess, rank=task.rank, threads=1)
    return Measurement(
        solver_seconds=largest.seconds,
        threshold=largest.facts,
        left_open=largest.open,
        decisions=largest.decisions,
    )


def _solve(task: Task, facts: int) -> Measurement:
    problem = drawn(task, facts)
    method = named(task.solver)
    began = time.perf_counter()
    solution = method.solve(
        problem, rank=task.rank, seed=task.solver_seed, threads=1, **dict(task.options)
    )
    seconds = time.perf_counter() - began
    weights = solution.weights
    laws = score_laws(problem, weights)
    values = np.linalg.svd(weights, compute_uv=False)
    return Measurement(
        solver_seconds=seconds,
        outcome=str(solution.verdict or solution.status),
        recalled=solution.recalled,
        accuracy=solution.recalled / facts,
        loss=solution.loss if method.trains else None,
        steps=solution.steps,
        margin_lower=solution.margin_lower if method.proves else None,
        margin_upper=solution.margin_upper if method.proves else None,
        norm=float(np.linalg.norm(weights)),
        singular_values=values / np.sqrt(np.mean(values**2)),
        **{
            f"{whose}_{number}": value
            for whose, scores in vars(laws).items()
            for number, value in vars(scores).items()
        },
    )
