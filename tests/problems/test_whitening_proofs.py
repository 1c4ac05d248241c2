"""What was decided in whitened coordinates holds in those that were given."""

from __future__ import annotations

import numpy as np
import pytest
from proofs import claim_not_storable, claim_storable
from skewed import all_gaps, skewed

from simonides import verify
from simonides.problems.original import OriginalProblem
from simonides.problems.whitening import whitened
from simonides.solvers.deciding.decide import decide
from simonides.solvers.hinge.feasibility import feasibility
from simonides.solvers.solution import Verdict


def proof_about(problem, solution, whitening):
    """What was found in whitened coordinates, as a certificate about the original problem."""
    if solution.multipliers is None:
        return claim_storable(problem, whitening.weights_back(solution.weights))
    multipliers = solution.multipliers
    return claim_not_storable(problem, multipliers.facts, multipliers.rivals, multipliers.values)


def margins(problem, weights):
    """The normalised lead of every target over every other output."""
    spans = np.linalg.norm(problem.target_outputs[:, None] - problem.outputs, axis=2)
    spans *= np.linalg.norm(problem.inputs, axis=1)[:, None]
    rival = np.arange(problem.candidates) != problem.targets[:, None]
    return (all_gaps(problem, weights)[rival] / spans[rival]) / np.linalg.norm(weights)


@pytest.mark.parametrize("spread", [3.0, 100.0])
@pytest.mark.parametrize("seed", range(3))
def test_margins_change_by_at_most_the_condition_number(spread, seed):
    _, problem = skewed(15, 4, spread=spread, seed=seed)
    white, whitening = whitened(problem)
    weights = np.random.default_rng(seed).standard_normal((4, 4))
    ratio = margins(problem, whitening.weights_back(weights)) / margins(white, weights)
    assert ratio.max() <= whitening.condition
    assert ratio.min() >= 1 / whitening.condition
    assert ratio.max() > 1.2 * ratio.min()


def weighted_sum(problem, facts, rivals, values):
    differences = problem.target_outputs[facts] - problem.outputs[rivals]
    return (values * differences.T) @ problem.inputs[facts]


@pytest.mark.parametrize("spread", [3.0, 100.0])
def test_multipliers_carry_over(spread):
    _, problem = skewed(40, 4, spread=spread, seed=0)
    white, whitening = whitened(problem)
    solution = feasibility(white, tolerance=1e-9 / whitening.condition).multipliers
    inside, outside = (
        weighted_sum(one, solution.facts, solution.rivals, solution.values)
        for one in (white, problem)
    )
    expected = whitening.of_outputs.matrix @ outside @ whitening.of_inputs.matrix
    scale = solution.values.sum()
    np.testing.assert_allclose(inside, expected, atol=1e-13 * whitening.condition * scale)
    # A tolerance smaller by the condition number leaves no doubt about the proof.
    proof = claim_not_storable(problem, solution.facts, solution.rivals, solution.values)
    assert verify(proof, problem, tolerance=1e-9).valid


def test_multipliers_that_cancel_exactly_go_on_cancelling():
    # Opposite inputs ask opposite things of the same outputs.
    x = np.array([3.0, 1.0, 2.0])
    outputs = [[1.0, 300.0], [-2.0, 500.0], [3.0, 0.0]]
    problem = OriginalProblem([x, -x, [1.0, 0, 0]], outputs, [0, 0, 1])
    pair = np.array([0, 1]), np.array([2, 2]), np.ones(2)
    assert not weighted_sum(problem, *pair).any()
    white, _ = whitened(problem)
    np.testing.assert_allclose(weighted_sum(white, *pair), 0, atol=1e-9)


@pytest.mark.parametrize(
    ("facts", "dim_in", "dim_out", "candidates", "spread"),
    [
        (12, 6, 6, None, 3.0),
        pytest.param(16, 6, 6, None, 3.0, marks=pytest.mark.slow),
        (24, 6, 6, None, 3.0),
        (12, 6, 6, None, 1e4),
        pytest.param(16, 6, 6, None, 1e4, marks=pytest.mark.slow),
        (24, 6, 6, None, 1e4),
        (10, 3, 7, 12, 1e3),
        (30, 7, 3, 4, 1e3),
        (5, 8, 6, None, 1e3),  # empty directions
        (50, 4, 6, 3, 1e3),
    ],
)
def test_storability_does_not_change(facts, dim_in, dim_out, candidates, spread):
    for seed in range(2):
        straight, problem = skewed(
            facts, dim_in, dim_out, candidates=candidates, spread=spread, seed=seed
        )
        expected = decide(straight).verdict
        assert expected is not Verdict.UNDECIDED
        white, whitening = whitened(problem)
        decision = decide(white)
        assert decision.verdict is expected
        proof = proof_about(problem, decision.solution, whitening)
        assert str(proof.claim) == str(expected)
        assert verify(proof, problem, tolerance=1e-8).valid
        if spread == 3:  # within reach as it is
            assert decide(problem).verdict is expected


@pytest.mark.slow
def test_both_sides_of_the_threshold_are_tried():
    verdicts = [
        decide(whitened(skewed(facts, 6, spread=1e4, seed=seed)[1])[0]).verdict
        for facts in (12, 16, 24)
        for seed in range(2)
    ]
    assert min(verdicts.count(Verdict.STORABLE), verdicts.count(Verdict.NOT_STORABLE)) >= 2


@pytest.mark.slow
@pytest.mark.parametrize(("facts", "limit"), [(30, 100), (50, 30)])
def test_deciding_takes_fewer_steps(facts, limit):
    before, after = 0, 0
    for seed in range(2):
        _, problem = skewed(facts, 10, spread=100, seed=seed)
        before += feasibility(problem, max_steps=limit).steps
        after += feasibility(whitened(problem)[0]).steps
    assert before >= 2 * after, (before, after)


@pytest.mark.slow
def test_what_was_out_of_reach_is_decided():
    for seed in range(3):
        _, problem = skewed(36, 10, spread=1e4, seed=seed)
        white, whitening = whitened(problem)
        decision = decide(white, tolerance=1e-10)  # to spare for the way back
        assert decision.verdict is not Verdict.UNDECIDED
        assert decision.solution.steps < 40
        assert verify(proof_about(problem, decision.solution, whitening), problem).valid
