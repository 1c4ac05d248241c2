"""From a plan to a report: sweeps first, then figures, claims and curves from what they left."""

from __future__ import annotations

import json
import time
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from simonides import __version__, arguments
from simonides.curves.catalogue import CURVES
from simonides.experiments.sweep import Tally, rows
from simonides.experiments.sweep import run as run_sweep
from simonides.failures import BadArgumentError
from simonides.report.files import checked_folder, write_json, write_report
from simonides.reproduction.catalogue import chosen
from simonides.reproduction.claims.catalogue import SWEEPS, claims_of
from simonides.reproduction.plans import QUICK
from simonides.reproduction.results import Reproduction, Results, folder_of
from simonides.signal.paper.claims import signal_claims

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simonides.curves.table import Table
    from simonides.experiments.spec import Spec
    from simonides.reproduction.figure import PaperFigure
    from simonides.reproduction.plans import ReproductionPlan


@dataclass(frozen=True)
class Began:
    """An event: a part of a reproduction has begun, the ``place``-th of ``total`` of its kind.

    ``work`` says what is done, ``"measuring"``, ``"computing figure"`` or ``"computing curve"``, and
    ``name`` to which sweep, figure or curve.
    """

    work: str
    name: str
    place: int
    total: int


class Watch(Protocol):
    """What is told of each part as it begins, and of how a sweep stands while it is measured."""

    def __call__(self, event: Began | Tally, /) -> None:
        """Take note of an event."""


_MARKER = "reproduction.json"


def reproduce(
    plan: ReproductionPlan = QUICK,
    figures: Sequence[str] = (),
    out: str | Path = "reproduction",
    *,
    workers: int | None = None,
    retry_failed: bool = False,
    watch: Watch | None = None,
) -> Reproduction:
    """Redo the paper: measure, draw, check its claims, and write one page with all of it.

    Stopped or killed, the same call measures what is missing.

    Parameters
    ----------
    plan : ReproductionPlan
        What is measured, and how large: ``QUICK``, ``FULL``, or one's own.
    figures : sequence of str
        Names of the figures to redo. Default: all that can be made here, all claims, and curves of theory.
    out : path
        Folder of the report and its records. One of another version or scale is refused; in one with the
        report of a whole run, a run of some figures has a report of its own.
    workers : int, optional
        Processes to share the work. Default: one per core.
    retry_failed : bool
        Whether tasks that failed before are measured once more.
    watch : callable, optional
        Called with a `Began` for each part, and with the `Tally` of a sweep while it is measured.

    Returns
    -------
    Reproduction
        The tables, claims and times, and the ``page`` they were written to.

    Raises
    ------
    BadArgumentError
        If a figure is unknown or its extra missing, if the folder is of another run, or if not one task
        of a sweep could be done.

    Examples
    --------
    >>> result = reproduce(figures=["C.2"], out="build/spectra")  # doctest: +SKIP
    >>> result.page  # doctest: +SKIP
    PosixPath('build/spectra/report.html')
    """
    drawn = chosen(figures)
    if workers is not None:
        workers = arguments.whole("workers", workers, remedy="pass the number of processes")
    checked_folder(out)
    report = _enter(out, plan, drawn)
    with ExitStack() as stack:
        stack.enter_context(parallel_config(n_jobs=workers or -1))
        stack.enter_context(threadpool_limits(workers, user_api="blas"))
        stack.enter_context(warnings.catch_warnings())
        # Processes whose memory has grown are replaced, and what they had begun is done again.
        warnings.filterwarnings("ignore", "A worker stopped", UserWarning)
        return _reproduced(plan, drawn, Path(out), report, workers, retry_failed, watch)


def _reproduced(
    plan: ReproductionPlan,
    figures: Sequence[PaperFigure],
    out: Path,
    report: str,
    workers: int | None,
    retry_failed: bool,
    watch: Watch | None,
) -> Reproduction:
    tell = watch or (lambda _: None)
    sweeps = sweeps_for(figures)
    jobs = _jobs(plan, sweeps, out)
    tallies, task_seconds = {}, {}
    seconds: dict[str, float] = {}
    for place, (spec, folder) in enumerate(jobs, start=1):
        tell(Began("measuring", folder.name, place, len(jobs)))
        with _timed(seconds, folder.name):
            tallies[folder.name] = _measure(spec, folder, workers, retry_failed, watch)
        task_seconds[folder.name] = float(sum(rows(folder)["seconds"].to_pylist()))
    results = Results(out, plan)
    tables = {}
    with _timed(seconds, "figures"):
        for place, figure in enumerate(figures, start=1):
            tell(Began("computing figure", figure.name, place, len(figures)))
            tables[figure.name] = results.tables(figure)
    with _timed(seconds, "claims"):
        claims = [*claims_of(results, sweeps), *signal_claims(tables)]
    curves: dict[str, Table] = {}
    if _is_whole(figures):
        with _timed(seconds, "theory curves"):
            made = Parallel(return_as="generator")(
                delayed(CURVES[name].table)() for name in plan.curves
            )
            for place, name in enumerate(plan.curves, start=1):
                tell(Began("computing curve", name, place, len(plan.curves)))
                curves[name] = next(made)
    reproduction = Reproduction(
        plan, figures, tables, claims, curves, tallies, seconds, task_seconds, report
    )
    return replace(reproduction, page=write_report(out, reproduction))


def sweeps_for(figures: Sequence[PaperFigure]) -> list[str]:
    """Return the sweeps to run: those of the figures, and for all figures also those of all claims."""
    needed = [sweep for figure in figures for sweep in figure.needs]
    return list(dict.fromkeys([*needed, *(SWEEPS if _is_whole(figures) else ())]))


def _is_whole(figures: Sequence[PaperFigure]) -> bool:
    return list(figures) == chosen()


def _enter(out: str | Path, plan: ReproductionPlan, figures: Sequence[PaperFigure]) -> str:
    """Take a folder for a run, and return what its report is called there.

    A folder of another version or scale is refused: its networks and its report would be replaced. In
    one that holds the report of a whole run, a run of some figures has a report of its own.
    """
    path = Path(out) / _MARKER
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
    whole, was_whole = _is_whole(figures), bool(before.get("whole"))
    write_json(path, {**mine, "whole": whole or was_whole})
    if was_whole and not whole:
        return "-".join(["report", *(figure.name for figure in figures)])
    return "report"


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


def _jobs(plan: ReproductionPlan, sweeps: Sequence[str], out: Path) -> list[tuple[Spec, Path]]:
    """Return the specs of these sweeps, each with the folder of its records."""
    return [
        (spec, folder_of(out, sweep, place))
        for sweep in sweeps
        for place, spec in enumerate(plan.sweeps[sweep])
    ]


def _measure(
    spec: Spec,
    folder: Path,
    workers: int | None,
    retry_failed: bool,
    watch: Watch | None,
) -> Tally:
    """Run what a folder does not hold yet; if not one task could be done there is nothing to draw."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    tally = run_sweep(spec, folder, workers=workers, retry_failed=retry_failed, watch=watch)
    if not tally.done:
        raise BadArgumentError(
            f"all {tally.failed} tasks in {folder} failed ({tally.reasons[0]}): "
            "mend what they say and pass --retry-failed"
        )
    return tally


@contextmanager
def _timed(seconds: dict[str, float], part: str) -> Iterator[None]:
    """Note how long a part took."""
    began = time.perf_counter()
    yield
    seconds[part] = time.perf_counter() - began
