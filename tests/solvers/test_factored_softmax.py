"""The cross-entropy of thin factors: as that of their product, and by finite differences."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from simonides import threads
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.solvers.training import cross_entropy as training
from simonides.solvers.training import softmax
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.solvers.training.factored_softmax import FactoredCrossEntropy
from simonides.solvers.training.parameters import Factored, Full
from simonides.solvers.training.softmax import MeanCrossEntropy

CASES = pytest.mark.parametrize(
    ("facts", "candidates"), [(8, None), (12, 3), (3, 9), (1, 2), (700, 30), (1100, 90)]
)


def factors(rank=2, scale=1.0):
    rng = np.random.default_rng(1)
    return scale * rng.standard_normal((5, rank)), rng.standard_normal((6, rank))


def assert_as_the_product(problem, left, right, digits):
    state = FactoredCrossEntropy(problem).at(left, right)
    whole = MeanCrossEntropy(problem).at(left @ right.T)
    assert state.loss == pytest.approx(whole.loss, rel=digits)
    assert state.recalled == whole.recalled
    np.testing.assert_allclose(state.left, whole.gradient @ right, rtol=digits, atol=1e-13)
    np.testing.assert_allclose(state.right, whole.gradient.T @ left, rtol=digits, atol=1e-13)


@CASES
@pytest.mark.parametrize("scale", [0.0, 0.3, 30.0])
def test_all_is_as_for_the_product(facts, candidates, scale, monkeypatch):
    problem = OriginalProblem.gaussian(facts, 6, 5, candidates=candidates, seed=0)
    assert_as_the_product(problem, *factors(scale=scale), 1e-9)
    monkeypatch.setattr(softmax, "_BUFFER_BYTES", 700)
    monkeypatch.setattr(softmax, "_LEAST_ROWS", 5)
    assert_as_the_product(problem, *factors(scale=scale), 1e-9)


def test_targets_shared_by_facts():
    rng = np.random.default_rng(0)
    inputs, outputs = rng.standard_normal((9, 6)), rng.standard_normal((7, 5))
    problem = OriginalProblem(inputs, outputs, np.array([0, 0, 0, 2, 2, 4, 4, 4, 4]))
    assert_as_the_product(problem, *factors(), 1e-10)


def test_scores_that_overflow_exponentials():
    problem = OriginalProblem.gaussian(20, 6, 5, candidates=20, seed=0)
    left, right = factors(scale=1e4)
    assert_as_the_product(problem, left, right, 1e-9)
    single = FactoredCrossEntropy(problem, "float32").at(left, right)
    assert np.isfinite(single.left).all()
    assert np.isfinite(single.right).all()


def test_derivatives_against_finite_differences():
    problem = OriginalProblem.gaussian(30, 6, 5, candidates=12, seed=0)
    function, (left, right) = FactoredCrossEntropy(problem), factors(scale=0.5)
    state = function.at(left, right)
    for shift in np.eye(left.size).reshape(-1, *left.shape) * 1e-5:
        ahead, behind = (function.at(left + each, right).loss for each in (shift, -shift))
        assert (ahead - behind) / 2e-5 == pytest.approx(state.left[shift > 0][0], abs=1e-8)
    for shift in np.eye(right.size).reshape(-1, *right.shape) * 1e-5:
        ahead, behind = (function.at(left, right + each).loss for each in (shift, -shift))
        assert (ahead - behind) / 2e-5 == pytest.approx(state.right[shift > 0][0], abs=1e-8)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_the_pull_is_that_of_the_right_factor_and_no_more_than_the_weights(scale):
    problem = OriginalProblem.gaussian(40, 6, 5, candidates=12, seed=0)
    left, right = factors(scale=scale)
    expected = 0.0
    for fact, x in enumerate(problem.inputs):
        one = OriginalProblem(x[None], problem.outputs, problem.targets[[fact]])
        expected += np.linalg.norm(MeanCrossEntropy(one).at(left @ right.T).gradient.T @ left)
    state = FactoredCrossEntropy(problem).at(left, right)
    assert state.pull == pytest.approx(expected / 40, rel=1e-10)
    whole = MeanCrossEntropy(problem).at(left @ right.T)
    assert state.pull <= whole.pull * np.linalg.norm(left, 2) * (1 + 1e-12)


def test_single_precision_is_near():
    problem = OriginalProblem.gaussian(300, 6, 5, candidates=200, seed=0)
    left, right = factors(scale=0.3)
    exact = FactoredCrossEntropy(problem).at(left, right)
    single = FactoredCrossEntropy(problem, "float32").at(left, right)
    assert single.loss != exact.loss
    assert single.loss == pytest.approx(exact.loss, rel=1e-6)
    assert np.linalg.norm(single.right - exact.right) < 1e-5 * exact.pull
    assert np.linalg.norm(single.left - exact.left) < 1e-5 * exact.pull
    assert single.left.dtype == single.right.dtype == np.float64


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_threads_do_not_change_a_bit(precision):
    problem = OriginalProblem.gaussian(2200, 6, 5, candidates=90, seed=0)
    answers = []
    for count in (1, 2, 3):
        with threads.crew(count) as each:
            function = FactoredCrossEntropy(problem, precision, each)
            answers += [function.at(*factors()), function.at(*factors())]
    for answer in answers[1:]:
        assert (answer.loss, answer.pull) == (answers[0].loss, answers[0].pull)
        np.testing.assert_array_equal(answer.left, answers[0].left)
        np.testing.assert_array_equal(answer.right, answers[0].right)


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 10.0])
def test_the_imbalance_is_at_least_that_through_the_weights(scale):
    problem = OriginalProblem.gaussian(40, 6, 5, candidates=12, seed=0)
    form = Factored(5, 2)
    for stretch in (1e-3, 1.0, 1e3):
        left, right = factors(scale=scale)
        place = np.concatenate([stretch * left, right / stretch]).ravel()
        thin = training._of_factors(FactoredCrossEntropy(problem), form, place)
        whole = training._of_weights(MeanCrossEntropy(problem), form, place)
        np.testing.assert_allclose(thin.slopes, whole.slopes, rtol=1e-8, atol=1e-12)
        assert (thin.loss, thin.recalled) == (pytest.approx(whole.loss), whole.recalled)
        assert thin.imbalance >= whole.imbalance * (1 - 1e-12)
        assert thin.imbalance > 0


def test_only_thin_factors_of_large_problems_are_not_multiplied_out():
    large, small = (OriginalProblem.gaussian(facts, 10, seed=0) for facts in (400, 300))
    own = DecoupledProblem.gaussian(400, 10, seed=0)

    def way(task, form):
        return training._objective(task, form, "float32", map).at.func

    assert way(large, Factored(10, 3)) is training._of_factors
    assert way(large, Factored(10, 5)) is training._of_weights
    assert way(large, Full((10, 10))) is training._of_weights
    assert way(small, Factored(10, 3)) is training._of_weights
    assert way(own, Factored(10, 3)) is training._of_weights


def test_training_by_either_way_ends_at_the_same_minimum(monkeypatch):
    problem = OriginalProblem.gaussian(150, 12, seed=0)
    monkeypatch.setattr(training, "_LARGE", 0)
    thin = cross_entropy(problem, rank=4)
    monkeypatch.setattr(training, "_THIN", 0.0)
    through_weights = cross_entropy(problem, rank=4)
    assert (thin.weights != through_weights.weights).any()
    assert thin.status == through_weights.status
    assert thin.loss == pytest.approx(through_weights.loss, rel=1e-7)
    assert thin.recalled == through_weights.recalled


@pytest.mark.slow
def test_memory_stays_far_below_all_scores():
    problem = OriginalProblem.gaussian(8200, 30, seed=0)
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2, 30, 15))
    tracemalloc.start()
    try:
        with threads.crew(2) as each:
            FactoredCrossEntropy(problem, "float32", each).at(left, right)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8200 * 8200 * 4 / 6
