"""From a plan to a report: sweeps first, then figures, claims and curves from what they left."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from simonides import __version__, arguments
from simonides.curves.catalogue import CURVES
from simonides.curves.table import Table
from simonides.experiments.spec import Spec
from simonides.experiments.sweep import Tally, rows
from simonides.experiments.sweep import run as run_sweep
from simonides.failures import BadArgumentError
from simonides.reading import expecting, read_json
from simonides.report.files import checked_folder, write_json, write_report
from simonides.reproduction.catalogue import chosen
from simonides.reproduction.claims.catalogue import SWEEPS, claims_of
from simonides.reproduction.figure import PaperFigure
from simonides.reproduction.plans import QUICK, ReproductionPlan
from simonides.reproduction.results import Reproduction, Results, folder_of
from simonides.signal.paper.claims import signal_claims
from simonides.text import printable

Watch = Callable[["Began | Tally"], None]


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


_MARKER = "reproduction.json"

_LONGEST_WORD = 80
"""Characters of a file's version or scale that a refusal repeats: a line of a terminal."""


def reproduce(
    plan: ReproductionPlan = QUICK,
    figures: Sequence[str] = (),
    out: str | Path = "reproduction",
    *,
    workers: int | None = None,
    retry_failed: bool = False,
    time_limit: float | None = None,
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
    time_limit : float, optional
        Seconds after which nothing more is begun. The report is then one of the figures that are done, and
        of the claims whose sweeps are, and says which figures it lacks; the same call goes on.
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
    deadline = arguments.deadline(time_limit)
    checked_folder(out)
    report = _enter(out, plan, drawn)
    folders = sum(len(plan.sweeps[sweep]) for sweep in sweeps_for(drawn))
    results = Results(Path(out), plan)
    measured = _Measured(results, workers, retry_failed, deadline, watch, folders)
    with ExitStack() as stack:
        stack.enter_context(parallel_config(n_jobs=workers or -1))
        stack.enter_context(threadpool_limits(workers, user_api="blas"))
        stack.enter_context(warnings.catch_warnings())
        # Processes whose memory has grown are replaced, and what they had begun is done again.
        warnings.filterwarnings("ignore", "A worker stopped", UserWarning)
        return _reproduced(measured, drawn, report)


@dataclass
class _Measured:
    """What was measured so far, and how to go on."""

    results: Results
    workers: int | None
    retry_failed: bool
    deadline: float
    watch: Watch | None
    folders: int
    tallies: dict[str, Tally] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    task_seconds: dict[str, float] = field(default_factory=dict)

    def tell(self, work: str, name: str, place: int, total: int) -> None:
        if self.watch is not None:
            self.watch(Began(work, name, place, total))

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    def measure(self, sweep: str) -> bool:
        """Run what the folders of a sweep do not hold yet, and return whether nothing is left."""
        for place, spec in enumerate(self.results.plan.sweeps[sweep]):
            folder = folder_of(self.results.out, sweep, place)
            if folder.name not in self.tallies and self.seconds_left:
                self.tell("measuring", folder.name, len(self.tallies) + 1, self.folders)
                with _timed(self.seconds, folder.name):
                    self.tallies[folder.name] = self._run(spec, folder)
                spent = rows(folder)["seconds"].to_pylist()
                self.task_seconds[folder.name] = float(sum(spent))
            if folder.name not in self.tallies or self.tallies[folder.name].left:
                return False
        return True

    def _run(self, spec: Spec, folder: Path) -> Tally:
        folder.parent.mkdir(parents=True, exist_ok=True)
        tally = run_sweep(
            spec,
            folder,
            workers=self.workers,
            retry_failed=self.retry_failed,
            time_limit=None if math.isinf(self.deadline) else self.seconds_left,
            watch=self.watch,
        )
        if tally.failed == tally.total:
            raise BadArgumentError(
                f"all {tally.failed} tasks in {folder} failed ({tally.reasons[0]}): "
                "mend what they say and pass --retry-failed"
            )
        return tally


def _reproduced(measured: _Measured, figures: Sequence[PaperFigure], report: str) -> Reproduction:
    """Return all that is done before the deadline: figure by figure, then what only claims need."""
    results = measured.results
    seconds: dict[str, float] = {}
    tables: dict[str, Mapping[str, Table]] = {}
    for place, figure in enumerate(figures, start=1):
        if all(map(measured.measure, figure.needs)) and measured.seconds_left:
            measured.tell("computing figure", figure.name, place, len(figures))
            with _timed(seconds, "figures"):
                tables[figure.name] = results.tables(figure)
    sweeps = list(filter(measured.measure, sweeps_for(figures)))
    with _timed(seconds, "claims"):
        claims = [*claims_of(results, sweeps), *signal_claims(tables)]
    curves: dict[str, Table] = {}
    if _is_whole(figures) and measured.seconds_left:
        names = results.plan.curves
        with _timed(seconds, "theory curves"):
            made = Parallel(return_as="generator")(delayed(CURVES[name].table)() for name in names)
            for place, name in enumerate(names, start=1):
                measured.tell("computing curve", name, place, len(names))
                curves[name] = next(made)
    reproduction = Reproduction(
        results.plan,
        [figure for figure in figures if figure.name in tables],
        tables,
        claims,
        curves,
        measured.tallies,
        measured.seconds | seconds,
        measured.task_seconds,
        tuple(figure.name for figure in figures if figure.name not in tables),
        report,
    )
    return replace(reproduction, page=write_report(results.out, reproduction))


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
            other = printable(before[name], _LONGEST_WORD)
            raise arguments.refuse(
                "out",
                str(out),
                f"a run of {name} {value}, not {other}",
                "choose another folder; nothing was changed",
            )
    whole, was_whole = _is_whole(figures), bool(before.get("whole"))
    write_json(path, {**mine, "whole": whole or was_whole})
    if was_whole and not whole:
        return "-".join(["report", *(figure.name for figure in figures)])
    return "report"


def _entered(path: Path) -> dict[str, Any]:
    """Return what the run of a folder wrote down, or nothing for a new one."""
    if not path.exists():
        return {}
    remedy = "remove that file if the folder is of this version and scale"
    with expecting("out", path.parent, f"a folder with a readable {path.name}", remedy):
        content = {"whole": False, **read_json(path)}
        for name, kind in {"version": str, "scale": str, "whole": bool}.items():
            if not isinstance(content[name], kind):
                raise TypeError(f"its {name} is a {type(content[name]).__name__}")
        return content


@contextmanager
def _timed(seconds: dict[str, float], part: str) -> Iterator[None]:
    """Note how long a part took."""
    began = time.perf_counter()
    yield
    seconds[part] = seconds.get(part, 0.0) + time.perf_counter() - began
