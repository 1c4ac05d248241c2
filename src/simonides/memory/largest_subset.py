"""When not every fact fits: as many as can be found.

Weights that minimise the cross-entropy of all facts recall few of them, but tell which are easy: those
whose target leads most, for the length of their input. The longest storable run of facts in that order is
found by bisection. Beyond capacity it holds more facts than as many random ones would fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simonides.memory.scoring import Scorer, leading
from simonides.solvers.training.cross_entropy import cross_entropy

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Integers, Reals, Truths
    from simonides.memory.recipe import Recipe
    from simonides.problems.original import OriginalProblem
    from simonides.solvers.solution import Solution

_RESOLUTION = 0.02
_FIRST_GAP = 0.03


def stored_facts(problem: OriginalProblem, solution: Solution, margin: float) -> Truths:
    """Return which facts a solution stores: the target leads by more than the margin."""
    scorer = Scorer(solution.weights, solution.factors, problem.outputs)
    return leading(scorer, problem.inputs, problem.targets, margin)


def store_most(
    problem: OriginalProblem,
    recipe: Recipe,
    attempt: Callable[[OriginalProblem, Recipe, Reals | None], Solution],
    first: Solution,
    guess: float,
) -> Solution:
    """Return the solution that stores most facts of all those tried, ``first`` among them.

    ``guess`` is about how many may fit.
    """
    trained = cross_entropy(problem, rank=recipe.rank, seed=recipe.seed, watch=recipe.watch)
    order = _easiest_first(problem, trained)
    most, best = max(
        ((_count(problem, tried, recipe), tried) for tried in (first, trained)),
        key=lambda counted: counted[0],
    )
    start: Reals | None = None
    low, high = 0, problem.facts
    trial = int(min(max(guess, 1), high - 1))
    gap = max(1, round(_FIRST_GAP * guess))
    while most < problem.facts and low < trial < high:
        part = _part(problem, order[:trial])
        found = attempt(part, recipe, start)
        if found.interrupted:
            break
        if stored_facts(part, found, recipe.margin).all():
            low, start = trial, found.weights
            stored = _count(problem, found, recipe)
            if stored > most:
                most, best = stored, found
        else:
            high = trial
        if high - low <= max(1, _RESOLUTION * low):
            break
        # From the guess in growing steps, then by halves.
        if low == 0:
            trial = max(high - gap, high // 2)
        elif high == problem.facts:
            trial = min(low + gap, (low + high + 1) // 2)
        else:
            trial = (low + high) // 2
        gap *= 2
    return best


def _count(problem: OriginalProblem, solution: Solution, recipe: Recipe) -> int:
    return int(np.count_nonzero(stored_facts(problem, solution, recipe.margin)))


def _part(problem: OriginalProblem, facts: Integers) -> OriginalProblem:
    return problem.subset(np.sort(facts))


def _easiest_first(problem: OriginalProblem, trained: Solution) -> Integers:
    scorer = Scorer(trained.weights, trained.factors, problem.outputs)
    lengths = np.linalg.norm(problem.inputs, axis=1)
    leads = scorer.leads(problem.inputs, problem.targets)
    # A zero input gives every output the same score: it is the hardest.
    ease = np.where(lengths > 0, leads / np.where(lengths > 0, lengths, 1.0), -np.inf)
    return np.argsort(-ease, kind="stable")
