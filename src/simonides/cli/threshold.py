"""``simonides threshold``: the capacity, measured."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments
from simonides.cli import options, output
from simonides.cli import problem_options as instance
from simonides.cli.grouped import grouped
from simonides.cli.progress import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.solvers.deciding.threshold import Threshold
    from simonides.theory.setting import Setting

_FEWEST = 2
"""Instances from which there is a standard error, and an interrupted measurement says something."""


@dataclass(frozen=True)
class Ensemble(options.Shape):
    """The problems that instances are drawn from."""

    problem: options.Kind = "original"
    candidates: options.Candidates = None
    rank: options.Rank = None

    def setting(self) -> Setting:
        """Return what theory is asked about them."""
        instance.check_kind(self.problem)
        criteria = options.Criteria(
            self.dim, self.dim_in, self.dim_out, self.candidates, self.rank, problem=self.problem
        )
        return criteria.setting()

    def measure(self, seed: int, guess: float) -> Threshold:
        """Return the threshold of the instance that follows from a seed."""
        from simonides.solvers.deciding.threshold import threshold as measure

        kind, (dim_in, dim_out) = instance.kinds()[self.problem], self.sizes()
        return measure(
            lambda facts: kind.gaussian(
                facts, dim_in, dim_out, candidates=self.candidates, seed=seed
            ),
            max(guess, 1.0),
            rank=self.rank,
            threads=1,
        )


@grouped
def threshold(
    ensemble: Ensemble,
    instances: Annotated[int, typer.Option(help="Instances to measure.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the first instance; others follow.")] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Processes to share the work (default: one per core).")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Measure how many facts can be stored, instance by instance, and compare with theory.

    Example: simonides threshold --dim 20 --problem decoupled --instances 20
    """
    from simonides.theory.capacity import capacity_of

    asked = ensemble.setting()
    instances = arguments.whole("instances", instances, remedy="pass how many to measure")
    seed = arguments.whole("seed", seed, least=0, remedy="pass the first instance's seed")
    if workers is not None:
        workers = arguments.whole("workers", workers, remedy="pass the number of processes")
    theory = capacity_of(asked).facts
    instance.check_memory(round(theory), ensemble.candidates, (asked.dim_in, asked.dim_out))
    found: list[Threshold] = []
    try:
        for one in counted(
            _measured(ensemble, range(seed, seed + instances), theory, workers),
            instances,
            "instances measured",
            quiet=as_json,
        ):
            found.append(one)
    except KeyboardInterrupt:
        if len(found) < _FEWEST:
            raise
    interrupted = len(found) < instances
    record = {**_record(found, theory), "interrupted": interrupted}
    if as_json:
        output.print_json(record)
    else:
        bound = "" if asked.rank is None else f", rank {asked.rank}"
        plural = "" if len(found) == 1 else "s"
        title = (
            f"{len(found)} {ensemble.problem} instance{plural} in a "
            f"{asked.dim_out:,} x {asked.dim_in:,} matrix{bound}"
        )
        notes = []
        if asked.rank is not None:
            notes.append("With a rank bound, a search that fails proves nothing: a lower bound.")
        if len(found) < _FEWEST:
            notes.append("One instance has no standard error: raise --instances for one.")
        if interrupted:
            notes.append(f"Interrupted: these are the first {len(found)} of {instances} instances.")
        output.print_table(title, ["", ""], _rows(record), notes)
    output.end(interrupted=interrupted)


def _measured(
    ensemble: Ensemble, seeds: range, guess: float, workers: int | None
) -> Iterator[Threshold]:
    """Return the thresholds one by one, as processes find them."""
    from joblib import Parallel, cpu_count, delayed

    jobs = (delayed(ensemble.measure)(seed, guess) for seed in seeds)
    pool = Parallel(n_jobs=min(workers or cpu_count(), len(seeds)), return_as="generator")
    with _left_to_us():
        measured: Iterator[Threshold] = pool(jobs)
    return measured


def _record(found: list[Threshold], theory: float) -> dict[str, Any]:
    from math import sqrt
    from statistics import fmean, stdev

    values = [one.facts for one in found]
    return {
        "mean": fmean(values),
        "stderr": stdev(values) / sqrt(len(values)) if len(values) > 1 else None,
        "theory": theory,
        "thresholds": values,
        "open": sum(one.open for one in found),
        "decisions": sum(one.decisions for one in found),
        "seconds": sum(one.seconds for one in found),
    }


def _rows(record: dict[str, Any]) -> list[list[str]]:
    values = record["thresholds"]
    theory = ["theory", f"{record['theory']:.1f}"]
    if len(values) < _FEWEST:
        stored = [["facts stored", f"{values[0]:,}"], theory]
    else:
        stored = [
            ["facts stored, mean", f"{record['mean']:.1f} ± {record['stderr']:.1f}"],
            theory,
            ["least to most", f"{min(values):,} to {max(values):,}"],
        ]
    return [
        *stored,
        ["numbers tried", f"{record['decisions']:,}"],
        ["left open", f"{record['open']:,}"],
        ["seconds, all instances together", f"{record['seconds']:.1f}"],
    ]


@contextmanager
def _left_to_us() -> Iterator[None]:
    """Start processes that ignore the keyboard's interrupt: this one hears it, and ends them."""
    heard = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard)
