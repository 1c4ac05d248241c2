"""Two facts that exclude each other are a proof in themselves that not all facts can be stored.

Their inputs are multiples of each other up to rounding. In exact arithmetic weights that tell them apart
may exist, of a margin that is as small as rounding: no proof in double precision can rest on them, and the
rounding of scores alone may make both facts look recalled. Where they were rounded to single precision that
margin may be above the tolerance: then they are a proof only if the tolerance is larger.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from simonides.problems.contradictions import SINGLE, opposed
from simonides.solvers.deciding.proof import proved
from simonides.solvers.solution import Multipliers, Status, Verdict

if TYPE_CHECKING:
    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Solution

_NUDGE = 2.0**-26
"""Normalised lead given to the first of two such facts: far above rounding and far below most margins."""


def contradicted(problem: Problem, solution: Solution, tolerance: float) -> Solution:
    """Return a solution with the proof that two facts make, if there are such and nothing else is proved.

    Weights that recall both by rounding are moved a little, so that they recall the first.
    """
    outputs, refuted = problem.shared_outputs, solution.verdict is Verdict.NOT_STORABLE
    by_rounding = solution.recalled == problem.facts
    if outputs is None or solution.verdict is Verdict.STORABLE or (refuted and not by_rounding):
        return solution
    exact = opposed(problem.inputs, problem.targets)
    pair = exact or opposed(problem.inputs, problem.targets, SINGLE)
    if pair is None:
        return solution
    facts = np.array(pair)
    target, other = problem.targets[facts]
    # Of a negative multiple the target is the same, and any rival does.
    rivals = np.array([other, target] if target != other else [int(target == 0)] * 2)
    if not refuted:
        values = 1 / np.linalg.norm(problem.inputs[facts], axis=1)
        proof = Multipliers(facts, rivals, values)
        told = replace(solution, status=Status.INFEASIBLE, multipliers=proof)
        outcome = proved(problem, told, tolerance)
        refuted = outcome.verdict is Verdict.NOT_STORABLE  # unless rounding is above the tolerance
        solution = outcome if refuted else solution
    if not by_rounding or exact is None:
        return solution
    constraint = np.outer(outputs[target] - outputs[rivals[0]], problem.inputs[facts[0]])
    size = float(np.linalg.norm(solution.weights) / np.linalg.norm(constraint))
    weights = solution.weights + _NUDGE * size * constraint
    recall = problem.recall(problem.images(weights))
    return replace(
        solution,
        status=solution.status if refuted else Status.STOPPED,
        weights=weights,
        factors=None,
        recalled=recall.recalled,
        smallest_gap=recall.smallest_gap,
    )
