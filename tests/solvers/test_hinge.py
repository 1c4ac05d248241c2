"""The hinge with slack: value, gradient and bounds."""

from __future__ import annotations

import numpy as np
import pytest
from dense_hinge import CASES, EXACT, make, residuals_of, rows_of, slacks_of, weights_of

from simonides.problems.original import OriginalProblem
from simonides.solvers.hinge import hinge as module
from simonides.solvers.hinge import kernels
from simonides.solvers.hinge.hinge import SLACK_PRICE, Hinge, HingeProblem


@CASES
@EXACT
@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 30.0])
def test_the_objective_is_the_hinge_with_the_best_slack(kind, facts, candidates, scale, exact):
    problem, weights = make(kind, facts, candidates), weights_of(scale)
    hinge = Hinge.at(HingeProblem(problem, map, exact), weights)
    residuals = residuals_of(problem, weights, exact)
    slacks = slacks_of(problem, weights, exact)
    expected = (residuals @ residuals + SLACK_PRICE * slacks @ slacks) / 2
    assert hinge.objective == pytest.approx(expected, rel=1e-10, abs=1e-12)
    leads = (rows_of(problem) @ weights.ravel()).reshape(facts, -1)
    assert hinge.lost == np.count_nonzero(leads.min(axis=1) <= 0)


@CASES
@EXACT
def test_the_gradient_against_finite_differences(kind, facts, candidates, exact):
    task, weights = HingeProblem(make(kind, facts, candidates), map, exact), weights_of(0.3)
    gradient = Hinge.at(task, weights).gradient
    step = 1e-5
    for place in np.ndindex(3, 4):
        shift = np.zeros((3, 4))
        shift[place] = step
        ahead, behind = (Hinge.at(task, weights + s).objective for s in (shift, -shift))
        slope = (ahead - behind) / (2 * step)
        assert slope == pytest.approx(gradient[place], rel=1e-5, abs=1e-6)


@CASES
@EXACT
@pytest.mark.parametrize("scale", [0.0, 0.3, 3.0])
def test_the_gradient_against_dense_arithmetic(kind, facts, candidates, scale, exact):
    problem, weights = make(kind, facts, candidates), weights_of(scale)
    expected = -residuals_of(problem, weights, exact) @ rows_of(problem, exact)
    state = Hinge.at(HingeProblem(problem, map, exact), weights).gradient
    np.testing.assert_allclose(state.ravel(), expected, rtol=1e-9, atol=1e-10)


@CASES
@EXACT
def test_residuals_are_multipliers_that_bound_any_margin(kind, facts, candidates, exact):
    problem, weights = make(kind, facts, candidates), weights_of(0.3)
    hinge = Hinge.at(HingeProblem(problem, map, exact), weights)
    residuals, own = residuals_of(problem, weights, exact), rows_of(problem, exact)
    lengths = np.linalg.norm(own, axis=1)
    expected = np.linalg.norm(residuals @ own) / (residuals @ lengths)
    rows = own / lengths[:, None]
    assert hinge.margin_upper == pytest.approx(expected, rel=1e-10)
    rng = np.random.default_rng(3)
    for _ in range(50):
        any_weights = rng.standard_normal(12)
        margin = (rows @ any_weights).min() / np.linalg.norm(any_weights)
        assert margin <= hinge.margin_upper * (1 + 1e-12)
    lead = (rows @ weights.ravel()).min()
    assert hinge.margin_lower == pytest.approx(lead / np.linalg.norm(weights), rel=1e-9)


@CASES
@EXACT
def test_multipliers_are_those_of_the_problem_as_given(kind, facts, candidates, exact):
    problem, weights = make(kind, facts, candidates), weights_of(0.3)
    hinge = Hinge.at(HingeProblem(problem, map, exact), weights)
    multipliers = hinge.multipliers()
    assert (multipliers.values > 0).all()
    total = np.zeros((3, 4))
    for fact, rival, value in zip(
        multipliers.facts, multipliers.rivals, multipliers.values, strict=True
    ):
        numbers, vectors = problem.competitors(fact)
        difference = problem.target_outputs[fact] - vectors[list(numbers).index(rival)]
        total += value * np.outer(difference, problem.inputs[fact])
    np.testing.assert_allclose(-total, hinge.gradient, rtol=1e-10, atol=1e-12)


