"""``simonides sweep``: many measurements, resumable."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides.cli import options, output
from simonides.cli.progress import tally_bar
from simonides.interrupts import Keyboard

if TYPE_CHECKING:
    from simonides.experiments.sweep import Tally

app = typer.Typer(
    name="sweep",
    help="Run many measurements from a spec; stop and go on at any time.",
    rich_markup_mode=None,
)

Folder = Annotated[str, typer.Argument(metavar="DIR", help="Folder of a sweep.")]

_MEGABYTE = 10**6
_SOME_FAILED = 1


@app.command("run")
def run(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="What to measure: FILE.toml.")],
    out: Annotated[str, typer.Option(help="Folder to keep the results in.")],
    workers: options.Workers = None,
    dask: Annotated[
        str | None, typer.Option(help="Run on the Dask cluster with this scheduler address.")
    ] = None,
    retry_failed: options.RetryFailed = False,
    memory_limit: Annotated[
        int | None, typer.Option(help="Megabytes each process may allocate (default: any).")
    ] = None,
    time_limit: options.TimeLimit = None,
    as_json: options.Json = False,
) -> None:
    """Measure what the spec asks for and the folder does not hold yet.

    Every task is kept as soon as it is finished. Stopped or killed, run the same command again. Exit code
    1 if tasks failed: their reasons are listed, and --retry-failed measures them once more.

    Example: simonides sweep run examples/accuracy.toml --out build/accuracy
    """
    from simonides import arguments
    from simonides.experiments.spec import read_spec
    from simonides.experiments.sweep import run as run_sweep
    from simonides.experiments.sweep import status as sweep_status

    if memory_limit is not None:
        arguments.whole("memory_limit", memory_limit, remedy="pass it in megabytes")
    measurements = read_spec(spec)
    if dask is not None:
        # A lost scheduler is said in one line; Dask's own log of it is a page.
        logging.getLogger("distributed.client").addFilter(lambda _: False)
    with tally_bar(quiet=as_json) as watch, Keyboard() as keyboard:
        tally = run_sweep(
            measurements,
            out,
            workers=workers,
            dask=dask,
            retry_failed=retry_failed,
            memory_limit=None if memory_limit is None else memory_limit * _MEGABYTE,
            time_limit=time_limit,
            watch=watch,
        )
    if keyboard.interrupted:
        tally = sweep_status(out)
    _print(out, tally, as_json, interrupted=keyboard.interrupted)
    output.end(interrupted=keyboard.interrupted)
    if tally.failed:
        raise typer.Exit(_SOME_FAILED)


@app.command("status")
def status(folder: Folder, as_json: options.Json = False) -> None:
    """Say how a sweep stands, also while it runs.

    Example: simonides sweep status build/accuracy
    """
    from simonides.experiments.sweep import status as sweep_status

    _print(folder, sweep_status(folder), as_json)


@app.command("export")
def export(
    folder: Folder,
    file: Annotated[str, typer.Argument(metavar="FILE", help="FILE.parquet or FILE.csv.")],
    as_json: options.Json = False,
) -> None:
    """Write the rows of a sweep to one file.

    Example: simonides sweep export build/accuracy accuracy.csv
    """
    from simonides.experiments.sweep import export as export_sweep
    from simonides.experiments.sweep import status as sweep_status

    rows = export_sweep(folder, file)
    if as_json:
        record = _record(folder, sweep_status(folder))
        output.print_json({**record, "rows": rows, "file": file})
    else:
        output.print_line(f"{file}: {rows:,} rows")


def _record(folder: str, tally: Tally, *, interrupted: bool = False) -> dict[str, Any]:
    notes = []
    if interrupted or tally.timed_out:
        cause = "Interrupted" if interrupted else "Out of time"
        notes.append(f"{cause}: what was finished by then is kept; the same command goes on.")
    if tally.failed:
        notes.append("'sweep run --retry-failed' measures what failed once more.")
    if tally.damaged:
        notes.append(f"{tally.damaged} files are damaged; 'sweep run' measures theirs anew.")
    return {
        "done": tally.done,
        "failed": tally.failed,
        "total": tally.total,
        "left": tally.left,
        "damaged": tally.damaged,
        "reasons": list(tally.reasons),
        "interrupted": interrupted,
        "notes": notes,
        "out": folder,
    }


def _print(folder: str, tally: Tally, as_json: bool, *, interrupted: bool = False) -> None:
    record = _record(folder, tally, interrupted=interrupted)
    names = {"done": "done", "failed": "failed", "left": "left", "total": "in all"}
    rows = [[words, f"{record[name]:,}"] for name, words in names.items()]
    output.answer(record, f"Tasks in {folder}", rows, as_json=as_json, notes=tally.reasons)
