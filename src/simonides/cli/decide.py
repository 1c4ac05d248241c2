"""``simonides decide``: can these facts be stored?"""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simonides import arguments
from simonides.cli import options, output
from simonides.cli import problem_options as instance
from simonides.cli.grouped import grouped
from simonides.cli.progress import live
from simonides.interrupts import Keyboard

if TYPE_CHECKING:
    from simonides.problems.problem import Problem
    from simonides.solvers.deciding.decide import Decision
    from simonides.solvers.solution import Progress

_MARGIN_GAP = 1e-3


@grouped
def decide(
    request: instance.Request,
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
    if rank is not None and margin:
        raise arguments.refuse("rank", rank, "left out beside --margin", "drop one of them")
    if save is not None:
        _check_path(save)
    asked = request.read()
    from simonides.solvers.deciding.decide import decide as solve

    gap = _MARGIN_GAP if margin else None
    with live(_line, quiet=as_json) as watch:
        found = solve(asked, rank, margin_gap=gap, tolerance=tolerance, watch=watch)
    proof, failure = _saved(found, save)
    interrupted = found.solution.interrupted
    if as_json:
        output.print_json(_record(asked, found, proof))
    else:
        title, notes = output.storing(asked, rank), _notes(asked, found, save, failure)
        output.print_table(title, ["", ""], _rows(asked, found, rank), notes)
        if proof:
            output.print_line(f"proof: {proof}")
    if failure:
        raise failure
    output.end(interrupted=interrupted)


def _check_path(save: str) -> None:
    if not save.endswith(".npz"):
        raise arguments.refuse("save", save, "a file ending in .npz", "rename it")
    output.check_writable("save", save)


def _saved(found: Decision, save: str | None) -> tuple[str | None, BaseException | None]:
    """Return where the proof was saved, or what went wrong: the answer is to be printed all the same."""
    if save is None or found.certificate is None:
        return None, None
    failure: BaseException = KeyboardInterrupt()  # unless it ends, or fails for another reason
    try:
        with Keyboard():
            return str(found.certificate.save(save)), None
    except OSError as error:
        reason = error.strerror or str(error)
        failure = arguments.refuse(
            "save", save, "a file that can be written", f"choose another ({reason})"
        )
    return None, failure


def _record(asked: Problem, found: Decision, proof: str | None) -> dict[str, Any]:
    return {
        "verdict": str(found.verdict),
        "margin_lower": found.margin_lower,
        "margin_upper": found.margin_upper,
        "facts": asked.facts,
        "load": _load(asked),
        "recalled": found.solution.recalled if found.told_by is None else None,
        "told_by": found.told_by,
        "seconds": found.seconds,
        "steps": found.solution.steps,
        "certificate": proof,
        "interrupted": found.solution.interrupted,
    }


def _rows(asked: Problem, found: Decision, rank: int | None) -> list[list[str]]:
    count = asked.facts if found.told_by is None else found.told_by
    of = "" if found.told_by is None else "the first "
    margin = "largest normalised margin" + ("" if rank is None else " at this rank")
    return [
        ["verdict", str(found.verdict)],
        [margin, _bracket(found.margin_lower, found.margin_upper)],
        ["facts recalled", f"{found.solution.recalled:,} of {of}{count:,}"],
        ["load", f"{_load(asked):.4f}"],
        ["steps", f"{found.solution.steps}"],
        ["seconds", f"{found.seconds:.2f}"],
    ]


def _notes(
    asked: Problem, found: Decision, save: str | None, failure: BaseException | None
) -> list[str]:
    notes = []
    impossible = asked.impossible_pair()
    if found.verdict == "not-storable" and impossible is not None:
        fact, rival = impossible
        why = (
            "has an input of zeros"
            if not asked.inputs[fact].any()
            else "has a right output equal to it"
        )
        notes.append(f"No weights let fact {fact} beat output {rival}: the fact {why}.")
    elif found.verdict == "not-storable":
        notes += _contradiction(asked)
    if found.verdict == "not-found":
        notes.append("No weights of this rank were found. That proves nothing: there may be some.")
    if found.verdict == "not-storable" and found.told_by is not None:
        notes.append(f"The first {found.told_by:,} facts alone do not fit, so all do not.")
    if save is not None and failure is None and found.certificate is None:
        kept = f" {save} is left as it was." if Path(save).exists() else ""
        notes.append(f"There is no proof to save.{kept}")
    if found.solution.interrupted:
        notes.append("Interrupted: this is what was known by then.")
    return notes


def _contradiction(asked: Problem) -> list[str]:
    from simonides.problems.contradictions import clashing
    from simonides.problems.original import OriginalProblem

    if not isinstance(asked, OriginalProblem) or asked.targets is None:
        return []
    clashes = clashing(asked.inputs, asked.targets)
    return [
        f"Facts {one} and {other} have equal inputs and different outputs: no weights store both."
        for one, other in clashes[:1]
    ]


def _load(asked: Problem) -> float:
    from simonides.theory.setting import load

    return load(asked.facts, asked.dim_in, asked.dim_out, candidates=asked.candidates)


def _bracket(lower: float, upper: float) -> str:
    if isfinite(lower) and isfinite(upper):
        return f"from {lower:.4g} to {upper:.4g}"
    if isfinite(lower):
        return f"at least {lower:.4g}"
    return f"at most {upper:.4g}" if isfinite(upper) else "not known"


def _line(progress: Progress) -> str:
    line = f"step {progress.step}: {progress.violations:,} facts not recalled"
    lower, upper = progress.margin_lower, progress.margin_upper
    if isfinite(lower) and isfinite(upper):
        return f"{line}, margin in [{lower:.4g}, {upper:.4g}]"
    return f"{line}, margin at most {upper:.1e}" if isfinite(upper) else line
