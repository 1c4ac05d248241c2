"""How many facts fit, measured: the thresholds of many instances, shared among processes."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple, NoReturn, cast

import numpy as np
from joblib import cpu_count

from simonides import arguments
from simonides.estimate import Estimate
from simonides.experiments.local import TRIES, OutOfTimeError, pooled
from simonides.problems.ensembles import Ensemble, check_memory, ensemble
from simonides.solvers.deciding.threshold import Threshold, threshold
from simonides.theory.capacity import capacity_of
from simonides.theory.setting import ProblemKind, Setting


@dataclass(frozen=True)
class Thresholds:
    """Measured thresholds, in the order of their seeds.

    Attributes
    ----------
    measured : tuple of Threshold
        One for each instance.
    theory : float
        Predicted facts, for Gaussian vectors and equally frequent targets.
    timed_out : bool
        Whether a time limit ended the measurement: these are then the first instances.
    """

    measured: tuple[Threshold, ...]
    theory: float
    timed_out: bool = False

    @cached_property
    def facts(self) -> tuple[int, ...]:
        """Facts that fit, one number for each instance."""
        return tuple(instance.facts for instance in self.measured)

    @property
    def mean(self) -> Estimate:
        """Their mean; of a single instance the error is infinite, of none the mean is not a number."""
        if not self.facts:
            return Estimate(math.nan, math.inf)
        return Estimate.of_mean(np.array(self.facts, dtype=np.float64))


def measure_thresholds(
    dim_in: int,
    dim_out: int | None = None,
    *,
    candidates: int | None = None,
    rank: int | None = None,
    problem: str = "original",
    ensemble: str | Ensemble = "gaussian",
    instances: int = 20,
    seed: int = 0,
    workers: int | None = None,
    time_limit: float | None = None,
    watch: Callable[[Thresholds], None] | None = None,
) -> Thresholds:
    """Measure how many facts can be stored, instance by instance.

    An instance follows from its seed: who measures it, and beside which others, changes nothing.

    Parameters
    ----------
    dim_in, dim_out, candidates, rank, problem
        As in :func:`simonides.capacity`. With a rank a search that fails proves nothing, and thresholds are
        lower bounds.
    ensemble : str or Ensemble
        What instances are drawn from (:func:`simonides.problems.ensembles.ensemble`).
    instances : int
        How many to measure.
    seed : int
        Seed of the first instance; those of the others follow.
    workers : int, optional
        Processes to share the work. Default: one per core.
    time_limit : float, optional
        Seconds after which the first instances, as many as are measured by then, are the answer.
    watch : callable, optional
        Called with what has been measured, after each instance.

    Returns
    -------
    Thresholds

    Raises
    ------
    BadArgumentError
        For sizes that are none, and for ensembles that do not go with the problem.
    ChildProcessError
        If an instance's process was killed again and again, as when there is no memory left.
    KeyboardInterrupt
        If interrupted; ``watch`` has then been told what was measured.

    Examples
    --------
    >>> measure_thresholds(6, instances=3, workers=1).facts
    (15, 17, 16)
    """
    law = _ensemble(ensemble)
    law.check(problem, candidates)
    setting = Setting(
        dim_in,
        dim_in if dim_out is None else dim_out,
        candidates,
        rank,
        problem=cast("ProblemKind", problem),
    )
    instances = arguments.whole("instances", instances, remedy="pass how many to measure")
    seed = arguments.whole("seed", seed, least=0, remedy="pass the first instance's seed")
    processes = cpu_count() if workers is None else workers
    processes = arguments.whole("workers", processes, remedy="pass the number of processes")
    deadline = arguments.deadline(time_limit)
    theory = capacity_of(setting).facts
    check_memory(round(theory), candidates, (setting.dim_in, setting.dim_out))
    jobs = [_Job(law, setting, number, theory) for number in range(seed, seed + instances)]
    results: Generator[list[tuple[int, Threshold]]] = (
        ([_threshold(job)] for job in jobs)
        if processes == 1 and time_limit is None
        else pooled(_threshold, jobs, processes, _lost, deadline=deadline)
    )
    # Kept in the order of their seeds: those that are measured first are not a fair sample.
    early: dict[int, Threshold] = {}
    thresholds = Thresholds((), theory)
    with closing(results):
        try:
            for batch in results:
                early.update(batch)
                while (number := seed + len(thresholds.measured)) in early:
                    thresholds = Thresholds((*thresholds.measured, early.pop(number)), theory)
                    if watch is not None:
                        watch(thresholds)
        except OutOfTimeError:
            return replace(thresholds, timed_out=True)
    return thresholds


_ensemble = ensemble  # also the name of an argument


class _Job(NamedTuple):
    law: Ensemble
    setting: Setting
    seed: int
    theory: float


def _threshold(job: _Job) -> tuple[int, Threshold]:
    setting = job.setting
    draw = partial(
        job.law.draw,
        dim_in=setting.dim_in,
        dim_out=setting.dim_out,
        candidates=setting.candidates,
        problem=setting.problem,
        seed=job.seed,
    )
    return job.seed, threshold(draw, max(job.theory, 1.0), rank=setting.rank, threads=1)


def _lost(job: _Job, _seconds: float, reason: str) -> NoReturn:
    raise ChildProcessError(f"the instance of seed {job.seed}: {TRIES} times {reason}")
