"""``simonides threshold``: the capacity, measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides.cli import options, output
from simonides.cli import problem_options as instance
from simonides.cli.grouped import grouped
from simonides.cli.progress import live

if TYPE_CHECKING:
    from simonides.experiments.thresholds import Thresholds


@dataclass(frozen=True)
class Instances(options.Shape):
    """The problems that instances are drawn from."""

    problem: options.Kind = "original"
    ensemble: instance.EnsembleText = "gaussian"
    candidates: options.Candidates = None
    rank: options.Rank = None

    @property
    def noted(self) -> list[str]:
        """What is to be said about any threshold of such problems."""
        notes = []
        if self.rank is not None:
            notes.append("With a rank bound, a search that fails proves nothing: a lower bound.")
        if self.ensemble != "gaussian":
            notes.append("Theory is that of Gaussian vectors and equally frequent targets.")
        return notes


@grouped
def threshold(
    drawn: Instances,
    instances: Annotated[int, typer.Option(help="Instances to measure.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the first instance; others follow.")] = 0,
    workers: options.Workers = None,
    time_limit: options.TimeLimit = None,
    as_json: options.Json = False,
) -> None:
    """Measure how many facts can be stored, instance by instance, and compare with theory.

    Example: simonides threshold --dim 20 --problem decoupled --instances 20
    """
    dim_in, dim_out = drawn.sizes()
    from simonides.experiments.thresholds import measure_thresholds

    measured: Thresholds | None = None

    def keep(thresholds: Thresholds) -> None:
        nonlocal measured
        measured = thresholds
        show(thresholds)

    def line(thresholds: Thresholds) -> str:
        return f"{len(thresholds.facts)} of {instances} instances measured"

    with live(line, quiet=as_json) as show:
        try:
            measured = measure_thresholds(
                dim_in,
                dim_out,
                **drawn.beyond_shape(),
                instances=instances,
                seed=seed,
                workers=workers,
                time_limit=time_limit,
                watch=keep,
            )
        except KeyboardInterrupt:
            if measured is None:
                raise
    number = len(measured.facts)
    notes = drawn.noted
    interrupted = number < instances and not measured.timed_out
    if number == 1:
        notes.append("One instance has no standard error: raise --instances for one.")
    if number < instances:
        cause = "Interrupted" if interrupted else "Out of time"
        notes.append(f"{cause}: these are the first {number} of {instances} instances.")
    record = _record(measured, drawn.ensemble) | {"interrupted": interrupted, "notes": notes}
    bound = "" if drawn.rank is None else f", rank {drawn.rank}"
    kind = f"{drawn.problem} instance{'' if number == 1 else 's'}"
    title = f"{number} {kind} in a {dim_out:,} x {dim_in:,} matrix{bound}"
    output.answer(record, title, _rows(measured, record), as_json=as_json)
    output.end(interrupted=interrupted)


def _record(measured: Thresholds, ensemble: str) -> dict[str, Any]:
    return {
        "mean": measured.mean.value,
        "stderr": measured.mean.stderr,
        "theory": measured.theory,
        "thresholds": list(measured.facts),
        "ensemble": ensemble,
        "open": sum(threshold.open for threshold in measured.measured),
        "decisions": sum(threshold.decisions for threshold in measured.measured),
        "seconds": sum(threshold.seconds for threshold in measured.measured),
    }


def _rows(measured: Thresholds, record: dict[str, Any]) -> list[list[str]]:
    facts, stored = measured.facts, {"theory": f"{measured.theory:.1f}"}
    if len(facts) == 1:
        stored = {"facts stored": f"{facts[0]:,}", **stored}
    elif facts:
        mean = f"{measured.mean.value:.1f} ± {measured.mean.stderr:.1f}"
        extremes = f"{min(facts):,} to {max(facts):,}"
        stored = {"facts stored, mean": mean, **stored, "least to most": extremes}
    rows = stored | {
        "numbers tried": f"{record['decisions']:,}",
        "left open": f"{record['open']:,}",
        "seconds, all instances together": f"{record['seconds']:.1f}",
    }
    return [list(row) for row in rows.items()]
