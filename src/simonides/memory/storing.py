"""Storing facts: an attempt at all of them, then as many as can be, and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from simonides.certificate import Claim
from simonides.memory.attempt import attempt
from simonides.memory.budget import refuse_if_too_large, streams
from simonides.memory.largest_subset import store_most, stored_facts
from simonides.memory.mapped import MappedProblem
from simonides.memory.scoring import Scorer, leading
from simonides.memory.streaming import streamed
from simonides.problems import checked
from simonides.solvers.deciding.proof import proved
from simonides.solvers.factors import truncated
from simonides.solvers.solution import Status
from simonides.theory.capacity import capacity_of
from simonides.theory.setting import Setting

if TYPE_CHECKING:
    from simonides.arrays import Reals, Truths
    from simonides.certificate import Certificate, Instance
    from simonides.memory.facts import Facts
    from simonides.memory.recipe import Recipe
    from simonides.solvers.solution import Solution
    from simonides.theory.capacity import Capacity


@dataclass(frozen=True, eq=False)
class Stored:
    """Weights, which facts they store, the proof for or against all of them, and theory beside it.

    A proof for is of these weights, and only where they store every fact; one against holds of any.
    """

    solution: Solution
    stored: Truths
    certificate: Certificate | None
    capacity: Capacity
    load: float


def store(facts: Facts, recipe: Recipe, start: Reals | None = None) -> Stored:
    """Store facts by a recipe; ``start`` warm-starts the methods that can be."""
    setting = setting_of(facts, recipe)
    theory = capacity_of(setting)
    load = setting.load(len(facts.targets))
    if streams(facts, recipe):
        mapped = MappedProblem.of(facts, normalize=recipe.normalize_outputs)
        solution = streamed(facts, mapped.outputs, recipe.method, recipe.watch)
        if recipe.rank is not None:
            factors = truncated(solution.weights, recipe.rank)
            solution = replace(solution, weights=factors[0] @ factors[1].T, factors=factors)
        scorer = Scorer(solution.weights, solution.factors, mapped.outputs)
        stored = leading(scorer, facts.inputs, facts.targets, recipe.margin)
        # Passes over a large file are dear, and a fact that is not stored leaves nothing to prove.
        certificate = _proof(mapped, solution, stored)
        return Stored(solution, stored, certificate, theory, load)
    refuse_if_too_large(facts, recipe)
    problem = facts.problem(recipe.normalize_outputs)
    solution = attempt(problem, recipe, start)
    stored = stored_facts(problem, solution, recipe.margin)
    # Before other weights replace these, whose multipliers are about all facts.
    against = None if stored.all() else _proof(problem, solution, stored)
    if recipe.strict and not stored.all() and not solution.interrupted:
        fixed = replace(setting, candidates=problem.candidates)
        guess = capacity_of(fixed).facts
        solution = store_most(problem, recipe, attempt, solution, guess)
        stored = stored_facts(problem, solution, recipe.margin)
    certificate = _proof(problem, solution, stored) if stored.all() else against
    return Stored(solution, stored, certificate, theory, load)


def _proof(problem: Instance, solution: Solution, stored: Truths) -> Certificate | None:
    """Return the proof that a solution comes with, or one that is made now: for all facts or against."""
    claim = Claim.STORABLE if stored.all() else Claim.NOT_STORABLE
    proof = solution.certificate
    # A solution found on a part of the facts comes with a proof about that part.
    if proof is not None and proof.claim is claim and proof.fingerprint == problem.fingerprint():
        return proof
    if not stored.all() and solution.multipliers is None:
        return None
    status = Status.STORED if stored.all() else Status.INFEASIBLE
    return proved(problem, replace(solution, status=status)).certificate


def setting_of(facts: Facts, recipe: Recipe) -> Setting:
    """Return what theory is to be asked about these facts."""
    dim_in, dim_out = int(np.shape(facts.inputs)[1]), int(facts.outputs.shape[1])
    candidates = None if facts.paired else len(facts.outputs)
    rank = None if recipe.rank is None else checked.rank_of_shape(recipe.rank, dim_in, dim_out)
    return Setting(dim_in, dim_out, candidates, rank, recipe.margin)
