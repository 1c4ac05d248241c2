"""Recall under noise: bounds hold, the prediction is close, exact cases are exact."""

import numpy as np
import pytest
from drawn import gaussian
from scipy import stats

from simonides import AssociativeMemory

# Five standard errors: one false alarm in two million comparisons.
FAR = 5


@pytest.mark.parametrize("method", ["feasibility", "hebbian"])
def test_measured_lies_between_the_bounds_and_close_to_the_prediction(method):
    X, Y = gaussian(*((60, 40) if method == "feasibility" else (8, 60)))
    memory = AssociativeMemory(method).fit(X, Y)
    curve = memory.recall_under_noise([0.0, 0.1, 0.2, 0.5, 1.0], trials=200)
    # Where no trial failed there is no error estimate: allow the failures that chance may hide.
    slack = FAR * curve.accuracy_stderr + 15 / (curve.facts * curve.trials)
    assert (curve.accuracy <= curve.upper + slack).all()
    assert (curve.accuracy >= curve.lower - slack).all()
    # One cause for all correlations leaves out a few percent.
    assert np.abs(curve.accuracy - curve.predicted).max() < 0.04 + slack.max()
    assert curve.accuracy[0] == curve.predicted[0] == curve.lower[0] == curve.upper[0] == 1
    assert (np.diff(curve.predicted) <= 0).all()


def test_two_outputs_leave_one_lead_whose_law_is_exact():
    X, Y = gaussian(2, 6)
    memory = AssociativeMemory("hebbian").fit(X, Y)
    levels = np.array([0.3, 1.0, 3.0])
    curve = memory.recall_under_noise(levels, trials=1)
    span = np.linalg.norm(memory.weights_.T @ (Y[0] - Y[1]))
    leads = np.array([X[0] @ memory.weights_.T @ (Y[0] - Y[1])])
    leads = np.append(leads, X[1] @ memory.weights_.T @ (Y[1] - Y[0]))
    exact = stats.norm.cdf(leads[:, None] / (levels * span)).mean(axis=0)
    np.testing.assert_allclose(curve.lower, exact, atol=1e-12)
    np.testing.assert_allclose(curve.upper, exact, atol=1e-12)
    np.testing.assert_allclose(curve.predicted, exact, atol=1e-12)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_two_outputs_close_together_are_predicted_by_their_one_lead():
    X, Y = gaussian(2, 6)
    memory = AssociativeMemory("hebbian").fit(X, 5 + 0.1 * Y)
    curve = memory.recall_under_noise([0.3, 1.0, 3.0], trials=1)
    np.testing.assert_allclose(curve.predicted, curve.lower, atol=1e-12)
    np.testing.assert_allclose(curve.predicted, curve.upper, atol=1e-12)


def test_two_rivals_that_share_noise_are_predicted_by_their_correlation():
    X, Y = gaussian(3, 20)
    memory = AssociativeMemory("hebbian").fit(X, Y)
    pulled, scores = Y @ memory.weights_, X @ memory.weights_.T @ Y.T
    exact = []
    for own, rivals in enumerate(([1, 2], [0, 2], [0, 1])):
        spans, leads = pulled[own] - pulled[rivals], scores[own, own] - scores[own, rivals]
        covariance = spans @ spans.T
        assert covariance[0, 1] > 0
        exact.append(stats.multivariate_normal(np.zeros(2), 9 * covariance).cdf(leads))
    curve = memory.recall_under_noise([3.0], trials=1)
    assert curve.predicted[0] == pytest.approx(np.mean(exact), abs=2e-3)
    assert curve.predicted[0] < 0.9


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("method", ["feasibility", "hebbian"])
@pytest.mark.parametrize("spread", [1e-3, 0.2, 3.0])
def test_the_prediction_never_leaves_its_bounds(method, spread):
    for seed, (facts, clusters) in enumerate(((2, 1), (3, 1), (20, 1), (20, 6), (20, 20))):
        X, Y = gaussian(facts, 12, seed=seed)
        centres = gaussian(clusters, 12, seed=seed + 50)[1]
        memory = AssociativeMemory(method).fit(X, centres[np.arange(facts) % clusters] + spread * Y)
        curve = memory.recall_under_noise([0.01, 0.1, 0.5, 1.0, 3.0, 30.0], trials=1)
        assert (curve.lower <= curve.predicted).all()
        assert (curve.predicted <= curve.upper).all()


def test_outputs_in_clusters_are_predicted_as_well_as_others():
    # Rivals of one cluster share noise that lies not along the target but along what tells it from them.
    X, Y = gaussian(60, 30)
    centres = gaussian(3, 30, seed=1)[1]
    memory = AssociativeMemory().fit(X, centres[np.arange(60) % 3] + 0.2 * Y)
    curve = memory.recall_under_noise([0.5, 0.75, 1.0], trials=100)
    assert (curve.accuracy > 0.4).all()
    assert np.abs(curve.accuracy - curve.predicted).max() < 0.04 + FAR * curve.accuracy_stderr.max()


def test_rivals_that_share_nothing_make_the_prediction_exact():
    # Unit vectors as outputs and the identity as weights: scores are the noisy coordinates themselves.
    memory = AssociativeMemory("hebbian").fit(3 * np.eye(8), np.eye(8))
    curve = memory.recall_under_noise([1.0], trials=4000)
    levels = np.linspace(-9, 15, 4001)
    density = stats.norm.pdf(levels, 3, 1) * stats.norm.cdf(levels) ** 7
    exact = np.trapezoid(density, levels)
    assert curve.predicted[0] == pytest.approx(exact, abs=1e-6)
    assert abs(curve.accuracy[0] - exact) < FAR * curve.accuracy_stderr[0]


def test_a_larger_margin_resists_more_noise():
    X, Y = gaussian(60, 30)
    plain, wide = (AssociativeMemory(m).fit(X, Y) for m in ("feasibility", "margin"))
    few, many = (m.recall_under_noise([0.1], trials=100) for m in (plain, wide))
    error = np.hypot(few.accuracy_stderr, many.accuracy_stderr)
    assert (many.accuracy > few.accuracy + FAR * error).all()
    assert (many.predicted > few.predicted).all()


def test_noise_is_drawn_from_the_memory_s_own_seed():
    X, Y = gaussian(30, 12)
    curves = [
        AssociativeMemory("hebbian", whiten=True, random_state=state)
        .fit(X[:12], Y[:12])
        .recall_under_noise()
        for state in (1, 1, 2)
    ]
    np.testing.assert_array_equal(curves[0].accuracy, curves[1].accuracy)
    assert (curves[0].accuracy != curves[2].accuracy).any()
    assert len(curves[0].noise) == 9
    assert curves[0].facts == 12
