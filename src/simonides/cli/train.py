"""``simonides train``: what a method recalls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments
from simonides.cli import options, output, problem_options
from simonides.cli.grouped import grouped
from simonides.cli.progress import live

if TYPE_CHECKING:
    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Progress, Solution


@grouped
def train(
    request: problem_options.Request,
    rank: options.Rank = None,
    solver: Annotated[
        str,
        typer.Option(
            help="'gradient': full-batch Adam, the paper's protocol; 'cross_entropy': to convergence; "
            "any other method, or your own module:function."
        ),
    ] = "gradient",
    loss: Annotated[
        str | None,
        typer.Option(help="Loss to train on by 'gradient', or your own module:Class."),
    ] = None,
    max_steps: options.MaxSteps = None,
    time_limit: options.TimeLimit = None,
    backend: Annotated[
        str, typer.Option(help="'numpy', or 'torch' (gradient only, needs the extra).")
    ] = "numpy",
    as_json: options.Json = False,
) -> None:
    """Train a linear map on the cross-entropy, and report what it recalls.

    Example: simonides train --dim 50 --facts 300
    """
    from simonides.solvers.methods import named

    method = named(solver, "solver")
    limits = {"max_steps": max_steps, "time_limit": time_limit}
    own = {"backend": None if backend == "numpy" else backend, "loss": loss, **limits}
    chosen: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
    for name, value in chosen.items():
        if name not in method.takes:
            option = name.replace("_", "-")
            raise arguments.refuse(name, value, f"left out for {solver}", f"drop --{option}")
    draws = "seed" in method.takes and (solver != "cross_entropy" or rank is not None)
    if request.seed is not None and request.own and not draws:
        raise arguments.refuse("seed", request.seed, "left out: nothing is drawn", "drop --seed")
    # Beside files it draws the first weights alone.
    problem = (replace(request, seed=None) if request.own else request).read()
    with live(_line, quiet=as_json) as watch:
        solution = method.solve(problem, rank=rank, watch=watch, seed=request.seed or 0, **chosen)
    record = _record(problem, solution, solver)
    output.answer(record, output.storing(problem, rank), _rows(record), as_json=as_json)
    output.end(interrupted=solution.interrupted)


def _record(problem: Problem, solution: Solution, solver: str) -> dict[str, Any]:
    return {
        "accuracy": solution.recalled / problem.facts,
        "loss": solution.loss,
        "steps": solution.steps,
        "seconds": solution.seconds,
        "recalled": solution.recalled,
        "facts": problem.facts,
        "status": str(solution.status),
        "solver": solver,
        "interrupted": solution.interrupted,
        "notes": output.cut_short(solution),
    }


def _rows(record: dict[str, Any]) -> list[list[str]]:
    loss = [] if record["loss"] is None else [["loss", f"{record['loss']:.6g}"]]
    return [
        output.recalled(record),
        ["accuracy", f"{record['accuracy']:.4f}"],
        *loss,
        ["ended", record["status"]],
        *output.effort(record),
    ]


def _line(progress: Progress) -> str:
    return (
        f"step {progress.step:,}: loss {progress.objective:.5g}, "
        f"{progress.violations:,} facts not recalled"
    )
