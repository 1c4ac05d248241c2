"""The hinge with slack: value, derivatives, bounds, and the curvature in both precisions."""

from __future__ import annotations

import numpy as np
import pytest
from definition import BOTH, KINDS
from dense_hinge import CASES, residuals_of, rows_of, slacks_of

from simonides.problems.original import OriginalProblem
from simonides.solvers import hinge as module
from simonides.solvers.hinge import SLACK_PRICE, Curvature, Hinge, Task


def make(kind, facts, candidates=None, seed=0):
    return KINDS[kind].gaussian(facts, 4, 3, candidates=candidates, seed=seed)


def weights_of(scale, seed=1):
    return scale * np.random.default_rng(seed).standard_normal((3, 4))


EXACT = pytest.mark.parametrize("exact", [False, True], ids=["sizes", "spans"])


@CASES
@EXACT
@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 30.0])
def test_the_objective_is_the_hinge_with_the_best_slack(kind, facts, candidates, scale, exact):
    problem, weights = make(kind, facts, candidates), weights_of(scale)
    hinge = Hinge.at(Task(problem, map, exact), weights)
    residuals = residuals_of(problem, weights, exact)
    slacks = slacks_of(problem, weights, exact)
    expected = (residuals @ residuals + SLACK_PRICE * slacks @ slacks) / 2
    assert hinge.objective == pytest.approx(expected, rel=1e-10, abs=1e-12)
    leads = (rows_of(problem) @ weights.ravel()).reshape(facts, -1)
    assert hinge.lost == np.count_nonzero(leads.min(axis=1) <= 0)


@CASES
@EXACT
def test_the_gradient_against_finite_differences(kind, facts, candidates, exact):
    task, weights = Task(make(kind, facts, candidates), map, exact), weights_of(0.3)
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
    found = Hinge.at(Task(problem, map, exact), weights).gradient
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-9, atol=1e-10)


@CASES
@EXACT
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_the_curvature_against_dense_arithmetic(kind, facts, candidates, precision, exact):
    problem, weights = make(kind, facts, candidates), weights_of(0.3)
    hinge = Hinge.at(Task(problem, map, exact), weights)
    curvature = Curvature(hinge, precision)
    residuals = residuals_of(problem, weights, exact)
    active = rows_of(problem, exact)[residuals > 0]
    owners = np.repeat(np.arange(facts), len(residuals) // facts)[residuals > 0]
    same = (owners[:, None] == owners) / (
        np.bincount(owners, minlength=facts)[owners] + SLACK_PRICE
    )
    # It sets the unit of the damping; pairs have length one, or up to the root of two.
    trace = np.trace(active.T @ active)
    assert trace / 2 <= curvature.trace * (1 + 1e-12)
    if exact:
        assert curvature.trace == pytest.approx(trace, rel=1e-12)
    direction = weights_of(1.0, seed=2)
    found = curvature(direction.astype(precision))
    assert found.dtype == precision
    leads = active @ direction.ravel()
    expected = (active.T @ (leads - same @ leads)).reshape(3, 4)
    # Differences of outputs cancel, by at most the ratio of lengths to spans: a few here.
    error = np.linalg.norm(found - expected) / max(np.linalg.norm(expected), 1e-9)
    assert error < 200 * np.finfo(precision).eps


@CASES
def test_the_curvature_is_the_derivative_of_the_gradient(kind, facts, candidates):
    # The hinge is piecewise quadratic: over a step that changes no active pair, exactly.
    task, weights = Task(make(kind, facts, candidates), map), weights_of(0.3)
    hinge, direction = Hinge.at(task, weights), weights_of(1e-6, seed=2)
    ahead = Hinge.at(task, weights + direction)
    np.testing.assert_array_equal(ahead.scan.pairs.rivals, hinge.scan.pairs.rivals)
    np.testing.assert_array_equal(ahead.scan.pairs.pointer, hinge.scan.pairs.pointer)
    change = ahead.gradient - hinge.gradient
    np.testing.assert_allclose(
        change, Curvature(hinge, np.float64)(direction), rtol=1e-6, atol=1e-14
    )


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@BOTH
def test_leaving_out_inactive_facts_changes_nothing(kind, precision, monkeypatch):
    problem = KINDS[kind].gaussian(700, 4, 3, candidates=3, seed=0)
    # All facts are active at small weights; few, in the middle of others, at large ones.
    share = {}
    for scale in (0.1, 50.0):
        hinge = Hinge.at(Task(problem, map), scale * problem.target_outputs.T @ problem.inputs)
        share[scale] = np.count_nonzero(np.diff(hinge.scan.pairs.pointer)) / 700
        direction = weights_of(1.0, seed=2).astype(precision)
        results = []
        for threshold in (0.0, 2.0):
            monkeypatch.setattr(module, "_SPARSE_ROWS", threshold)
            curvature = Curvature(hinge, precision)
            assert len(curvature._inputs) == (700 if threshold == 0 else round(700 * share[scale]))
            results.append(curvature(direction))
        np.testing.assert_allclose(
            *results, rtol=0, atol=1e-4 if precision is np.float32 else 1e-11
        )
    assert share[50.0] < 0.8


def test_the_curvature_without_any_active_pair_is_zero():
    problem = OriginalProblem(np.eye(1, 4), np.eye(2, 3), [0])
    hinge = Hinge.at(Task(problem, map), 100 * np.outer([1.0, -1.0, 0.0], [1.0, 0, 0, 0]))
    assert (len(hinge.scan.pairs), hinge.objective, hinge.lost) == (0, 0.0, 0)
    assert not hinge.gradient.any()
    assert not Curvature(hinge, np.float64)(weights_of(1.0)).any()
    assert hinge.margin_upper == np.inf
    assert (
        0 < hinge.margin_lower <= 1 / np.sqrt(2)
    )  # the one pair's own, of which only a bound is known
    assert len(hinge.multipliers().values) == 0


@CASES
@EXACT
def test_residuals_are_multipliers_that_bound_any_margin(kind, facts, candidates, exact):
    problem, weights = make(kind, facts, candidates), weights_of(0.3)
    hinge = Hinge.at(Task(problem, map, exact), weights)
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
    hinge = Hinge.at(Task(problem, map, exact), weights)
    found = hinge.multipliers()
    assert (found.values > 0).all()
    total = np.zeros((3, 4))
    for fact, rival, value in zip(found.facts, found.rivals, found.values, strict=True):
        numbers, vectors = problem.competitors(fact)
        difference = problem.target_outputs[fact] - vectors[list(numbers).index(rival)]
        total += value * np.outer(difference, problem.inputs[fact])
    np.testing.assert_allclose(-total, hinge.gradient, rtol=1e-10, atol=1e-12)


def test_lengths_do_not_matter():
    problem = make("original", 12, 5)
    lengths = 10 ** np.random.default_rng(0).uniform(-3, 3, (12, 1))
    longer = OriginalProblem(problem.inputs * lengths, problem.outputs * 7.0, problem.targets)
    weights = weights_of(0.3)
    one, other = (Hinge.at(Task(each, map), weights) for each in (problem, longer))
    assert one.objective == pytest.approx(other.objective, rel=1e-12)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-10, atol=1e-12)


