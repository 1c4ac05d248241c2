"""Deciding in whitened coordinates: what is found there holds for the facts as they were given."""

from __future__ import annotations

import numpy as np
import pytest
from definition import assert_recall_is_counted, leads_of
from proofs import claim_not_storable

from simonides.certificate import verify
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.preconditioning import preconditioned_feasibility
from simonides.solvers.solution import Status


def uneven(facts, decades=3, seed=1):
    """Directions that differ in size on both sides, and inputs that differ in length."""
    drawn = OriginalProblem.gaussian(facts, 6, seed=seed)
    lengths = 10 ** np.random.default_rng(seed).uniform(-2, 2, (facts, 1))
    stretch = np.logspace(0, decades, 6)
    return OriginalProblem(drawn.inputs * stretch * lengths, drawn.outputs * stretch)


@pytest.mark.parametrize("seed", range(4))
def test_weights_found_store_the_facts_as_given(seed):
    problem = uneven(8, seed=seed)
    solution = preconditioned_feasibility(problem)
    assert solution.status is Status.STORED
    assert leads_of(problem, solution.weights).min() > 0
    assert solution.recalled == 8
    assert_recall_is_counted(problem, solution)


@pytest.mark.parametrize("seed", range(4))
def test_multipliers_found_are_a_proof_about_the_facts_as_given(seed):
    problem = uneven(40, seed=seed)
    solution = preconditioned_feasibility(problem)
    assert solution.status is Status.INFEASIBLE
    multipliers = solution.multipliers
    proof = claim_not_storable(problem, multipliers.facts, multipliers.rivals, multipliers.values)
    assert verify(proof, problem, tolerance=1e-9).valid
    assert_recall_is_counted(problem, solution)


def test_weights_that_store_are_a_start_from_which_no_step_is_left():
    problem = uneven(8)
    first = preconditioned_feasibility(problem)
    again = preconditioned_feasibility(problem, start=first.weights)
    assert (again.status, again.steps) == (Status.STORED, 0)


def test_only_data_that_gain_by_it_are_whitened():
    even = OriginalProblem.gaussian(40, 6, seed=0)
    assert preconditioned_feasibility(even) is None
    assert preconditioned_feasibility(DecoupledProblem.gaussian(40, 6, seed=0)) is None
    shifted = OriginalProblem(even.inputs, even.outputs + 20)
    assert preconditioned_feasibility(shifted).status is Status.INFEASIBLE
    longer = OriginalProblem(even.inputs * np.logspace(-3, 3, 40)[:, None], even.outputs)
    assert preconditioned_feasibility(longer) is None  # lengths of inputs do not matter


def test_facts_that_no_weights_store_are_left_to_the_obvious_proof():
    inputs, outputs = uneven(8).inputs.copy(), uneven(8).outputs
    inputs[3] = 0
    assert preconditioned_feasibility(OriginalProblem(inputs, outputs)) is None
