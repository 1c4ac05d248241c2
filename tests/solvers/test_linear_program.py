"""Margins too small for Newton's method: decided by a linear program, and proved as ever."""

from __future__ import annotations

import numpy as np
import pytest
from definition import BOTH, KINDS, leads_of, linear_program_stores, proved_verdict

from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding import linear_program as module
from simonides.solvers.deciding.decide import decide
from simonides.solvers.deciding.linear_program import linear_program
from simonides.solvers.hinge.feasibility import feasibility
from simonides.solvers.solution import Status, Verdict


def between(facts, dim, seed, share):
    """Inputs between those that some weights store, and others: somewhere the margin is zero."""
    first, last = (
        OriginalProblem.gaussian(facts, dim, seed=number) for number in (seed, seed + 1000)
    )
    weights = np.random.default_rng(seed).standard_normal((dim, dim))
    targets = np.argmax(first.inputs @ weights.T @ first.outputs.T, axis=1)
    inputs = (1 - share) * first.inputs + share * last.inputs
    return OriginalProblem(inputs, first.outputs, targets)


def twins(closeness):
    """Two inputs that nearly agree, of facts that do not."""
    problem = OriginalProblem.gaussian(20, 10, seed=2)
    inputs = problem.inputs.copy()
    inputs[1] = inputs[0] + closeness * inputs[1]
    return OriginalProblem(inputs, problem.outputs)


HARD = {
    "twins": (twins(1e-6), Verdict.STORABLE),
    "just storable": (between(20, 5, 0, 0.38244421875), Verdict.STORABLE),
    "barely storable": (between(40, 8, 0, 0.5004072652587891), Verdict.STORABLE),
    "just not storable": (between(20, 5, 2, 0.484375), Verdict.NOT_STORABLE),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(HARD))
def test_small_problems_with_tiny_margins_are_decided(name):
    problem, expected = HARD[name]
    assert proved_verdict(problem) is expected


@BOTH
@pytest.mark.parametrize("facts", [8, 14, 18, 30])
def test_it_agrees_with_newton_on_either_side(kind, facts):
    problem = KINDS[kind].gaussian(facts, 5, seed=facts)
    solution = linear_program(problem, np.eye(5))
    assert solution.status is feasibility(problem).status
    leads = leads_of(problem, solution.weights)
    assert solution.recalled == np.count_nonzero(leads.min(axis=1) > 0)
    if solution.status is Status.STORED:
        assert solution.multipliers is None
    else:
        # The constraints cancel, to rounding.
        pull, size = np.zeros((5, 5)), 0.0
        proof = solution.multipliers
        assert proof.values.min() > 0
        for fact, rival, value in zip(proof.facts, proof.rivals, proof.values, strict=True):
            numbers, outputs = problem.competitors(fact)
            difference = problem.target_outputs[fact] - outputs[numbers == rival][0]
            pull += value * np.outer(difference, problem.inputs[fact])
            size += value * np.linalg.norm(difference) * np.linalg.norm(problem.inputs[fact])
        assert np.linalg.norm(pull) < 1e-12 * size


def test_it_agrees_with_one_program_over_all_pairs():
    rng, stored = np.random.default_rng(0), []
    for _ in range(20):
        problem = OriginalProblem(
            rng.standard_normal((9, 4)), rng.standard_normal((4, 4)), rng.integers(0, 4, 9)
        )
        status = linear_program(problem, np.zeros((4, 4))).status is Status.STORED
        assert status is linear_program_stores(problem)
        stored.append(status)
    assert 0 < stored.count(True) < 20


@pytest.mark.parametrize(("given", "most"), [(None, 10.0), (3.0, 3.0), (0.0, 0.0)])
def test_it_ends_within_its_time(monkeypatch, given, most):
    """Some programs circle without end, and neither Ctrl-C nor a clock of ours reaches them."""
    limits = []
    plain = module.linprog

    def noted(*arguments, options, **more):
        limits.append(options["time_limit"])
        return plain(*arguments, options=options, **more)

    monkeypatch.setattr(module, "linprog", noted)
    solution = linear_program(OriginalProblem.gaussian(14, 5, seed=14), np.eye(5), given)
    assert 0 <= max(limits) <= most
    assert given != 0 or solution.status is Status.STOPPED


def test_it_leaves_large_and_impossible_problems_alone():
    assert linear_program(OriginalProblem.gaussian(5, 21, seed=0), np.eye(21)) is None
    assert linear_program(OriginalProblem.gaussian(1001, 3, seed=0), np.eye(3)) is None
    twice = OriginalProblem(np.eye(3), np.ones((3, 3)))
    assert linear_program(twice, np.eye(3)) is None


def test_a_short_search_is_not_prolonged():
    # Who limits the steps wants an answer soon.
    problem, _ = HARD["just not storable"]
    assert decide(problem, max_steps=20).verdict is Verdict.UNDECIDED
