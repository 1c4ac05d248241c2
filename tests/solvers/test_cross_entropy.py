"""Training to the minimum: against other solvers, from other starts, and every way out."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest
from definition import BOTH, KINDS
from scipy.optimize import minimize

from simonides.failures import BadArgumentError
from simonides.problems.original import OriginalProblem
from simonides.solvers.solution import Status
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.solvers.training.softmax import MeanCrossEntropy
from simonides.theory.risk import minimum_of_risk


def make(kind, facts, dim, dim_out=None, *, seed=0, candidates=None):
    return KINDS[kind].gaussian(facts, dim, dim_out, candidates=candidates, seed=seed)


def dense(problem):
    """Differences of target and candidates times inputs: the loss is log-sum-exp of minus W on them."""
    rows = []
    for fact in range(problem.facts):
        differences = problem.target_outputs[fact] - problem.competitors(fact)[1]
        outer = np.einsum("ki,j->kij", differences, problem.inputs[fact])
        rows.append(np.concatenate([np.zeros((1, outer[0].size)), outer.reshape(len(outer), -1)]))
    return np.array(rows)


def trust_region_loss(problem):
    """The minimum by Newton steps on a dense second derivative."""
    rows = dense(problem)

    def parts(flat):
        scores = -rows @ flat
        top = scores.max(axis=1, keepdims=True)
        shares = np.exp(scores - top)
        totals = shares.sum(axis=1, keepdims=True)
        return float(np.mean(np.log(totals) + top)), shares / totals

    def slope(flat):
        return -np.einsum("ik,ikn->n", parts(flat)[1], rows) / len(rows)

    def bend(flat):
        shares = parts(flat)[1]
        means = np.einsum("ik,ikn->in", shares, rows)
        full = np.einsum("ik,ikn,ikm->nm", shares, rows, rows, optimize=True) - means.T @ means
        return full / len(rows)

    start = np.zeros(rows.shape[2])
    done = minimize(
        lambda flat: parts(flat)[0], start, jac=slope, hess=bend, method="trust-exact", tol=1e-12
    )
    return done.fun


@BOTH
@pytest.mark.parametrize(("facts", "candidates"), [(60, None), (80, 20)])
def test_the_minimum_against_an_independent_solver(kind, facts, candidates):
    problem = make(kind, facts, 5, 4, candidates=candidates)
    solution = cross_entropy(problem, tolerance=1e-9)
    assert solution.status is Status.CONVERGED
    assert solution.loss == pytest.approx(trust_region_loss(problem), rel=1e-10)
    assert solution.factors is None


@BOTH
def test_the_gradient_is_zero_at_the_minimum(kind):
    problem = make(kind, 200, 15)
    solution = cross_entropy(problem, tolerance=1e-9)
    risk = MeanCrossEntropy(problem).at(solution.weights)
    assert solution.status is Status.CONVERGED
    assert np.linalg.norm(risk.gradient) < 1e-8 * risk.pull
    assert (solution.loss, solution.recalled) == (
        pytest.approx(risk.loss, rel=1e-12),
        risk.recalled,
    )
    assert solution.smallest_gap < 0
    assert solution.history[-1].violations == 200 - solution.recalled


@pytest.mark.slow
def test_just_beyond_capacity_scores_are_too_large_for_single_precision():
    problem = make("original", 450, 50, seed=1).prefix(385)
    solution = cross_entropy(problem)
    assert solution.status is Status.CONVERGED
    risk = MeanCrossEntropy(problem).at(solution.weights)
    assert np.linalg.norm(risk.gradient) < 1e-6 * risk.pull
    assert solution.loss == pytest.approx(1.5407645, abs=1e-7)


@BOTH
def test_every_start_leads_to_the_same_minimum(kind):
    problem = make(kind, 120, 8)
    expected = cross_entropy(problem)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 0.3, 1e6):
        start = scale * rng.standard_normal((8, 8))
        before = start.copy()
        other = cross_entropy(problem, start=start)
        assert other.status is Status.CONVERGED
        assert other.loss == pytest.approx(expected.loss, rel=1e-11)
        np.testing.assert_allclose(other.weights, expected.weights, atol=1e-5)
        np.testing.assert_array_equal(start, before)


def test_a_start_at_the_minimum_takes_no_step():
    problem = make("original", 120, 8)
    first = cross_entropy(problem, tolerance=1e-9)
    assert cross_entropy(problem, start=first.weights, tolerance=1e-7).steps == 0


def test_recoding_inputs_and_outputs_changes_nothing():
    problem = make("original", 120, 8)
    rng = np.random.default_rng(0)
    left, right = (np.eye(8) + 0.4 * rng.standard_normal((8, 8)) for _ in range(2))
    recoded = OriginalProblem(1e-20 * problem.inputs @ right, 1e30 * problem.outputs @ left + 3e30)
    one, other = cross_entropy(problem), cross_entropy(recoded)
    assert other.steps == one.steps
    assert other.loss == pytest.approx(one.loss, rel=1e-10)


@BOTH
def test_all_factors_reach_the_full_minimum(kind):
    problem = make(kind, 120, 8, 6)
    full = cross_entropy(problem)
    factored = cross_entropy(problem, rank=6, tolerance=1e-6)
    assert factored.loss == pytest.approx(full.loss, rel=1e-8)
    np.testing.assert_allclose(factored.weights, full.weights, atol=1e-3)


@BOTH
def test_factors_make_the_weights_and_cost_loss(kind):
    problem = make(kind, 120, 8)
    losses = []
    for rank in (1, 3, 6):
        solution = cross_entropy(problem, rank=rank)
        left, right = solution.factors
        assert (left.shape, right.shape) == ((8, rank), (8, rank))
        np.testing.assert_allclose(left @ right.T, solution.weights, atol=1e-12)
        gradient = MeanCrossEntropy(problem).at(solution.weights).gradient
        assert abs(gradient @ right).max() < 1e-5
        assert abs(gradient.T @ left).max() < 1e-5
        losses.append(solution.loss)
    assert losses == sorted(losses, reverse=True)


def test_factors_leave_a_start_that_has_fewer_directions():
    problem = make("original", 120, 8)
    expected = cross_entropy(problem, rank=4)
    for start in (np.zeros((8, 8)), np.diag([1.0, 1.0, 0, 0, 0, 0, 0, 0])):
        solutions = [cross_entropy(problem, rank=4, start=start, seed=seed) for seed in (0, 0, 1)]
        assert all(each.loss == pytest.approx(expected.loss, rel=1e-6) for each in solutions)
        np.testing.assert_array_equal(solutions[0].weights, solutions[1].weights)
        assert (solutions[0].weights != solutions[2].weights).any()


@BOTH
@pytest.mark.parametrize("rank", [None, 6])
def test_it_stops_when_every_fact_is_recalled(kind, rank):
    problem = make(kind, 25, 10)
    solution = cross_entropy(problem, rank=rank)
    assert (solution.status, solution.recalled) == (Status.STORED, 25)
    assert solution.smallest_gap > 0
    assert [progress.violations == 0 for progress in solution.history].index(True) == solution.steps
    further = cross_entropy(problem, rank=rank, until_stored=False, max_steps=solution.steps + 20)
    assert (further.status, further.recalled) == (Status.STORED, 25)
    assert further.steps == solution.steps + 20
    assert further.loss < 1e-2 * solution.loss


@BOTH
@pytest.mark.parametrize("rank", [None, 4])
def test_a_least_gain_ends_it_early_and_close_to_the_minimum(kind, rank):
    problem = make(kind, 130, 20)
    least = cross_entropy(problem, rank=rank).loss
    early = cross_entropy(problem, rank=rank, least_gain=1e-3)
    losses = [progress.objective for progress in early.history]
    assert early.status is Status.STOPPED
    assert losses[-11] - losses[-1] < 1e-3 * losses[-1] <= losses[-12] - losses[-2]
    assert (1 - 1e-6) * least < early.loss < 1.005 * least
    assert early.loss == pytest.approx(MeanCrossEntropy(problem).at(early.weights).loss, rel=1e-5)


def test_a_least_gain_does_not_keep_facts_from_being_stored():
    problem = make("original", 25, 10)
    plain, early = (cross_entropy(problem, least_gain=gain) for gain in (0.0, 1e-3))
    assert early.status is Status.STORED
    np.testing.assert_array_equal(early.weights, plain.weights)


def test_a_loss_that_vanishes_ends():
    solution = cross_entropy(make("original", 10, 8), until_stored=False)
    assert solution.status is Status.STORED
    assert solution.loss < 1e-100


def test_facts_that_no_weights_tell_apart():
    inputs, outputs = np.random.default_rng(0).standard_normal((2, 6, 4))
    twins = OriginalProblem(inputs, np.vstack([outputs[:5], outputs[0]]))
    solution = cross_entropy(twins, max_steps=300)
    assert solution.status is not Status.STORED
    assert solution.loss == pytest.approx(2 * np.log(2) / 6, rel=1e-3)
    silent = OriginalProblem(np.zeros((3, 4)), outputs[:3])
    assert cross_entropy(silent).loss == pytest.approx(np.log(3))


@BOTH
def test_threads_do_not_change_the_answer(kind):
    problem = make(kind, 600, 12, candidates=40)
    one, two = (cross_entropy(problem, threads=count) for count in (1, 2))
    np.testing.assert_array_equal(one.weights, two.weights)
    assert (one.loss, one.steps) == (two.loss, two.steps)


@BOTH
def test_every_step_is_watched(kind):
    seen = []
    solution = cross_entropy(make(kind, 120, 8), watch=seen.append)
    assert tuple(seen) == solution.history
    assert [progress.step for progress in seen] == list(range(solution.steps + 1))
    losses = np.array([progress.objective for progress in seen])
    assert (np.diff(losses) < 1e-6 * losses[0]).all()
    assert seen[-1].seconds <= solution.seconds


@pytest.mark.parametrize("stop", [0, 3, "in double precision"])
@pytest.mark.parametrize("rank", [None, 3])
def test_a_limit_and_an_interruption_return_the_best_so_far(stop, rank):
    problem = make("original", 120, 8)
    if isinstance(stop, str):
        stop = cross_entropy(problem, rank=rank, tolerance=1e-9).steps - 1

    def watch(progress):
        if progress.step == stop:
            raise KeyboardInterrupt

    interrupted = cross_entropy(problem, rank=rank, tolerance=1e-9, watch=watch)
    limited = cross_entropy(problem, rank=rank, tolerance=1e-9, max_steps=stop)
    for solution in (interrupted, limited):
        assert (solution.status, solution.steps) == (Status.STOPPED, stop)
        loss = MeanCrossEntropy(problem).at(solution.weights).loss
        assert solution.loss == pytest.approx(loss, rel=1e-13)
    np.testing.assert_array_equal(interrupted.weights, limited.weights)


def test_a_signal_interrupts():
    problem, pressed = make("original", 900, 30), threading.Event()

    def press():
        signal.raise_signal(signal.SIGINT)
        pressed.set()

    def watch(progress):
        if progress.step == 1:
            threading.Thread(target=press).start()
        elif progress.step > 1:
            pressed.wait()

    solution = cross_entropy(problem, tolerance=1e-14, threads=2, watch=watch)
    assert solution.status is Status.STOPPED
    assert 1 <= solution.steps <= 3
    risk = MeanCrossEntropy(problem).at(solution.weights)
    assert solution.loss == pytest.approx(risk.loss, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"rank": 0}, "rank = 0"),
        ({"rank": 4}, "rank = 4"),
        ({"seed": -1}, "seed = -1"),
        ({"tolerance": 0.0}, "tolerance = 0"),
        ({"max_steps": 1.5}, "max_steps = 1.5"),
        ({"least_gain": -0.1}, "least_gain = -0.1"),
        ({"threads": 0}, "threads = 0"),
        ({"start": np.zeros((3, 3))}, "start"),
        ({"start": np.full((4, 3), np.nan)}, "start"),
    ],
)
def test_what_is_wrong_is_named(options, word):
    with pytest.raises(BadArgumentError, match=word):
        cross_entropy(make("original", 5, 3, 4), **options)


@pytest.mark.slow
def test_theory_of_the_minimum_on_the_decoupled_problem():
    theory = minimum_of_risk(190, 30**2, rng=np.random.default_rng(0))
    solutions = [
        cross_entropy(make("decoupled", 190, 30, seed=s), tolerance=1e-5) for s in range(8)
    ]
    for expected, values in (
        (theory.loss, [solution.loss for solution in solutions]),
        (theory.accuracy, [solution.recalled / 190 for solution in solutions]),
    ):
        stderr = np.hypot(np.std(values, ddof=1) / np.sqrt(8), expected.stderr)
        assert np.mean(values) == pytest.approx(expected.value, abs=3 * stderr)
        assert stderr < 0.06