def test_lengths_do_not_matter():
    problem = make("original", 12, 5)
    lengths = 10 ** np.random.default_rng(0).uniform(-3, 3, (12, 1))
    longer = OriginalProblem(problem.inputs * lengths, problem.outputs * 7.0, problem.targets)
    weights = weights_of(0.3)
    one, other = (Hinge.at(HingeProblem(each, map), weights) for each in (problem, longer))
    assert one.objective == pytest.approx(other.objective, rel=1e-12)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-10, atol=1e-12)


@CASES
@EXACT
@pytest.mark.parametrize("scale", [0.01, 0.3, 3.0])
def test_doubled_weights_need_no_other_pass(kind, facts, candidates, exact, scale):
    task = HingeProblem(make(kind, facts, candidates), map, exact)
    hinge = Hinge.at(task, weights_of(scale))
    for _ in range(4):
        passed, hinge = Hinge.at(task, 2 * hinge.weights), hinge.doubled()
        np.testing.assert_array_equal(hinge.weights, passed.weights)
        np.testing.assert_array_equal(hinge.images, passed.images)
        np.testing.assert_array_equal(hinge.scan.pairs.rivals, passed.scan.pairs.rivals)
        np.testing.assert_array_equal(hinge.scan.pairs.pointer, passed.scan.pairs.pointer)
        np.testing.assert_allclose(hinge.residuals, passed.residuals, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(hinge.gradient, passed.gradient, rtol=1e-12, atol=1e-12)
        assert (hinge.lost, hinge.margin_upper) == (passed.lost, pytest.approx(passed.margin_upper))


def test_known_images_are_used():
    problem, weights = make("original", 8), weights_of(0.3)
    task = HingeProblem(problem, map)
    np.testing.assert_allclose(task.inputs, problem.inputs / task.lengths[:, None], rtol=1e-15)
    here = Hinge.at(task, 2 * weights)
    given = here.try_at(weights, task.images(weights))
    assert given.objective == here.try_at(weights).objective == Hinge.at(task, weights).objective
    np.testing.assert_allclose(task.images(weights), task.inputs @ weights.T, rtol=1e-14)
    rows = np.random.default_rng(0).standard_normal((8, 3))
    np.testing.assert_allclose(task.outer(rows), rows.T @ task.inputs, rtol=1e-12, atol=1e-14)


@CASES
@EXACT
@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0, 10.0, 30.0, 1000.0])
def test_the_smallest_gap_is_found_among_close_pairs_and_others(
    kind, facts, candidates, exact, scale
):
    problem, weights = make(kind, facts, candidates), weights_of(scale)
    recall = Hinge.at(HingeProblem(problem, map, exact), weights).recall()
    gaps = [
        (problem.target_outputs[fact] - problem.competitors(fact)[1])
        @ weights
        @ problem.inputs[fact]
        for fact in range(facts)
    ]
    assert recall.recalled == sum(gap.min() > 0 for gap in gaps)
    assert recall.smallest_gap == pytest.approx(min(gap.min() for gap in gaps), rel=1e-10)


@EXACT
def test_a_short_input_may_have_the_smallest_gap_though_no_pair_of_it_is_close(exact):
    inputs = np.diag([1.0, 1.0, 0.3, 1.0])
    problem = OriginalProblem(inputs, np.eye(4), np.arange(4))
    for weights in (np.diag([1.0, 9.0, 2.5, 9.0]), np.diag([9.0, 9.0, 2.5, 9.0])):
        hinge = Hinge.at(HingeProblem(problem, map, exact), weights)
        assert not (hinge.close.pairs.facts == 2).any()
        assert hinge.recall().smallest_gap == pytest.approx(0.75)


