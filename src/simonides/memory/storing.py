"""Storing facts: an attempt at all of them, then as many as can be, and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from simonides.memory.attempt import attempt, bounded, proof, refutation
from simonides.memory.budget import refuse_if_too_large, streams
from simonides.memory.largest_subset import store_most, stored_facts
from simonides.memory.mapped import MappedProblem
from simonides.memory.scoring import Scorer, leading
from simonides.memory.streaming import streamed
from simonides.problems import checked
from simonides.theory.capacity import capacity_of
from simonides.theory.setting import Setting

if TYPE_CHECKING:
    from simonides.arrays import Reals, Truths
    from simonides.certificate import Certificate
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
        solution = bounded(solution, recipe.rank)
        scorer = Scorer(solution.weights, solution.factors, mapped.outputs)
        stored = leading(scorer, facts.inputs, facts.targets, recipe.margin)
        # Passes over a large file are dear, and a fact that is not stored leaves nothing to prove.
        certificate = proof(mapped, solution) if stored.all() else None
        return Stored(solution, stored, certificate, theory, load)
    refuse_if_too_large(facts, recipe)
    problem = facts.problem(recipe.normalize_outputs)
    solution = attempt(problem, recipe, start)
    stored = stored_facts(problem, solution, recipe.margin)
    # Before other weights replace these, whose multipliers are about all facts.
    against = None if stored.all() else refutation(problem, solution)
    if recipe.strict and not stored.all() and not solution.interrupted:
        fixed = replace(setting, candidates=problem.candidates)
        guess = capacity_of(fixed).facts
        solution = store_most(problem, recipe, attempt, solution, guess)
        stored = stored_facts(problem, solution, recipe.margin)
    certificate = proof(problem, solution) if stored.all() else against
    return Stored(solution, stored, certificate, theory, load)


def setting_of(facts: Facts, recipe: Recipe) -> Setting:
    """Return what theory is to be asked about these facts."""
    dim_in, dim_out = int(np.shape(facts.inputs)[1]), int(facts.outputs.shape[1])
    candidates = None if facts.paired else len(facts.outputs)
    rank = None if recipe.rank is None else checked.rank_of_shape(recipe.rank, dim_in, dim_out)
    return Setting(dim_in, dim_out, candidates, rank, recipe.margin)
