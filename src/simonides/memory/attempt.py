"""One attempt to store given facts, by any method, in given or in whitened coordinates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from simonides.certificate import Certificate, Claim, verify
from simonides.problems.whitening import Whitening
from simonides.solvers.deciding.decide import decide
from simonides.solvers.hinge.low_rank import low_rank
from simonides.solvers.rules.hebbian import hebbian
from simonides.solvers.rules.pseudo_inverse import pseudo_inverse
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.solvers.training.gradient import gradient

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals
    from simonides.certificate.recomputed import Instance
    from simonides.memory.recipe import Recipe
    from simonides.problems.original import OriginalProblem
    from simonides.solvers.solution import Solution

_GAP = 1e-2
"""Relative gap at which a margin counts as the largest."""


def attempt(problem: OriginalProblem, recipe: Recipe, start: Reals | None = None) -> Solution:
    """Return what a method finds; ``start`` warm-starts those that can be."""
    # Cross-entropy is minimised in whitened coordinates anyway; twice would only add rounding.
    if not recipe.whiten or recipe.method == "cross_entropy":
        return bounded(_SOLVE[recipe.method](problem, recipe, start), recipe.rank)
    whitening = Whitening.of(problem)
    begin = None if start is None else whitening.weights_forward(start)
    found = _SOLVE[recipe.method](whitening.applied(problem), recipe, begin)
    found = replace(found, weights=whitening.weights_back(found.weights))
    if found.factors is not None:
        left, right = found.factors
        both = whitening.of_outputs.matrix @ left, whitening.of_inputs.matrix @ right
        found = replace(found, factors=both)
    return bounded(found, recipe.rank)


def proof(problem: Instance, solution: Solution) -> Certificate | None:
    """Return the certificate that a solution's own weights store all facts, if the verifier accepts it."""
    factors = solution.factors
    left, right = (None, None) if factors is None else factors
    weights = solution.weights if factors is None else None
    return _accepted(
        Certificate(Claim.STORABLE, problem.fingerprint(), weights, left, right), problem
    )


def refutation(problem: Instance, solution: Solution) -> Certificate | None:
    """Return the certificate that no weights store all facts, if a solution shows it."""
    pairs = solution.multipliers
    if pairs is None:
        return None
    claim = Certificate(
        Claim.NOT_STORABLE,
        problem.fingerprint(),
        pair_facts=pairs.facts,
        pair_rivals=pairs.rivals,
        multipliers=pairs.values,
    )
    return _accepted(claim, problem)


def _accepted(claim: Certificate, problem: Instance) -> Certificate | None:
    return claim if verify(claim, problem).valid else None


def bounded(found: Solution, rank: int | None) -> Solution:
    """Return the solution, cut to the rank if its method knows of none."""
    if rank is None or found.factors is not None:
        return found
    left, sizes, right = np.linalg.svd(found.weights, full_matrices=False)
    roots = np.sqrt(sizes[:rank])
    factors = left[:, :rank] * roots, right[:rank].T * roots
    return replace(found, weights=factors[0] @ factors[1].T, factors=factors)


def _feasibility(problem: OriginalProblem, recipe: Recipe, start: Reals | None) -> Solution:
    if recipe.rank is not None:
        return _low_rank(problem, recipe, start)
    gap = _GAP if recipe.margin > 0 else None
    return decide(problem, start=start, margin_gap=gap, watch=recipe.watch).solution


def _margin(problem: OriginalProblem, recipe: Recipe, start: Reals | None) -> Solution:
    return decide(problem, start=start, margin_gap=_GAP, watch=recipe.watch).solution


def _low_rank(problem: OriginalProblem, recipe: Recipe, start: Reals | None) -> Solution:
    assert recipe.rank is not None  # checked by the recipe
    return low_rank(problem, recipe.rank, start=start, watch=recipe.watch)


def _cross_entropy(problem: OriginalProblem, recipe: Recipe, start: Reals | None) -> Solution:
    return cross_entropy(
        problem, rank=recipe.rank, start=start, seed=recipe.seed, watch=recipe.watch
    )


def _gradient(problem: OriginalProblem, recipe: Recipe, _start: Reals | None) -> Solution:
    return gradient(problem, rank=recipe.rank, seed=recipe.seed, watch=recipe.watch)


def _pseudo_inverse(problem: OriginalProblem, _recipe: Recipe, _start: Reals | None) -> Solution:
    return pseudo_inverse(problem)


def _hebbian(problem: OriginalProblem, _recipe: Recipe, _start: Reals | None) -> Solution:
    return hebbian(problem)


_SOLVE: dict[str, Callable[[OriginalProblem, Recipe, Reals | None], Solution]] = {
    "feasibility": _feasibility,
    "margin": _margin,
    "low_rank": _low_rank,
    "cross_entropy": _cross_entropy,
    "gradient": _gradient,
    "pseudo_inverse": _pseudo_inverse,
    "hebbian": _hebbian,
}