@CASES
@EXACT
@pytest.mark.parametrize("scale", [0.01, 0.3, 3.0])
def test_doubled_weights_need_no_other_pass(kind, facts, candidates, exact, scale):
    task = Task(make(kind, facts, candidates), map, exact)
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
    task = Task(problem, map)
    np.testing.assert_allclose(task.inputs, problem.inputs / task.lengths[:, None], rtol=1e-15)
    here = Hinge.at(task, 2 * weights)
    given = here.try_at(weights, task.images(weights))
    assert given.objective == here.try_at(weights).objective == Hinge.at(task, weights).objective
    np.testing.assert_allclose(task.images(weights), task.inputs @ weights.T, rtol=1e-14)
    rows = np.random.default_rng(0).standard_normal((8, 3))
    np.testing.assert_allclose(task.outer(rows), rows.T @ task.inputs, rtol=1e-12, atol=1e-14)


def test_zero_inputs_stay_zero():
    inputs = np.array([[0.0, 0.0], [3.0, 4.0]])
    task = Task(OriginalProblem(inputs, np.eye(2)), map)
    assert task.inputs.tolist() == [[0.0, 0.0], [0.6, 0.8]]
    hinge = Hinge.at(task, np.eye(2))
    assert np.isfinite(hinge.gradient).all()
    assert np.isfinite(hinge.multipliers().values).all()


@pytest.mark.parametrize(
    ("scale", "precision"),
    [(1e-15, np.float32), (1e15, np.float32), (1e-60, np.float64), (1e60, np.float64)],
)
def test_outputs_in_other_units_have_the_same_curvature(scale, precision):
    # Constraints have no unit.
    problem, weights = make("original", 8), weights_of(0.3)
    scaled = OriginalProblem(problem.inputs, problem.outputs * scale)
    direction = weights_of(1.0, seed=2).astype(precision)
    one, other = (
        Curvature(Hinge.at(Task(each, map), weights), precision)(direction)
        for each in (problem, scaled)
    )
    np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def test_a_step_that_breaks_far_more_pairs_is_refused(monkeypatch):
    problem = OriginalProblem(np.eye(3, 4), np.eye(3))
    good = Hinge.at(Task(problem, map), 10 * np.eye(3, 4))
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
    hinge = Hinge.at(Task(problem, map, exact), weights_of(scale))
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
