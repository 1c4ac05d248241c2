"""The mean cross-entropy: its value, gradient and recall against the definition, and its economy."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from definition import BOTH, KINDS
from scipy.special import logsumexp

from simonides import threads
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.solvers.training import softmax
from simonides.solvers.training.softmax import MeanCrossEntropy


def make(kind, facts, dim, dim_out=None, *, seed=0, candidates=None):
    return KINDS[kind].gaussian(facts, dim, dim_out, candidates=candidates, seed=seed)


def by_definition(problem, weights):
    """Loss, gradient, recall and pull, fact by fact from all its candidates."""
    loss, gradient, recalled, pull = 0.0, np.zeros(weights.shape), 0, 0.0
    for fact in range(problem.facts):
        x, target = problem.inputs[fact], problem.target_outputs[fact]
        rivals = problem.competitors(fact)[1]
        scores = np.concatenate(([target @ weights @ x], rivals @ weights @ x))
        loss += logsumexp(scores) - scores[0]
        shares = np.exp(scores - logsumexp(scores))
        term = shares @ np.vstack([target, rivals]) - target
        gradient += np.outer(term, x)
        pull += np.linalg.norm(term) * np.linalg.norm(x)
        recalled += scores[0] > scores[1:].max()
    return loss / problem.facts, gradient / problem.facts, recalled, pull / problem.facts


CASES = pytest.mark.parametrize(
    ("kind", "facts", "candidates"),
    [
        ("original", 8, None),
        ("original", 12, 3),
        ("original", 3, 9),
        ("original", 700, 30),
        ("decoupled", 8, None),
        ("decoupled", 12, 2),
        ("decoupled", 1, 5),
        ("decoupled", 600, 4),
    ],
)


@pytest.fixture
def small_buffers(monkeypatch):
    """Buffers so small that blocks are cut further, with a remainder."""
    monkeypatch.setattr(softmax, "_BUFFER_BYTES", 700)
    monkeypatch.setattr(softmax, "_LEAST_ROWS", 5)


@CASES
@pytest.mark.usefixtures("small_buffers")
@pytest.mark.parametrize("scale", [0.0, 0.3, 30.0])
def test_all_is_as_defined(kind, facts, candidates, scale):
    problem = make(kind, facts, 4, 3, candidates=candidates)
    weights = scale * np.random.default_rng(1).standard_normal((3, 4))
    loss, gradient, recalled, pull = by_definition(problem, weights)
    risk = MeanCrossEntropy(problem).at(weights)
    assert risk.loss == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(risk.gradient, gradient, rtol=1e-10, atol=1e-13)
    assert risk.recalled == recalled
    assert risk.pull == pytest.approx(pull, rel=1e-10)


@CASES
def test_the_gradient_against_finite_differences(kind, facts, candidates):
    problem = make(kind, facts, 4, 3, candidates=candidates)
    weights = 0.3 * np.random.default_rng(1).standard_normal((3, 4))
    function = MeanCrossEntropy(problem)
    gradient = function.at(weights).gradient
    step = 1e-5
    for place in np.ndindex(3, 4):
        shift = np.zeros((3, 4))
        shift[place] = step
        slope = (function.at(weights + shift).loss - function.at(weights - shift).loss) / (2 * step)
        assert slope == pytest.approx(gradient[place], rel=1e-7, abs=1e-9)


def test_targets_shared_by_facts():
    rng = np.random.default_rng(0)
    inputs, outputs = rng.standard_normal((9, 4)), rng.standard_normal((5, 3))
    problem = OriginalProblem(inputs, outputs, np.array([0, 0, 0, 2, 2, 4, 4, 4, 4]))
    weights = rng.standard_normal((3, 4))
    loss, gradient, recalled, _ = by_definition(problem, weights)
    risk = MeanCrossEntropy(problem).at(weights)
    assert (risk.loss, risk.recalled) == (pytest.approx(loss, rel=1e-12), recalled)
    np.testing.assert_allclose(risk.gradient, gradient, rtol=1e-10)


def test_a_tie_is_not_recalled():
    problem = OriginalProblem(np.eye(2), np.array([[1.0, 0.0], [1.0, 0.0]]))
    for weights in (np.zeros((2, 2)), np.eye(2)):
        assert MeanCrossEntropy(problem).at(weights).recalled == 0


@BOTH
def test_single_precision_is_near(kind):
    problem = make(kind, 300, 20)
    weights = 0.1 * np.random.default_rng(1).standard_normal((20, 20))
    exact = MeanCrossEntropy(problem).at(weights)
    single = MeanCrossEntropy(problem, "float32").at(weights)
    assert single.loss != exact.loss
    assert single.loss == pytest.approx(exact.loss, rel=1e-6)
    assert np.linalg.norm(single.gradient - exact.gradient) < 1e-6 * exact.pull
    assert single.gradient.dtype == np.float64


@BOTH
def test_scores_that_overflow_exponentials(kind):
    problem = make(kind, 20, 5)
    weights = 1e4 * np.random.default_rng(1).standard_normal((5, 5))
    loss, gradient, _, _ = by_definition(problem, weights)
    for precision, digits in (("float64", 1e-10), ("float32", 1e-4)):
        risk = MeanCrossEntropy(problem, precision).at(weights)
        assert risk.loss == pytest.approx(loss, rel=digits)
        assert np.isfinite(risk.gradient).all()
    np.testing.assert_allclose(MeanCrossEntropy(problem).at(weights).gradient, gradient, rtol=1e-9)


def test_a_small_loss_keeps_its_digits():
    # One rival, a lead of 100: the loss is log(1 + exp(-100)), the gradient minus its exponential.
    problem = OriginalProblem(np.ones((1, 1)), np.array([[1.0], [0.0]]))
    risk = MeanCrossEntropy(problem).at(np.full((1, 1), 100.0))
    assert risk.loss == pytest.approx(np.exp(-100), rel=1e-12)
    assert risk.gradient[0, 0] == pytest.approx(-np.exp(-100), rel=1e-12)
    assert risk.pull == pytest.approx(np.exp(-100), rel=1e-12)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    ("kind", "facts", "candidates"), [("original", 1100, 90), ("decoupled", 1100, 7)]
)
def test_threads_do_not_change_a_bit(kind, facts, candidates, precision):
    problem = make(kind, facts, 10, candidates=candidates)
    weights = 0.2 * np.random.default_rng(1).standard_normal((10, 10))
    answers = []
    for count in (1, 2, 3):
        with threads.crew(count) as each:
            function = MeanCrossEntropy(problem, precision, each)
            answers += [function.at(weights), function.at(weights)]
    for answer in answers[1:]:
        assert (answer.loss, answer.pull) == (answers[0].loss, answers[0].pull)
        np.testing.assert_array_equal(answer.gradient, answers[0].gradient)


@BOTH
def test_kept_or_drawn_anew_and_nothing_is_changed(kind):
    problem = make(kind, 40, 6)
    weights = np.random.default_rng(1).standard_normal((6, 6))
    before = weights.copy()
    function = MeanCrossEntropy(problem)
    first = function.at(weights)
    function.at(2 * weights)
    again = function.at(weights)
    np.testing.assert_array_equal(weights, before)
    np.testing.assert_array_equal(first.gradient, again.gradient)
    if kind == "decoupled":
        anew = DecoupledProblem(40, 6, 6, 40, 0, in_memory_bytes=0)
        np.testing.assert_array_equal(MeanCrossEntropy(anew).at(weights).gradient, first.gradient)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_memory_stays_far_below_all_scores(precision):
    problem = OriginalProblem.gaussian(4000, 30, seed=0)
    weights = np.zeros((30, 30))
    tracemalloc.start()
    try:
        with threads.crew(2) as each:
            MeanCrossEntropy(problem, precision, each).at(weights)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4000 * 4000 * np.dtype(precision).itemsize / 6
