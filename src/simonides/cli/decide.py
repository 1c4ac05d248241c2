"""``simonides decide``: can these facts be stored?"""

from __future__ import annotations

from math import isfinite, log
from typing import TYPE_CHECKING, Annotated

import typer

from simonides import arguments
from simonides.cli import instance, options, output
from simonides.cli.progress import live

if TYPE_CHECKING:
    from simonides.solvers.solution import Progress

_MARGIN_GAP = 1e-3


def decide(
    dim: options.Dim = None,
    dim_in: options.DimIn = None,
    dim_out: options.DimOut = None,
    facts: instance.Facts = None,
    candidates: options.Candidates = None,
    problem: instance.Kind = "original",
    seed: instance.Seed = None,
    inputs: instance.Inputs = None,
    outputs: instance.Outputs = None,
    targets: instance.Targets = None,
    rank: options.Rank = None,
    margin: Annotated[
        bool, typer.Option(help="Go on to the largest margin, to a relative gap of 0.001.")
    ] = False,
    tolerance: instance.Tolerance = 1e-9,
    save: Annotated[str | None, typer.Option(help="Write the proof to FILE.npz.")] = None,
    as_json: options.Json = False,
) -> None:
    """Decide whether facts can be stored, and prove it.

    Example: simonides decide --dim 100 --facts 1150 --seed 1 --save proof.npz
    """
    arguments.tolerance(tolerance)
    if save is not None:
        if not save.endswith(".npz"):
            raise arguments.refuse("save", save, "a file ending in .npz", "rename it")
        output.check_writable("save", save)
    asked = instance.read_problem(
        (dim, dim_in, dim_out), facts, candidates, problem, seed, (inputs, outputs, targets)
    )
    from simonides.solvers.decide import Verdict
    from simonides.solvers.decide import decide as solve

    with live(_line, quiet=as_json) as watch:
        found = solve(
            asked,
            rank,
            margin_gap=_MARGIN_GAP if margin else None,
            tolerance=tolerance,
            watch=watch,
        )
    interrupted = found.solution.interrupted
    proof = None
    if save is not None and found.certificate is not None:
        proof = str(found.certificate.save(save))
    record = {
        "verdict": str(found.verdict),
        "margin_lower": found.margin_lower,
        "margin_upper": found.margin_upper,
        "facts": asked.facts,
        "load": asked.facts * log(asked.candidates) / (asked.dim_in * asked.dim_out),
        "recalled": found.solution.recalled,
        "seconds": found.seconds,
        "steps": found.solution.steps,
        "certificate": proof,
        "interrupted": interrupted,
    }
    if as_json:
        output.print_json(record)
        output.end(interrupted=interrupted)
        return
    rows = [
        ["verdict", str(found.verdict)],
        ["largest normalised margin", f"from {found.margin_lower:.4g} to {found.margin_upper:.4g}"],
        ["facts recalled", f"{found.solution.recalled:,} of {asked.facts:,}"],
        ["load", f"{record['load']:.4f}"],
        ["steps", f"{found.solution.steps}"],
        ["seconds", f"{found.seconds:.2f}"],
    ]
    size = f"{asked.dim_out:,} x {asked.dim_in:,}"
    bound = "" if rank is None else f" of rank {rank}"
    notes = []
    if found.verdict is Verdict.NOT_FOUND:
        notes.append("No weights of this rank were found. That proves nothing: there may be some.")
    if save is not None and proof is None:
        notes.append("There is no proof to save.")
    if interrupted:
        notes.append("Interrupted: this is what was known by then.")
    output.print_table(f"{asked.facts:,} facts in a {size} matrix{bound}", ["", ""], rows, notes)
    if proof:
        output.print_line(f"proof: {proof}")
    output.end(interrupted=interrupted)


def _line(progress: Progress) -> str:
    line = f"step {progress.step}: {progress.violations:,} facts not recalled"
    lower, upper = progress.margin_lower, progress.margin_upper
    if isfinite(lower) and isfinite(upper):
        return f"{line}, margin in [{lower:.4g}, {upper:.4g}]"
    return f"{line}, margin at most {upper:.1e}" if isfinite(upper) else line
