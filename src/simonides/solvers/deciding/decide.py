"""Can these facts be stored? A verdict, and the proof of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.certificate import Certificate, Claim, margin_upper, verify
from simonides.interrupts import Keyboard
from simonides.problems import checked
from simonides.solvers.deciding.linear_program import linear_program
from simonides.solvers.deciding.preconditioning import is_out_of_range, whitened_feasibility
from simonides.solvers.deciding.prefix import telling_prefix
from simonides.solvers.hinge.feasibility import feasibility
from simonides.solvers.hinge.low_rank import low_rank
from simonides.solvers.hinge.margin import maximum_margin
from simonides.solvers.solution import Solution, Status
from simonides.solvers.training.cross_entropy import cross_entropy

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from simonides.arrays import Reals
    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Progress


_TRAINING = 5
"""Steps of training for one of a search on the hinge, which costs as much or more."""

_MANY_STEPS = 100
"""Where Newton's method has not decided a small problem after so many, a linear program may."""


class Verdict(StrEnum):
    """What is known about the facts."""

    STORABLE = "storable"
    NOT_STORABLE = "not-storable"
    NOT_FOUND = "not-found"
    """No weights of the given rank were found; there may be some."""

    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class Decision:
    r"""A verdict with its proof, and a bracket of the largest normalised margin.

    The margin is that of :math:`\max_{|W|_F = 1} \min_{ij} (y_i - y_j)^T W x_i / (|y_i - y_j| |x_i|)`; a
    bound that nothing was proved about is infinite. With a rank bound the lower end is that of weights of
    this rank; the upper one always holds for any weights. Where the first facts alone told, ``told_by``
    is their number, and the solution with all it counts is about them. ``seconds`` is what it all took,
    checks included.
    """

    verdict: Verdict
    margin_lower: float
    margin_upper: float
    certificate: Certificate | None
    solution: Solution
    seconds: float = 0.0
    told_by: int | None = None


