"""How many facts fit, measured: the thresholds of many instances, shared among processes."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

import numpy as np
from joblib import Parallel, cpu_count, delayed

from simonides import arguments
from simonides.estimate import Estimate
from simonides.problems.ensembles import Ensemble, check_memory, ensemble
from simonides.solvers.deciding.threshold import Threshold, threshold
from simonides.theory.capacity import capacity_of
from simonides.theory.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simonides.theory.setting import ProblemKind


@dataclass(frozen=True)
class Thresholds:
    """Measured thresholds, in the order of their seeds.

    Attributes
    ----------
    measured : tuple of Threshold
        One for each instance.
    theory : float
        Predicted facts, for Gaussian vectors and equally frequent targets.
    """

    measured: tuple[Threshold, ...]
    theory: float

    @cached_property
    def facts(self) -> tuple[int, ...]:
        """Facts that fit, one number for each instance."""
        return tuple(instance.facts for instance in self.measured)

    @property
    def mean(self) -> Estimate:
        """Their mean; of a single instance the error is infinite."""
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
    watch: Callable[[Thresholds], None] | None = None,
) -> Thresholds:
    """Measure how many facts can be stored, instance by instance.

    An instance follows from its seed: who measures it, and beside which others, changes nothing.

    Parameters
    ----------
    dim_in, dim_out : int
        Dimensions of inputs and outputs; ``dim_out`` is ``dim_in`` if left out.
    candidates : int, optional
        Outputs that compete for each input. Default: as many as facts.
    rank : int, optional
        Rank bound. A search that fails then proves nothing, and thresholds are lower bounds.
    problem : {"original", "decoupled"}
        Whether all inputs share the outputs, or each has its own.
    ensemble : str or Ensemble
        What instances are drawn from (:func:`simonides.problems.ensembles.ensemble`).
    instances : int
        How many to measure.
    seed : int
        Seed of the first instance; those of the others follow.
    workers : int, optional
        Processes to share the work. Default: one per core.
    watch : callable, optional
        Called with what has been measured, after each instance.

    Returns
    -------
    Thresholds

    Raises
    ------
    BadArgumentError
        For sizes that are none, and for ensembles that do not go with the problem.
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
    theory = capacity_of(setting).facts
    check_memory(round(theory), candidates, (setting.dim_in, setting.dim_out))
    jobs = (
        delayed(_threshold)(law, setting, number, theory)
        for number in range(seed, seed + instances)
    )
    pool = Parallel(n_jobs=min(processes, instances), return_as="generator")
    measured: list[Threshold] = []
    with _deaf():
        results: Iterator[Threshold] = pool(jobs)
    for result in results:
        measured.append(result)
        if watch is not None:
            watch(Thresholds(tuple(measured), theory))
    return Thresholds(tuple(measured), theory)


_ensemble = ensemble  # also the name of an argument


def _threshold(law: Ensemble, setting: Setting, seed: int, theory: float) -> Threshold:
    draw = partial(
        law.draw,
        dim_in=setting.dim_in,
        dim_out=setting.dim_out,
        candidates=setting.candidates,
        problem=setting.problem,
        seed=seed,
    )
    return threshold(draw, max(theory, 1.0), rank=setting.rank, threads=1)


@contextmanager
def _deaf() -> Iterator[None]:
    """Start processes that ignore the keyboard's interrupt: this one hears it, and ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears it, and may say who does
        return
    heard = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard)
