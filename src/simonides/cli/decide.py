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
"""Relative gap of the margins that are asked for: the four digits that are printed."""


@grouped
def decide(
    request: instance.Request,
    rank: options.Rank = None,
    method: Annotated[
        str | None, typer.Option(help="Method to search by instead, or your own module:function.")
    ] = None,
    largest_margin: Annotated[
        bool,
        typer.Option(
            "--largest-margin", help="Go on to the largest margin, to a relative gap of 0.001."
        ),
    ] = False,
    max_steps: options.MaxSteps = None,
    time_limit: options.TimeLimit = None,
    tolerance: instance.Tolerance = 1e-9,
    save: Annotated[str | None, typer.Option(help="Write the proof to FILE.npz.")] = None,
    as_json: options.Json = False,
) -> None:
    """Decide whether facts can be stored, and prove it.

    Example: simonides decide --dim 100 --facts 1150 --seed 1 --save proof.npz
    """
    arguments.tolerance(tolerance)
    for name, value in (("rank", rank), ("method", method)):
        if value is not None and largest_margin:
            raise arguments.refuse(
                name, value, "left out beside --largest-margin", "drop one of them"
            )
    if save is not None:
        output.check_writable("save", save, ".npz")
    problem = request.read()
    from simonides.solvers.deciding.decide import decide as solve

    with live(_line, quiet=as_json) as watch:
        decision = solve(
            problem,
            rank,
            method=method,
            seed=None if method is None else request.seed,
            margin_gap=_MARGIN_GAP if largest_margin else None,
            tolerance=tolerance,
            max_steps=max_steps,
            time_limit=time_limit,
            watch=watch,
        )
    proof, failure = _saved(decision, save)
    record = _record(problem, decision, proof)
    record["notes"] = _notes(problem, decision, save, failure)
    words = output.verdict_words(record["verdict"], decision.margin_lower, tolerance)
    rows = [["verdict", words], *_rows(record, rank)]
    output.answer(record, output.storing(problem, rank), rows, as_json=as_json)
    if failure:
        raise failure
    output.end(interrupted=decision.solution.interrupted)


def _saved(decision: Decision, save: str | None) -> tuple[str | None, BaseException | None]:
    """Return where the proof was saved, or what went wrong: the answer is to be printed all the same."""
    if save is None or decision.certificate is None:
        return None, None
    failure: BaseException = KeyboardInterrupt()  # unless it ends, or fails for another reason
    try:
        with Keyboard():
            return str(decision.certificate.save(save)), None
    except OSError as error:
        reason = error.strerror or str(error)
        failure = arguments.refuse(
            "save", save, "a file that can be written", f"choose another ({reason})"
        )
    return None, failure


def _record(problem: Problem, decision: Decision, proof: str | None) -> dict[str, Any]:
    from simonides.theory.setting import load

    sizes = problem.dim_in, problem.dim_out
    return {
        "verdict": str(decision.verdict),
        "margin_lower": decision.margin_lower,
        "margin_upper": decision.margin_upper,
        "facts": problem.facts,
        "load": load(problem.facts, *sizes, candidates=problem.candidates),
        "recalled": decision.solution.recalled,
        "told_by": decision.told_by,
        "seconds": decision.seconds,
        "steps": decision.solution.steps,
        "certificate": proof,
        "interrupted": decision.solution.interrupted,
    }


def _rows(record: dict[str, Any], rank: int | None) -> list[list[str]]:
    margin = "largest normalised margin" + ("" if rank is None else " at this rank")
    return [
        [margin, _bracket(record["margin_lower"], record["margin_upper"])],
        output.recalled(record),
        ["load", f"{record['load']:.4f}"],
        *output.effort(record),
    ]


def _notes(
    problem: Problem, decision: Decision, save: str | None, failure: BaseException | None
) -> list[str]:
    notes = []
    impossible = problem.impossible_pair()
    if decision.verdict == "not-storable" and impossible is not None:
        fact, rival = impossible
        why = (
            "has an input of zeros"
            if not problem.inputs[fact].any()
            else "has a right output equal to it"
        )
        notes.append(f"No weights let fact {fact} beat output {rival}: the fact {why}.")
    elif decision.verdict == "not-storable":
        notes += _contradiction(problem)
    everything = decision.solution.recalled == problem.facts
    if everything and decision.verdict in ("not-storable", "undecided"):
        notes.append("All facts are recalled, but some by no more than what rounding may do.")
    if decision.verdict == "undecided":
        notes += _near_contradiction(problem)
    if decision.verdict == "not-found":
        notes.append("No weights of this rank were found. That proves nothing: there may be some.")
    if decision.verdict == "not-storable" and not everything:
        ending = (
            f"The weights that recall {decision.solution.recalled:,} are where the proof was found"
        )
        notes.append(f"{ending}, not the most that fit: 'simonides capacity' says how many do.")
    if decision.verdict == "not-storable" and decision.told_by is not None:
        notes.append(f"The first {decision.told_by:,} facts alone do not fit, so all do not.")
    if save is not None and failure is None and decision.certificate is None:
        kept = f" {save} is left as it was." if Path(save).exists() else ""
        notes.append(f"There is no proof to save.{kept}")
    return notes + output.cut_short(decision.solution)


def _contradiction(problem: Problem) -> list[str]:
    from simonides.problems.contradictions import SINGLE, clashing, opposed

    if problem.shared_outputs is None:
        return []
    for first, second in clashing(problem.inputs, problem.targets):
        reason = f"Facts {first} and {second} have equal inputs and different outputs"
        return [f"{reason}: no weights store both."]
    for rounding, apart in (("rounding", {}), ("single precision", {"apart": SINGLE})):
        if pair := opposed(problem.inputs, problem.targets, **apart):
            facts = f"The inputs of facts {pair[0]} and {pair[1]}"
            reason = f"{facts} are multiples of each other up to {rounding}"
            return [f"{reason}: no weights store both by a margin above it."]
    return []


def _near_contradiction(problem: Problem) -> list[str]:
    """Say which facts may be why nothing is proved."""
    from simonides.problems.contradictions import SINGLE, opposed

    if problem.shared_outputs is None:
        return []
    pair = opposed(problem.inputs, problem.targets, SINGLE)
    if pair is None:
        return []
    same = problem.targets[pair[0]] == problem.targets[pair[1]]
    why = "negative multiples" if same else "multiples"
    return [
        f"Facts {pair[0]} and {pair[1]} have inputs that are {why} of each other up to single precision, "
        f"and {'one target' if same else 'different targets'}: --tolerance {SINGLE:g} counts them as a "
        "contradiction."
    ]


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
