"""``simonides train``: what training recalls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from simonides.cli import instance, options, output
from simonides.cli.progress import live

if TYPE_CHECKING:
    from simonides.solvers.solution import Progress


def train(
    dim: options.Dim = None,
    dim_in: options.DimIn = None,
    dim_out: options.DimOut = None,
    facts: instance.Facts = None,
    candidates: options.Candidates = None,
    problem: instance.Kind = "original",
    seed: Annotated[
        int | None, typer.Option(help="Seed of the drawn problem and the first weights.")
    ] = None,
    inputs: instance.Inputs = None,
    outputs: instance.Outputs = None,
    targets: instance.Targets = None,
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

    Example: simonides train --dim 50 --facts 400 --solver cross-entropy
    """
    from typing import Any

    from simonides import arguments

    if solver not in ("gradient", "cross-entropy"):
        raise arguments.refuse("solver", solver, "'gradient' or 'cross-entropy'", "choose one")
    if solver != "gradient" and backend != "numpy":
        raise arguments.refuse("backend", backend, "'numpy' for cross-entropy", "drop --backend")
    own = inputs is not None or outputs is not None
    if seed is not None and own and solver == "cross-entropy" and rank is None:
        raise arguments.refuse("seed", seed, "left out: nothing is drawn", "drop --seed")
    drawn_by = None if own else seed  # otherwise it draws the first weights alone
    asked = instance.read_problem(
        (dim, dim_in, dim_out), facts, candidates, problem, drawn_by, (inputs, outputs, targets)
    )
    options_: dict[str, Any] = {"rank": rank, "seed": seed or 0}
    if steps is not None:
        options_["max_steps"] = arguments.whole("steps", steps, least=0, remedy="pass a step limit")

    from simonides.solvers.cross_entropy import cross_entropy
    from simonides.solvers.gradient import gradient

    with live(_line, quiet=as_json) as watch:
        if solver == "gradient":
            found = gradient(asked, backend=backend, watch=watch, **options_)
        else:
            found = cross_entropy(asked, watch=watch, **options_)
    record = {
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
    if as_json:
        output.print_json(record)
        output.end(interrupted=found.interrupted)
        return
    rows = [
        ["facts recalled", f"{found.recalled:,} of {asked.facts:,}"],
        ["accuracy", f"{record['accuracy']:.4f}"],
        ["loss", f"{found.loss:.6g}"],
        ["ended", str(found.status)],
        ["steps", f"{found.steps:,}"],
        ["seconds", f"{found.seconds:.2f}"],
    ]
    size = f"{asked.dim_out:,} x {asked.dim_in:,}"
    bound = "" if rank is None else f" of rank {rank}"
    notes = ["Interrupted: this is where it was by then."] if found.interrupted else []
    output.print_table(f"{asked.facts:,} facts in a {size} matrix{bound}", ["", ""], rows, notes)
    output.end(interrupted=found.interrupted)


def _line(progress: Progress) -> str:
    return (
        f"step {progress.step:,}: loss {progress.objective:.5g}, "
        f"{progress.violations:,} facts not recalled"
    )
