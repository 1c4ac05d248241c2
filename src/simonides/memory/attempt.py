"""One attempt to store given facts, by any method, in given or in whitened coordinates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from simonides.problems.whitening import Whitening
from simonides.solvers.methods import bounded

if TYPE_CHECKING:
    from simonides.arrays import Reals
    from simonides.memory.recipe import Recipe
    from simonides.problems.problem import SharedProblem
    from simonides.solvers.solution import Solution


def attempt(problem: SharedProblem, recipe: Recipe, start: Reals | None = None) -> Solution:
    """Return what a method finds; ``start`` warm-starts those that can be."""
    method = recipe.solver
    # A method that chooses its own coordinates would only gain rounding from ours.
    whitening = Whitening.of(problem) if recipe.whiten and not method.whitens else None
    task = problem if whitening is None else whitening.applied(problem)
    begin = start if start is None or whitening is None else whitening.weights_forward(start)
    solution = method.solve(
        task,
        rank=recipe.rank if method.bounds_rank else None,
        start=begin,
        seed=recipe.seed,
        watch=recipe.watch,
    )
    if whitening is not None:
        factors = solution.factors
        solution = replace(
            solution,
            weights=whitening.weights_back(solution.weights),
            factors=None if factors is None else whitening.factors_back(*factors),
            certificate=None,  # of the facts in other coordinates
        )
    return bounded(solution, problem, recipe.rank)
