"""Deciding in whitened coordinates, where data whose directions differ in size take far fewer steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.interrupts import completed
from simonides.problems.problem import sharing
from simonides.problems.units import Units
from simonides.problems.whitening import Whitening
from simonides.solvers.hinge.feasibility import feasibility
from simonides.solvers.solution import Status
from simonides.threads import crew

if TYPE_CHECKING:
    from simonides.arrays import Reals
    from simonides.problems.problem import Problem, SharedProblem
    from simonides.solvers.solution import Solution

_UNEVEN = 30.0
"""Data are worth whitening if directions differ in size by more than this, inputs and outputs together."""

_SHIFTED = 3.0
"""So are data whose outputs have a mean larger than this, in units of their spread."""

_WIDEST = 1e50
"""Outputs whose lengths differ by more would leave the range of numbers."""

_WIDEST_UNITS = 900
"""Units that differ by a larger power of two leave a proof no digits: doubles end at the power -1074."""

_CAUTION = 0.1
"""Solve to this fraction of the tolerance: bounds on the margin change on the way back."""


def preconditioned_feasibility(
    problem: Problem, *, start: Reals | None = None, tolerance: float = 1e-9, **options: Any
) -> Solution | None:
    """Return what ``feasibility`` finds in whitened coordinates, or None where these are no better.

    Weights and multipliers are those of the problem as it was given; whether they prove anything
    about it has to be checked anew.
    """
    shared = sharing(problem)
    if shared is None or shared.impossible_pair() is not None:
        return None
    of_outputs = np.linalg.norm(shared.outputs, axis=1)
    if of_outputs.max() > _WIDEST * of_outputs[of_outputs > 0].min():
        return None
    with crew(1):  # so that no digit depends on the number of threads
        lengths, even = _lengths(shared), _unit_rows(shared)
        units = Units.of(even)
        if units.spread > np.log2(_UNEVEN):
            if not units.keep_in_range(even):
                return None
            scaled = units.applied(even)
            # In other units rows have other lengths.
            lengths, even = lengths * _lengths(scaled), _unit_rows(scaled)
        elif _is_even(even) and not _is_shifted(even):
            return None
        else:
            units = units.left_alone()
        whitening = Whitening.of(even)
        begin = None
        if start is not None:
            begin = _largest_is_one(whitening.weights_forward(units.weights_forward(start)))
        white = whitening.applied(even)
    solution = feasibility(white, start=begin, tolerance=_CAUTION * tolerance, **options)
    with crew(options.get("threads")) as each:
        weights = _largest_is_one(units.weights_back(whitening.weights_back(solution.weights)))
        recall, late = completed(lambda: problem.recall(problem.images(weights), each))
    proof, status = solution.multipliers, solution.status
    if proof is not None:
        proof = replace(proof, values=proof.values / lengths[proof.facts])
    if status is Status.STORED and recall.recalled < problem.facts:
        status = Status.STOPPED
    return replace(
        solution,
        weights=weights,
        status=status,
        multipliers=proof,
        recalled=recall.recalled,
        smallest_gap=recall.smallest_gap,
        interrupted=solution.interrupted or late,
    )


def is_out_of_range(problem: Problem) -> bool:
    """Return whether weights that store the facts may lie beyond the range of numbers.

    In the coordinates given such facts look as if they could not be stored.
    """
    shared = sharing(problem)
    if shared is None or shared.impossible_pair() is not None:
        return False
    return Units.of(_unit_rows(shared)).spread > _WIDEST_UNITS


def _largest_is_one(weights: Reals) -> Reals:
    return np.asarray(weights / max(float(np.abs(weights).max()), np.finfo(float).tiny))


def _unit_rows(problem: SharedProblem) -> SharedProblem:
    """Return the problem with inputs of unit length, which changes no recall."""
    return problem.recoded(problem.inputs / _lengths(problem)[:, None], problem.outputs)


def _lengths(problem: SharedProblem) -> Reals:
    return np.asarray(np.linalg.norm(problem.inputs, axis=1))


def _is_even(problem: SharedProblem) -> bool:
    """Return whether directions differ little in size, by a quick look at second moments."""
    condition = 1.0
    for rows in (problem.inputs, problem.outputs - problem.outputs.mean(axis=0)):
        sizes = np.linalg.eigvalsh(rows.T @ rows)
        # Their ratio may be beyond all numbers.
        if sizes[0] <= 0 or sizes[0] * _UNEVEN**2 < sizes[-1]:
            return False
        condition *= np.sqrt(sizes[-1] / sizes[0])
    return bool(condition <= _UNEVEN)


def _is_shifted(problem: SharedProblem) -> bool:
    centre = problem.outputs.mean(axis=0)
    spread = float(np.linalg.norm(problem.outputs - centre)) / np.sqrt(problem.candidates)
    return bool(np.linalg.norm(centre) > _SHIFTED * spread)
