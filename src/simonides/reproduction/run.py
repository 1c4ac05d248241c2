"""Running a reproduction: sweeps first, then figures and claims from what they left."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simonides import __version__, arguments
from simonides.experiments.sweep import rows
from simonides.experiments.sweep import run as run_sweep
from simonides.failures import BadArgumentError
from simonides.reproduction.catalogue import chosen, needed
from simonides.reproduction.claims.catalogue import SWEEPS
from simonides.reproduction.results import folder_of
from simonides.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from simonides.curves.table import Table
    from simonides.experiments.spec import Spec
    from simonides.experiments.sweep import Tally
    from simonides.reproduction.claims.claim import Claim
    from simonides.reproduction.figure import Figure
    from simonides.reproduction.plans import Plan


@dataclass(frozen=True)
class Job:
    """One spec to run: of which sweep, and where its results are kept."""

    sweep: str
    spec: Spec
    folder: Path


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What was drawn, checked and measured.

    ``tallies`` are those of the sweeps by their folders' names, ``task_seconds`` the seconds of their tasks
    added up, whenever these were run; ``seconds`` is the time each part took now. ``report`` is what its
    page is called, without an ending.
    """

    plan: Plan
    figures: Sequence[Figure]
    tables: Mapping[str, Mapping[str, Table]]
    claims: Sequence[Claim]
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    task_seconds: Mapping[str, float] = field(default_factory=dict)
    report: str = "report"


_NAME = "reproduction.json"


def enter(out: str | Path, plan: Plan, figures: Sequence[Figure]) -> str:
    """Take a folder for a run, and return what its report is called there.

    A folder of another version or scale is refused: its networks and its report would be replaced. In
    one that holds the report of a whole run, a run of some figures has a report of its own.
    """
    path = Path(out) / _NAME
    whole = list(figures) == chosen([])
    before = _entered(path)
    mine = {"version": __version__, "scale": plan.name}
    for name, value in mine.items():
        if before.get(name, value) != value:
            raise arguments.refuse(
                "out",
                str(out),
                f"a run of {name} {value}, not {before[name]}",
                "choose another folder; nothing was changed",
            )
    report = "report"
    if before.get("whole") and not whole:
        report = "-".join(["report", *(figure.name for figure in figures)])
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_json(path, {**mine, "whole": whole or bool(before.get("whole"))})
    return report


def _entered(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        return dict(json.loads(path.read_bytes()))
    except (ValueError, TypeError):
        raise arguments.refuse(
            "out",
            str(path.parent),
            f"a folder with a readable {path.name}",
            "remove that file if the folder is of this version and scale",
        ) from None


def sweeps_for(figures: Sequence[Figure]) -> list[str]:
    """Return the sweeps to run: those of the figures, and for all figures also those of all claims."""
    own = needed(figures)
    return list(dict.fromkeys([*own, *SWEEPS])) if list(figures) == chosen([]) else own


def jobs(plan: Plan, sweeps: Sequence[str], out: str | Path) -> list[Job]:
    """Return the specs of these sweeps."""
    return [
        Job(sweep, spec, folder_of(out, sweep, place))
        for sweep in sweeps
        for place, spec in enumerate(plan.sweeps[sweep])
    ]


def measure(
    job: Job,
    *,
    workers: int | None = None,
    retry_failed: bool = False,
    watch: Callable[[Tally], None] | None = None,
) -> Tally:
    """Run what a job's folder does not hold yet.

    Raises ``BadArgumentError`` if not one task could be done: there is nothing to draw then.
    """
    job.folder.parent.mkdir(parents=True, exist_ok=True)
    tally = run_sweep(job.spec, job.folder, workers=workers, retry_failed=retry_failed, watch=watch)
    if not tally.done:
        raise BadArgumentError(
            f"all {tally.failed} tasks in {job.folder} failed ({tally.reasons[0]}): "
            "mend what they say and pass --retry-failed"
        )
    return tally


def task_seconds(job: Job) -> float:
    """Return the seconds of all tasks that a job's folder holds, each on one core."""
    return float(sum(rows(job.folder)["seconds"].to_pylist()))


def write_claims(path: Path, claims: Sequence[Claim]) -> None:
    """Write the table of claims as JSON."""
    _write_json(path, [asdict(claim) for claim in claims])


def write_times(path: Path, found: Reproduction) -> None:
    """Write what each part of a run took as JSON."""
    parts = [
        {
            "part": name,
            "tasks": found.tallies[name].total if name in found.tallies else None,
            "task_seconds": found.task_seconds.get(name),
            "seconds": seconds,
        }
        for name, seconds in found.seconds.items()
    ]
    _write_json(path, parts)


def _write_json(path: Path, content: object) -> None:
    write_whole(path, json.dumps(content, indent=1, ensure_ascii=False).encode())
