"""``simonides reproduce``: the paper, redone."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from simonides.cli import options, output
from simonides.cli.progress import step_bar, tally_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simonides.reproduction.results import Reproduction
    from simonides.reproduction.run import Began, Watch


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
    workers: options.Workers = None,
    retry_failed: options.RetryFailed = False,
    time_limit: options.TimeLimit = None,
    as_json: options.Json = False,
) -> None:
    """Redo the paper's figures, check its claims, and write one page with all of it.

    Figures: 1, 2, 3, 4, A.1, A.2, C.1, C.2, D.1, difference, rank, margin, cost; of the paper on signals in
    transformers signal-depth, signal-skip, signal-placement, signal-gradients, signal-trainability,
    and signal-training, which needs the torch extra and is left out without it.
    Stopped, killed or out of time, run the same command again: it measures what is missing. Exit code 1 if
    tasks failed: the report is made from the others.

    Example: simonides reproduce C.2 --quick --out build/reproduction
    """
    from simonides import arguments
    from simonides.reproduction.catalogue import left_out
    from simonides.reproduction.plans import FULL, QUICK
    from simonides.reproduction.run import reproduce as redo

    began = time.perf_counter()
    for figure in [] if figures else left_out():
        remedy = arguments.install(str(figure.extra))
        output.print_error(f"figure {figure.name} is left out: {remedy}")
    with _bars(quiet=as_json) as watch:
        reproduction = redo(
            QUICK if quick else FULL,
            figures or (),
            out,
            workers=workers,
            retry_failed=retry_failed,
            time_limit=time_limit,
            watch=watch,
        )
    if as_json:
        seconds = time.perf_counter() - began
        output.print_json({**_record(reproduction, out), "seconds": seconds})
    else:
        if reproduction.claims:
            title = f"Claims of the paper, {reproduction.plan.name} run"
            claims = [[claim.name, str(claim.verdict)] for claim in reproduction.claims]
            output.print_table(title, ["claim", "verdict"], claims)
        for line in (*_notes(reproduction), str(reproduction.page)):
            output.print_line(line)
    _admit_failures(reproduction)


@contextmanager
def _bars(*, quiet: bool) -> Iterator[Watch | None]:
    """Yield what shows the parts of a reproduction as they begin, and how each of its sweeps stands."""
    if quiet:
        yield None
        return
    from simonides.experiments.sweep import Tally

    with step_bar() as show_step, ExitStack() as sweep:
        show_tally: Callable[[Tally], None] | None = None

        def watch(event: Began | Tally) -> None:
            nonlocal show_tally
            if not isinstance(event, Tally):
                sweep.close()
                show_step(f"{event.work} {event.name}", event.place, event.total)
                show_tally = None
                return
            if show_tally is None:
                show_tally = sweep.enter_context(tally_bar(quiet=False))
            show_tally(event)

        yield watch


def _record(reproduction: Reproduction, out: str) -> dict[str, object]:
    return {
        "figures": [
            {
                "name": figure.name,
                "title": figure.title,
                "picture": f"{out}/figures/{figure.file}.svg",
            }
            for figure in reproduction.figures
        ],
        "claims": [vars(claim) for claim in reproduction.claims],
        "scale": reproduction.plan.name,
        "report": str(reproduction.page),
        "left_out": list(reproduction.left_out),
        "notes": _notes(reproduction),
    }


def _notes(reproduction: Reproduction) -> list[str]:
    if not reproduction.left_out:
        return []
    names = ", ".join(reproduction.left_out)
    return [f"Out of time before figures {names}: the same command goes on."]


def _admit_failures(reproduction: Reproduction) -> None:
    """Name the sweeps of which tasks failed, and exit with 1 if there are any."""
    failed = {name: tally for name, tally in reproduction.tallies.items() if tally.failed}
    for name, tally in failed.items():
        output.print_error(
            f"{tally.failed} tasks of {name} failed ({tally.reasons[0]}): "
            "pass --retry-failed to measure them once more"
        )
    if failed:
        raise typer.Exit(1)