def test_a_short_output_far_away_may_have_the_smallest_gap():
    outputs = np.array([[1.0, 0, 0], [0, 0.1, 0], [0, 0, 1.0]])
    problem = OriginalProblem(np.eye(2), outputs, np.array([0, 2]))
    weights = np.array([[1.2, 0], [0, 0], [-1.0, 1.3]])
    recall = Hinge.at(HingeProblem(problem, map), weights).recall()
    assert (recall.recalled, recall.smallest_gap) == (2, pytest.approx(1.2))


def test_count_and_smallest_gap_agree_where_a_target_is_zero():
    rng = np.random.default_rng(0)
    for _ in range(300):
        w, y = rng.standard_normal((2, 3))
        y[2] = -(w[0] * y[0] + w[1] * y[1]) / w[2]
        outputs = np.array([[0.0, 0, 0], 1e-3 * y])
        problem = OriginalProblem(np.ones((1, 1)), outputs, np.array([0]))
        recall = Hinge.at(HingeProblem(problem, map), 1e-6 * w[:, None]).recall()
        assert (recall.recalled == 1) == (recall.smallest_gap > 0)


def test_zero_inputs_stay_zero():
    inputs = np.array([[0.0, 0.0], [3.0, 4.0]])
    task = HingeProblem(OriginalProblem(inputs, np.eye(2)), map)
    assert task.inputs.tolist() == [[0.0, 0.0], [0.6, 0.8]]
    hinge = Hinge.at(task, np.eye(2))
    assert np.isfinite(hinge.gradient).all()
    assert np.isfinite(hinge.multipliers().values).all()


def test_a_step_that_breaks_far_more_pairs_is_refused(monkeypatch):
    problem = OriginalProblem(np.eye(3, 4), np.eye(3))
    good = Hinge.at(HingeProblem(problem, map), 10 * np.eye(3, 4))
    assert (good.lost, len(good.close.pairs)) == (0, 0)
    monkeypatch.setattr(module, "_ALWAYS_FIT", 0)
    assert good.try_at(-good.weights) is None
    assert good.try_at(good.weights).objective == good.objective
    monkeypatch.setattr(module, "_ALWAYS_FIT", 6 * 6)
    assert good.try_at(-good.weights).lost > good.lost


@EXACT
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_the_lower_margin_is_a_bound_at_any_scale(exact, scale):
    problem = make("original", 8)
    hinge = Hinge.at(HingeProblem(problem, map, exact), weights_of(scale))
    lengths = np.linalg.norm(problem.inputs, axis=1)
    leads = [
        (problem.target_outputs[i] - rivals)
        @ hinge.weights
        @ problem.inputs[i]
        / np.linalg.norm(problem.target_outputs[i] - rivals, axis=1)
        / lengths[i]
        for i in range(8)
        for rivals in [problem.competitors(i)[1]]
    ]
    least = np.min(leads) / np.linalg.norm(hinge.weights)
    assert hinge.margin_lower <= least * (1 + 1e-12 * np.sign(least))
    if scale <= 1:
        assert hinge.margin_lower == pytest.approx(least)


@pytest.mark.parametrize("seed", range(20))
def test_the_objective_does_not_depend_on_where_arrays_lie(seed):
    # Compiled loops look at addresses, and take an array right behind another for a part of it.
    pointer = np.arange(0, 7 * 1701, 7)
    excess = np.random.default_rng(seed).standard_normal(pointer[-1]) + 0.5
    objectives = set()
    for apart in (0, 2, 4, 1000):
        memory = np.empty(2 * len(excess) + apart)
        first, last = memory[: len(excess)], memory[len(excess) + apart :]
        first[:] = excess
        objectives.add(kernels.share_slack(first, pointer, SLACK_PRICE, last))
    assert len(objectives) == 1
