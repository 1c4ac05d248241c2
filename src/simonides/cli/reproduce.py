"""``simonides reproduce``: the paper, redone."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from simonides.cli import options, output
from simonides.cli.progress import plain_warnings, steps, tally_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simonides.curves.table import Table
    from simonides.reproduction.figure import Figure
    from simonides.reproduction.plans import Plan
    from simonides.reproduction.run import Reproduction

_QUICK_CURVES = ("price", "load", "hebbian")
"""Theory curves that a quick run shows after the figures; a full one shows all that no figure does."""

_MEASURED = ("depth", "placement", "gradients", "trainability")
"""Theory curves that a figure shows with networks beside them."""


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FIGURE]...", help="Figures to redo (default: all, and the claims)."
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick/--full", help="Small sizes in minutes, or the paper's in an hour."),
    ] = True,
    out: Annotated[
        str, typer.Option(help="Folder of the report and its records.")
    ] = "reproduction",
    workers: Annotated[
        int | None, typer.Option(help="Processes to share the work (default: one per core).")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Measure tasks that failed once more.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Redo the paper's figures, check its claims, and write one page with all of it.

    Figures: 1, 2, 3, 4, A.1, A.2, C.1, C.2, D.1, difference, rank, margin, cost; of the paper on signals in
    transformers signal-depth, signal-skip, signal-placement, signal-gradients, signal-trainability,
    and signal-training, which needs the torch extra and is left out without it.
    Stopped or killed, run the same command again: it measures what is missing. Exit code 1 if tasks
    failed: the report is made from the others.

    Example: simonides reproduce C.2 --quick --out build/reproduction
    """
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    from simonides import arguments
    from simonides.report.page import checked_folder, write_report
    from simonides.reproduction.catalogue import chosen, left_out
    from simonides.reproduction.plans import PLANS
    from simonides.reproduction.run import enter

    began = time.perf_counter()
    asked = chosen(figures or [])
    if workers is not None:
        workers = arguments.whole("workers", workers, remedy="pass the number of processes")
    checked_folder(out)
    plan = PLANS["quick" if quick else "full"]
    report = enter(out, plan, asked)
    for one in [] if figures else left_out():
        typer.echo(
            f"simonides: figure {one.name} is left out: {arguments.install(str(one.extra))}",
            err=True,
        )
    with (
        plain_warnings(),
        parallel_config(n_jobs=workers or -1),
        threadpool_limits(workers, user_api="blas"),
    ):
        # Processes whose memory has grown are replaced, and what they had begun is done again.
        warnings.filterwarnings("ignore", "A worker stopped", UserWarning)
        found = _found(plan, asked, out, workers, retry_failed, quiet=as_json)
        from_here = time.perf_counter()
        theory = {} if figures else _curves(quick, quiet=as_json)
        if theory:
            spent = {**found.seconds, "theory curves": time.perf_counter() - from_here}
            found = replace(found, seconds=spent)
        path = write_report(out, replace(found, report=report), theory)
    if as_json:
        seconds = time.perf_counter() - began
        output.print_json({**_record(found, out), "report": str(path), "seconds": seconds})
    else:
        _print_claims(found)
        output.print_line(str(path))
    _admit_failures(found)


def _record(found: Reproduction, out: str) -> dict[str, object]:
    return {
        "figures": [
            {"name": one.name, "title": one.title, "picture": f"{out}/figures/{one.file}.svg"}
            for one in found.figures
        ],
        "claims": [vars(claim) for claim in found.claims],
        "scale": found.plan.name,
    }


def _print_claims(found: Reproduction) -> None:
    if found.claims:
        output.print_table(
            f"Claims of the paper, {found.plan.name} run",
            ["claim", "verdict"],
            [[claim.name, str(claim.verdict)] for claim in found.claims],
        )


def _admit_failures(found: Reproduction) -> None:
    """Name the sweeps of which tasks failed, and exit with 1 if there are any."""
    failed = {name: tally for name, tally in found.tallies.items() if tally.failed}
    for name, tally in failed.items():
        typer.echo(
            f"simonides: {tally.failed} tasks of {name} failed ({tally.reasons[0]}): "
            "pass --retry-failed to measure them once more",
            err=True,
        )
    if failed:
        raise typer.Exit(1)


def _found(
    plan: Plan,
    asked: Sequence[Figure],
    out: str,
    workers: int | None,
    retry_failed: bool,
    *,
    quiet: bool,
) -> Reproduction:
    from pathlib import Path

    from simonides.reproduction import run
    from simonides.reproduction.claims.catalogue import claims_of
    from simonides.reproduction.results import Results
    from simonides.signal.paper.claims import signal_claims

    sweeps = run.sweeps_for(asked)
    tallies, seconds, task_seconds = {}, {}, {}
    for job in steps(
        run.jobs(plan, sweeps, out), "measuring", quiet=quiet, label=lambda one: one.folder.name
    ):
        began = time.perf_counter()
        with tally_bar(quiet=quiet) as watch:
            tallies[job.folder.name] = run.measure(
                job, workers=workers, retry_failed=retry_failed, watch=watch
            )
        seconds[job.folder.name] = time.perf_counter() - began
        task_seconds[job.folder.name] = run.task_seconds(job)
    began = time.perf_counter()
    results = Results(Path(out), plan)
    tables = {
        figure.name: figure.tables(results)
        for figure in steps(asked, "computing figure", quiet=quiet, label=lambda one: one.name)
    }
    seconds["figures"] = time.perf_counter() - began
    began = time.perf_counter()
    claims = [*claims_of(results, sweeps), *signal_claims(tables)]
    seconds["claims"] = time.perf_counter() - began
    return run.Reproduction(plan, asked, tables, claims, tallies, seconds, task_seconds)


def _curves(quick: bool, *, quiet: bool) -> dict[str, Table]:
    from joblib import Parallel, delayed

    from simonides.curves.catalogue import CURVES

    names = _QUICK_CURVES if quick else tuple(name for name in CURVES if name not in _MEASURED)
    tables = Parallel(return_as="generator")(delayed(CURVES[name].table)() for name in names)
    shown = steps(names, "computing curve", quiet=quiet, label=str)
    return dict(zip(shown, tables, strict=True))
