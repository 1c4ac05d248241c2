"""``simonides train``: what training recalls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments
from simonides.cli import options, output
from simonides.cli import problem_options as instance
from simonides.cli.grouped import grouped
from simonides.cli.progress import live

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Progress, Solution


@grouped
def train(
    request: instance.Request,
    rank: options.Rank = None,
    solver: Annotated[
        str,
        typer.Option(
            help="'gradient': full-batch Adam, the paper's protocol; "
            "'cross-entropy': to convergence."
        ),
    ] = "gradient",
    steps: Annotated[int | None, typer.Option(help="Most steps to take.")] = None,
    backend: Annotated[
        str, typer.Option(help="'numpy', or 'torch' (gradient only, needs the extra).")
    ] = "numpy",
    as_json: options.Json = False,
) -> None:
    """Train a linear map on the cross-entropy, and report what it recalls.

    Example: simonides train --dim 50 --facts 300
    """
    if solver not in ("gradient", "cross-entropy"):
        raise arguments.refuse("solver", solver, "'gradient' or 'cross-entropy'", "choose one")
    if solver != "gradient" and backend != "numpy":
        raise arguments.refuse("backend", backend, "'numpy' for cross-entropy", "drop --backend")
    seed = request.seed
    if seed is not None and request.own and solver == "cross-entropy" and rank is None:
        raise arguments.refuse("seed", seed, "left out: nothing is drawn", "drop --seed")
    # Beside files it draws the first weights alone.
    asked = (replace(request, seed=None) if request.own else request).read()
    chosen: dict[str, Any] = {"rank": rank, "seed": seed or 0}
    if steps is not None:
        chosen["max_steps"] = arguments.whole("steps", steps, least=0, remedy="pass a step limit")
    if solver == "gradient":
        chosen["backend"] = backend
    with live(_line, quiet=as_json) as watch:
        found = _solver(solver)(asked, watch=watch, **chosen)
    if as_json:
        output.print_json(_record(asked, found, solver))
    else:
        notes = ["Interrupted: this is where it was by then."] if found.interrupted else []
        output.print_table(output.storing(asked, rank), ["", ""], _rows(asked, found), notes)
    output.end(interrupted=found.interrupted)


def _solver(name: str) -> Callable[..., Solution]:
    from simonides.solvers.training.cross_entropy import cross_entropy
    from simonides.solvers.training.gradient import gradient

    return gradient if name == "gradient" else cross_entropy


def _record(asked: Problem, found: Solution, solver: str) -> dict[str, Any]:
    return {
        "accuracy": found.recalled / asked.facts,
        "loss": found.loss,
        "steps": found.steps,
        "seconds": found.seconds,
        "recalled": found.recalled,
        "facts": asked.facts,
        "status": str(found.status),
        "solver": solver,
        "interrupted": found.interrupted,
    }


def _rows(asked: Problem, found: Solution) -> list[list[str]]:
    return [
        ["facts recalled", f"{found.recalled:,} of {asked.facts:,}"],
        ["accuracy", f"{found.recalled / asked.facts:.4f}"],
        ["loss", f"{found.loss:.6g}"],
        ["ended", str(found.status)],
        ["steps", f"{found.steps:,}"],
        ["seconds", f"{found.seconds:.2f}"],
    ]


def _line(progress: Progress) -> str:
    return (
        f"step {progress.step:,}: loss {progress.objective:.5g}, "
        f"{progress.violations:,} facts not recalled"
    )
