"""The pseudo-inverse rule against other ways to least squares, and what it recalls."""

from __future__ import annotations

import numpy as np
import pytest
from definition import BOTH, KINDS, assert_recall_is_counted
from hypothesis import given, settings
from hypothesis import strategies as st

from simonides.estimate import Estimate
from simonides.failures import BadArgumentError
from simonides.problems.original import OriginalProblem
from simonides.problems.whitening import whitened
from simonides.solvers.deciding.decide import decide
from simonides.solvers.rules.hebbian import hebbian, hebbian_weights
from simonides.solvers.rules.pseudo_inverse import pseudo_inverse, pseudo_inverse_weights
from simonides.solvers.solution import Status, Verdict

SIZES = [(3, 8, 5), (8, 8, 8), (30, 8, 5), (30, 5, 8), (1, 4, 3), (12, 1, 1)]


def objective(problem, weights, ridge):
    mean_eigenvalue = np.trace(problem.inputs.T @ problem.inputs) / problem.dim_in
    errors = problem.target_outputs - problem.inputs @ weights.T
    return (errors**2).sum() + ridge * mean_eigenvalue * (weights**2).sum()


def gradient(problem, weights, ridge):
    """The derivative of the objective by W, halved."""
    mean_eigenvalue = np.mean(np.linalg.eigvalsh(problem.inputs.T @ problem.inputs))
    errors = problem.inputs @ weights.T - problem.target_outputs
    return errors.T @ problem.inputs + ridge * mean_eigenvalue * weights


def dependent(facts, dim_in, dim_out, rank, seed=0):
    """A problem whose inputs span only ``rank`` dimensions."""
    rng = np.random.default_rng(seed)
    inputs = rng.standard_normal((facts, rank)) @ rng.standard_normal((rank, dim_in))
    return OriginalProblem(inputs, rng.standard_normal((max(facts, 2), dim_out)))


# The weights.


@BOTH
@pytest.mark.parametrize(("facts", "dim_in", "dim_out"), SIZES)
def test_without_a_ridge_it_is_least_squares(kind, facts, dim_in, dim_out):
    problem = KINDS[kind].gaussian(facts, dim_in, dim_out, candidates=9, seed=1)
    expected = np.linalg.lstsq(problem.inputs, problem.target_outputs)[0].T
    weights = pseudo_inverse_weights(problem)
    assert weights.shape == (dim_out, dim_in)
    np.testing.assert_allclose(weights, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("facts", "dim_in", "rank"), [(20, 6, 3), (6, 20, 3), (7, 7, 1)])
def test_dependent_inputs_leave_the_shortest_weights(facts, dim_in, rank):
    problem = dependent(facts, dim_in, 4, rank)
    weights = pseudo_inverse_weights(problem)
    expected = np.linalg.lstsq(problem.inputs, problem.target_outputs)[0].T
    np.testing.assert_allclose(weights, expected, rtol=1e-8, atol=1e-11)
    assert np.linalg.matrix_rank(weights) <= rank
    # What the inputs do not reach, the weights do not use.
    empty = np.linalg.svd(problem.inputs)[2][rank:]
    np.testing.assert_allclose(weights @ empty.T, 0, atol=1e-12)


