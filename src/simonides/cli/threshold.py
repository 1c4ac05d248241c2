"""``simonides threshold``: the capacity, measured."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from simonides.cli import instance, options, output
from simonides.cli.progress import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.solvers.threshold import Threshold

_FEWEST = 2
"""Instances from which there is a standard error, and an interrupted measurement says something."""


def threshold(
    dim: options.Dim = None,
    dim_in: options.DimIn = None,
    dim_out: options.DimOut = None,
    problem: instance.Kind = "original",
    candidates: options.Candidates = None,
    rank: options.Rank = None,
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
    from math import sqrt
    from statistics import fmean, stdev

    from joblib import Parallel, cpu_count, delayed

    from simonides import arguments
    from simonides.theory.capacity import capacity_of

    outputs = "decoupled" if problem == "decoupled" else "shared"
    asked = options.setting(dim, dim_in, dim_out, candidates, rank, 0.0, None, outputs)
    instance.check_kind(problem)
    instances = arguments.whole("instances", instances, remedy="pass how many to measure")
    seed = arguments.whole("seed", seed, least=0, remedy="pass the first instance's seed")
    if workers is not None:
        workers = arguments.whole("workers", workers, remedy="pass the number of processes")
    theory = capacity_of(asked).facts
    instance.check_memory(round(theory), candidates, (asked.dim_in, asked.dim_out))
    shape = (asked.dim_in, asked.dim_out, candidates)
    jobs = (
        delayed(_measure)(problem, shape, rank, theory, seed + number)
        for number in range(instances)
    )
    pool = Parallel(n_jobs=min(workers or cpu_count(), instances), return_as="generator")
    with _left_to_us():
        measured = pool(jobs)
    found: list[Threshold] = []
    try:
        for one in counted(measured, instances, "instances measured", quiet=as_json):
            found.append(one)
    except KeyboardInterrupt:
        if len(found) < _FEWEST:
            raise
    interrupted = len(found) < instances
    values = [one.facts for one in found]
    record = {
        "mean": fmean(values),
        "stderr": stdev(values) / sqrt(len(values)) if len(values) > 1 else None,
        "theory": theory,
        "thresholds": values,
        "open": sum(one.open for one in found),
        "decisions": sum(one.decisions for one in found),
        "seconds": sum(one.seconds for one in found),
        "interrupted": interrupted,
    }
    if as_json:
        output.print_json(record)
        output.end(interrupted=interrupted)
        return
    error = "" if record["stderr"] is None else f" ± {record['stderr']:.1f}"
    rows = [
        ["facts stored, mean", f"{record['mean']:.1f}{error}"],
        ["theory", f"{theory:.1f}"],
        ["least to most", f"{min(values):,} to {max(values):,}"],
        ["numbers tried", f"{record['decisions']:,}"],
        ["left open", f"{record['open']:,}"],
        ["seconds, all instances together", f"{record['seconds']:.1f}"],
    ]
    size = f"{asked.dim_out:,} x {asked.dim_in:,}"
    bound = "" if rank is None else f", rank {rank}"
    title = f"{len(values)} {problem} instances in a {size} matrix{bound}"
    notes = []
    if rank is not None:
        notes.append("With a rank bound, a search that fails proves nothing: a lower bound.")
    if interrupted:
        notes.append(f"Interrupted: these are the first {len(values)} of {instances} instances.")
    output.print_table(title, ["", ""], rows, notes)
    output.end(interrupted=interrupted)


@contextmanager
def _left_to_us() -> Iterator[None]:
    """Start processes that ignore the keyboard's interrupt: this one hears it, and ends them."""
    heard = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard)


def _measure(
    problem: str, shape: tuple[int, int, int | None], rank: int | None, guess: float, seed: int
) -> Threshold:
    from simonides.solvers.threshold import threshold as measure

    dim_in, dim_out, candidates = shape
    kind = instance.kinds()[problem]
    return measure(
        lambda facts: kind.gaussian(facts, dim_in, dim_out, candidates=candidates, seed=seed),
        max(guess, 1.0),
        rank=rank,
        threads=1,
    )