def decide(
    problem: Problem,
    rank: int | None = None,
    *,
    start: Reals | None = None,
    margin_gap: float | None = None,
    tolerance: float = 1e-9,
    max_steps: int = 400,
    threads: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Decision:
    """Decide whether the facts can be stored, and prove it.

    A verdict is given only if the independent verifier accepts the proof; "not storable" means that no
    weights have a normalised margin above ``tolerance``. With ``margin_gap`` the work goes on until the
    largest margin is known to that relative gap. With ``rank`` the weights are a product of two
    factors; the search for them may fail, which proves nothing. Interrupted, it returns the best weights
    so far, undecided unless a proof was complete.

    >>> from simonides.problems.original import OriginalProblem
    >>> str(decide(OriginalProblem.gaussian(20, 10, seed=0)).verdict)
    'storable'
    """
    start = None if start is None else checked.weights("start", start, problem)
    tolerance = arguments.tolerance(tolerance)
    if margin_gap is not None:
        arguments.real(
            "margin_gap", margin_gap, least=0, most=1, open_least=True, remedy="pass, say, 1e-3"
        )
    options: dict[str, Any] = {"max_steps": max_steps, "threads": threads, "watch": watch}
    if rank is not None and not (margin_gap is None and start is None):
        raise arguments.refuse(
            "rank", rank, "given without margin_gap and start", "drop one of them"
        )
    began = time.perf_counter()
    with Keyboard() as keyboard:
        if rank is None:
            found = _decide(problem, start, margin_gap, {**options, "tolerance": tolerance})
        else:
            found = _decide_rank(problem, rank, tolerance, options)
    if keyboard.interrupted:  # not within a solver, which returns what it has
        found = _undecided(replace(_first(problem, rank, start, threads), interrupted=True))
    return replace(found, seconds=time.perf_counter() - began)


def _first(
    problem: Problem, rank: int | None, start: Reals | None, threads: int | None
) -> Solution:
    """Return the weights from which the search sets out."""
    if rank is None:
        return feasibility(problem, start=start, max_steps=0, threads=threads)
    return low_rank(problem, rank, max_steps=0, threads=threads)


def _decide(
    problem: Problem, start: Reals | None, margin_gap: float | None, options: dict[str, Any]
) -> Decision:
    tolerance = options["tolerance"]
    told = _told_by_few(problem, options)
    if told is not None:
        return told
    solution = whitened_feasibility(problem, start=start, **options)
    if solution is None:
        return _searched(problem, None, start, margin_gap, options)
    best = _decision(problem, solution, tolerance)
    if best.solution.interrupted or best.verdict is Verdict.NOT_STORABLE:
        return best
    if best.verdict is Verdict.STORABLE and margin_gap is None:
        return best
    with Keyboard():
        return _searched(problem, best, solution.weights, margin_gap, options)
    return _interrupted(best)


def _searched(
    problem: Problem,
    best: Decision | None,
    start: Reals | None,
    margin_gap: float | None,
    options: dict[str, Any],
) -> Decision:
    """Return what is found in the coordinates given, or what is known already if that is more."""
    tolerance = options["tolerance"]
    if margin_gap is None:
        solution = feasibility(problem, start=start, **options)
    else:
        solution = maximum_margin(problem, gap=margin_gap, start=start, **options)
    found = _decision(problem, solution, tolerance)
    if best is not None and best.verdict is Verdict.STORABLE is not found.verdict:
        return _interrupted(best) if found.solution.interrupted else best
    if found.verdict is Verdict.UNDECIDED and not found.solution.interrupted:
        found = _programmed(problem, found, tolerance)
    if found.verdict is Verdict.NOT_STORABLE and is_out_of_range(problem):
        return _undecided(replace(found.solution, status=Status.STOPPED, multipliers=None))
    return found


def _programmed(problem: Problem, found: Decision, tolerance: float) -> Decision:
    """Return what a linear program decides where a long search did not, or else what was found."""
    reached = found.solution
    if reached.steps < _MANY_STEPS:
        return found
    with Keyboard():
        solved = linear_program(problem, reached.weights)
        if solved is None:
            return found
        solved = replace(solved, steps=reached.steps, history=reached.history)
        decided = _decision(problem, solved, tolerance)
        if decided.verdict is not Verdict.UNDECIDED:
            return decided
        return _interrupted(found) if decided.solution.interrupted else found
    return _interrupted(found)


def _told_by_few(problem: Problem, options: dict[str, Any]) -> Decision | None:
    """Return the decision if the first facts alone prove that all do not fit, or it was interrupted."""
    few = telling_prefix(problem)
    if few is None:
        return None
    told = _decide(few, None, None, options)
    if told.verdict is Verdict.NOT_STORABLE:
        # The same multipliers, in a proof about all facts.
        told = _decision(problem, told.solution, options["tolerance"])
    elif told.solution.interrupted:
        told = _undecided(told.solution)
    tells = told.verdict is Verdict.NOT_STORABLE or told.solution.interrupted
    return replace(told, told_by=few.facts) if tells else None


def _decide_rank(
    problem: Problem, rank: int, tolerance: float, options: dict[str, Any]
) -> Decision:
    rank = checked.rank(rank, problem)
    told = _told_by_few(problem, {**options, "tolerance": tolerance})
    if told is not None:
        return told
    found = _decision(problem, low_rank(problem, rank, **options), tolerance)
    if found.verdict is Verdict.STORABLE or found.solution.interrupted:
        return found
    with Keyboard():
        unbounded = _decide(problem, None, None, {**options, "tolerance": tolerance})
        full = rank >= min(problem.dim_in, problem.dim_out)
        if unbounded.verdict is Verdict.NOT_STORABLE or full:
            return unbounded
        if not unbounded.solution.interrupted:
            return _trained(problem, rank, found, tolerance, options)
    return _interrupted(found)


def _trained(
    problem: Problem, rank: int, found: Decision, tolerance: float, options: dict[str, Any]
) -> Decision:
    """Search once more, by training: at small ranks it passes where steps on the hinge get stuck."""
    if is_out_of_range(problem):
        return replace(found, verdict=Verdict.NOT_FOUND)
    steps = _TRAINING * options["max_steps"]
    trained = cross_entropy(problem, rank=rank, **{**options, "max_steps": steps})
    again = _decision(problem, trained, tolerance)
    if again.verdict is Verdict.STORABLE:
        return again
    best = max(found, again, key=lambda one: one.solution.recalled)
    if again.solution.interrupted:
        return _interrupted(best)
    return replace(best, verdict=Verdict.NOT_FOUND)


def _decision(problem: Problem, solution: Solution, tolerance: float) -> Decision:
    """Return what the verifier makes of a solution."""
    found = _undecided(solution)
    with Keyboard():
        certificate = _certificate(problem, solution)
        if certificate is None:
            return found
        outcome = verify(certificate, problem, tolerance=tolerance)
        if not outcome.valid:
            return found
        bound = outcome.margin_bound
        if certificate.claim is Claim.NOT_STORABLE:
            return Decision(Verdict.NOT_STORABLE, -np.inf, bound, certificate, solution)
        found = Decision(Verdict.STORABLE, bound, np.inf, certificate, solution)
        return replace(found, margin_upper=margin_upper(certificate, problem))
    return _interrupted(found)


def _interrupted(found: Decision) -> Decision:
    return replace(found, solution=replace(found.solution, interrupted=True))


def _undecided(solution: Solution) -> Decision:
    return Decision(Verdict.UNDECIDED, -np.inf, np.inf, None, solution)


def _certificate(problem: Problem, solution: Solution) -> Certificate | None:
    stored = solution.status is Status.STORED
    proof: dict[str, Any] = {}
    if stored and solution.factors is not None:
        proof["left"], proof["right"] = solution.factors
    elif stored:
        proof["weights"] = solution.weights
    if solution.multipliers is not None:
        proof["pair_facts"] = solution.multipliers.facts
        proof["pair_rivals"] = solution.multipliers.rivals
        proof["multipliers"] = solution.multipliers.values
    if not proof:
        return None
    claim = Claim.STORABLE if stored else Claim.NOT_STORABLE
    return Certificate(claim, problem.fingerprint(), **proof)