@BOTH
@pytest.mark.parametrize("ridge", [1e-3, 0.3, 10.0])
@pytest.mark.parametrize(("facts", "dim_in", "dim_out"), SIZES)
def test_with_a_ridge_it_solves_the_normal_equations(kind, ridge, facts, dim_in, dim_out):
    problem = KINDS[kind].gaussian(facts, dim_in, dim_out, candidates=9, seed=2)
    X, Y = problem.inputs, problem.target_outputs
    matrix = X.T @ X + ridge * np.trace(X.T @ X) / dim_in * np.eye(dim_in)
    expected = np.linalg.solve(matrix, X.T @ Y).T
    np.testing.assert_allclose(
        pseudo_inverse_weights(problem, ridge=ridge), expected, rtol=1e-9, atol=1e-12
    )


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 15),
    st.integers(1, 8),
    st.integers(1, 8),
    st.integers(1, 8),
    st.sampled_from([0.0, 1e-4, 0.1, 1.0, 100.0]),
    st.sampled_from([1e-20, 1.0, 1e20]),
    st.integers(0, 2**32),
)
def test_no_weights_do_better(facts, dim_in, dim_out, rank, ridge, unit, seed):
    drawn = dependent(facts, dim_in, dim_out, rank, seed)
    problem = OriginalProblem(drawn.inputs * unit, drawn.outputs)
    weights = pseudo_inverse_weights(problem, ridge=ridge)
    slope = gradient(problem, weights, ridge)
    size = np.linalg.norm(problem.inputs) * np.linalg.norm(problem.target_outputs)
    # Weights as long as badly conditioned inputs make them round more.
    rounding = 1e-12 * (size + np.linalg.norm(problem.inputs) ** 2 * np.linalg.norm(weights))
    assert np.linalg.norm(slope) < rounding
    least = objective(problem, weights, ridge)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        other = weights + rng.standard_normal(weights.shape) * np.linalg.norm(weights) * 0.1
        assert objective(problem, other, ridge) >= least * (1 - 1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("unit", [1e-30, 1e-3, 1e30])
def test_a_ridge_has_no_units(ridge, unit):
    problem = OriginalProblem.gaussian(25, 6, seed=3)
    scaled = OriginalProblem(problem.inputs * unit, problem.outputs)
    expected = pseudo_inverse(problem, ridge=ridge)
    solution = pseudo_inverse(scaled, ridge=ridge)
    np.testing.assert_allclose(solution.weights * unit, expected.weights, rtol=1e-10)
    assert solution.recalled == expected.recalled
    assert solution.loss == pytest.approx(expected.loss, rel=1e-10)


def test_repeating_every_fact_changes_nothing():
    problem = OriginalProblem.gaussian(25, 6, candidates=8, seed=3)
    twice = OriginalProblem(
        np.tile(problem.inputs, (2, 1)), problem.outputs, np.tile(problem.targets, 2)
    )
    np.testing.assert_allclose(
        pseudo_inverse_weights(twice, ridge=0.2),
        pseudo_inverse_weights(problem, ridge=0.2),
        rtol=1e-10,
    )


@BOTH
def test_a_large_ridge_is_the_hebbian_rule(kind):
    problem = KINDS[kind].gaussian(40, 8, 5, seed=4)
    mean_square = np.mean(problem.inputs**2)
    weights = pseudo_inverse_weights(problem, ridge=1e9) * 1e9 * mean_square
    np.testing.assert_allclose(weights, hebbian_weights(problem), atol=1e-8)
    assert pseudo_inverse(problem, ridge=1e9).recalled == hebbian(problem).recalled


def test_a_small_ridge_is_none():
    problem = OriginalProblem.gaussian(5, 9, seed=4)
    np.testing.assert_allclose(
        pseudo_inverse_weights(problem, ridge=1e-12), pseudo_inverse_weights(problem), atol=1e-9
    )


@pytest.mark.parametrize("facts", [6, 30])
def test_a_larger_ridge_fits_less_and_weighs_less(facts):
    problem = OriginalProblem.gaussian(facts, 8, seed=5)
    solutions = [pseudo_inverse(problem, ridge=ridge) for ridge in (0.0, 0.01, 0.1, 1.0, 10.0)]
    assert np.all(np.diff([solution.loss for solution in solutions]) > 0)
    assert np.all(np.diff([np.linalg.norm(solution.weights) for solution in solutions]) < 0)


# What is recalled.


@BOTH
@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_what_is_recalled_is_counted(kind, ridge):
    problem = KINDS[kind].gaussian(35, 6, seed=2)
    solution = pseudo_inverse(problem, ridge=ridge)
    assert_recall_is_counted(problem, solution)
    assert 0 < solution.recalled < 35
    errors = solution.weights @ problem.inputs.T - problem.target_outputs.T
    assert solution.loss == pytest.approx(np.mean(errors**2), rel=1e-12)
    assert (solution.status, solution.steps) == (Status.CONVERGED, 1)
    assert solution.multipliers is None
    assert solution.seconds >= 0


@BOTH
@pytest.mark.parametrize("facts", [2, 5, 10])
def test_independent_inputs_are_mapped_onto_their_targets(kind, facts):
    for seed in range(10):
        problem = KINDS[kind].gaussian(facts, 10, 3, seed=seed)
        solution = pseudo_inverse(problem)
        assert solution.loss < 1e-16
        # So that the scores are products of outputs, and a long rival can win.
        longest = [
            (problem.competitors(fact)[1] @ target).max()
            for fact, target in enumerate(problem.target_outputs)
        ]
        own = (problem.target_outputs**2).sum(axis=1)
        assert solution.recalled == np.count_nonzero(own > longest)


@pytest.mark.parametrize("facts", [2, 6, 12])
def test_outputs_of_equal_length_are_stored_by_independent_inputs(facts):
    for seed in range(5):
        drawn = OriginalProblem.gaussian(facts, 12, 3, seed=seed)
        outputs = drawn.outputs / np.linalg.norm(drawn.outputs, axis=1, keepdims=True)
        solution = pseudo_inverse(OriginalProblem(drawn.inputs, outputs))
        assert (solution.status, solution.recalled) == (Status.STORED, facts)


def test_fitting_exactly_is_not_storing():
    # The first output lies outside the others' hull, but its neighbours are longer.
    problem = OriginalProblem(np.eye(3), [[1.0, 0.0], [2.0, 1.0], [2.0, -1.0]])
    solution = pseudo_inverse(problem)
    assert (solution.status, solution.recalled) == (Status.CONVERGED, 2)
    assert solution.loss == pytest.approx(0, abs=1e-30)
    assert solution.smallest_gap == pytest.approx(-1)
    assert decide(problem).verdict is Verdict.STORABLE


def test_as_many_facts_as_dimensions_are_stored():
    for seed in range(5):
        solution = pseudo_inverse(OriginalProblem.gaussian(50, 50, seed=seed))
        assert (solution.status, solution.recalled) == (Status.STORED, 50)


@BOTH
@pytest.mark.parametrize("facts", [30, 90])
def test_what_does_not_fit_is_lost(kind, facts):
    # Independent Gaussian targets keep the share that lies in the span of the inputs.
    candidates = {"original": facts, "decoupled": 2}[kind]
    problems = (
        KINDS[kind].gaussian(facts, 15, 6, candidates=candidates, seed=seed) for seed in range(60)
    )
    loss = Estimate.of_mean(np.array([pseudo_inverse(problem).loss for problem in problems]))
    assert abs(loss.value - (1 - 15 / facts)) < 4 * loss.stderr
    assert loss.stderr < 0.02


def shares(rule, facts, instances=12):
    problems = (OriginalProblem.gaussian(facts, 50, seed=seed) for seed in range(instances))
    return np.array([rule(problem).recalled / facts for problem in problems])


def test_it_recalls_more_than_the_hebbian_rule_and_less_so_at_a_high_load():
    gains = {
        facts: Estimate.of_mean(shares(pseudo_inverse, facts) - shares(hebbian, facts))
        for facts in (100, 200, 450)
    }
    for gain in gains.values():
        assert gain.value > 4 * gain.stderr > 0
    low, high = gains[100], gains[450]
    assert low.value - high.value > 4 * np.hypot(low.stderr, high.stderr)


# Other coordinates.


def test_coordinates_of_inputs_do_not_matter_without_a_ridge():
    problem = OriginalProblem.gaussian(25, 4, seed=6)
    change = np.random.default_rng(0).standard_normal((4, 4))
    changed = OriginalProblem(problem.inputs @ change, problem.outputs)
    np.testing.assert_allclose(
        changed.inputs @ pseudo_inverse_weights(changed).T,
        problem.inputs @ pseudo_inverse_weights(problem).T,
        atol=1e-10,
    )


def test_with_white_inputs_it_is_the_hebbian_rule():
    white, _ = whitened(OriginalProblem.gaussian(25, 4, seed=6))
    np.testing.assert_allclose(pseudo_inverse_weights(white), hebbian_weights(white), atol=1e-12)


def test_it_sees_a_shift_of_all_outputs_unless_they_are_whitened():
    problem = OriginalProblem.gaussian(60, 50, seed=0)
    shifted = OriginalProblem(problem.inputs, problem.outputs + 3)
    assert pseudo_inverse(shifted).recalled < 0.8 * pseudo_inverse(problem).recalled
    white, whitening = whitened(shifted)
    solution = pseudo_inverse(white)
    assert solution.recalled == pseudo_inverse(whitened(problem)[0]).recalled == 60
    back = whitening.weights_back(solution.weights)
    assert shifted.scan(shifted.inputs @ back.T, 0.0).recalled == 60


# Edges.


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_zero_inputs_give_zero_weights(ridge):
    outputs = np.random.default_rng(0).standard_normal((3, 4))
    solution = pseudo_inverse(OriginalProblem(np.zeros((3, 2)), outputs), ridge=ridge)
    np.testing.assert_array_equal(solution.weights, np.zeros((4, 2)))
    assert (solution.status, solution.recalled) == (Status.CONVERGED, 0)
    assert solution.loss == pytest.approx(np.mean(outputs**2))


@pytest.mark.parametrize("ridge", [-1e-9, np.nan, np.inf, 1e13, "small", None, True])
def test_impossible_ridges_are_named(ridge):
    problem = OriginalProblem.gaussian(5, 3, seed=0)
    for rule in (pseudo_inverse, pseudo_inverse_weights):
        with pytest.raises(BadArgumentError, match="ridge = "):
            rule(problem, ridge=ridge)
