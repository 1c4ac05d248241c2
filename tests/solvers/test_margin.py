"""The largest margin against an independent quadratic program, and its bracket at any time."""

from __future__ import annotations

import numpy as np
import pytest
from definition import BOTH, KINDS, assert_proved, assert_recall_is_counted, constraints
from scipy.optimize import nnls

from simonides.certificate import margin_upper, verify
from simonides.failures import BadArgumentError
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.decide import decide
from simonides.solvers.deciding.preconditioning import preconditioned_feasibility
from simonides.solvers.hinge.feasibility import feasibility
from simonides.solvers.hinge.margin import maximum_margin
from simonides.solvers.solution import Status, Verdict


def units(problem):
    """Every constraint as a unit vector in the space of weights."""
    rows = constraints(problem)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def optimum(problem):
    """The largest margin by another route: non-negative least squares.

    The multipliers that come closest to a weighted mean of zero: minimise |A' u|^2 + (sum u - 1)^2 over
    u >= 0. With m the length of the shortest convex combination, u sums to 1 / (1 + m^2).
    """
    rows = units(problem)
    right = np.zeros(rows.shape[1] + 1)
    right[-1] = 1
    multipliers, _ = nnls(np.vstack((rows.T, np.ones(len(rows)))), right, maxiter=50 * len(rows))
    return float(np.linalg.norm(multipliers @ rows) / multipliers.sum())


def margin_of(problem, weights):
    return float((units(problem) @ weights.ravel()).min() / np.linalg.norm(weights))


SIZES = pytest.mark.parametrize(
    ("facts", "dims", "candidates"),
    [(8, (5, 5), None), (5, (4, 6), 3), (3, (6, 2), 4), (1, (3, 3), 5), (1, (2, 2), 2)],
)


@BOTH
@SIZES
def test_the_bracket_holds_the_optimum_of_a_quadratic_program(kind, facts, dims, candidates):
    compared = 0
    for seed in range(4):
        problem = KINDS[kind].gaussian(facts, *dims, candidates=candidates, seed=seed)
        best = optimum(problem)
        solution = maximum_margin(problem, gap=1e-3)
        if best < 1e-7:
            assert solution.status is Status.INFEASIBLE
            continue
        assert solution.status is Status.STORED
        assert solution.margin_lower <= best * (1 + 1e-9)
        assert solution.margin_upper >= best * (1 - 1e-9)
        assert solution.margin_upper - solution.margin_lower <= 1e-3 * solution.margin_upper
        # The definition: the smallest normalised lead of weights of unit norm.
        assert margin_of(problem, solution.weights) == pytest.approx(
            solution.margin_lower, rel=1e-9
        )
        compared += 1
    assert compared >= 2


@BOTH
def test_the_bound_is_that_of_the_multipliers(kind):
    problem = KINDS[kind].gaussian(8, 5, seed=0)
    solution = maximum_margin(problem, gap=1e-2)
    multipliers = solution.multipliers
    total, weight = np.zeros((5, 5)), 0.0
    for fact, rival, value in zip(
        multipliers.facts, multipliers.rivals, multipliers.values, strict=True
    ):
        numbers, vectors = problem.competitors(fact)
        difference = problem.target_outputs[fact] - vectors[list(numbers).index(rival)]
        total += value * np.outer(difference, problem.inputs[fact])
        weight += value * np.linalg.norm(difference) * np.linalg.norm(problem.inputs[fact])
    assert (multipliers.values > 0).all()
    assert np.linalg.norm(total) / weight == pytest.approx(solution.margin_upper, rel=1e-9)


@BOTH
@pytest.mark.parametrize("gap", [0.5, 0.1, 1e-2, 1e-3])
def test_the_gap_asked_for_is_reached_and_proved(kind, gap):
    for seed in range(3):
        problem = KINDS[kind].gaussian(9, 5, seed=seed)
        decision = decide(problem, margin_gap=gap)
        assert decision.verdict is Verdict.STORABLE
        assert 0 < decision.margin_lower < decision.margin_upper
        assert decision.margin_upper - decision.margin_lower <= gap * decision.margin_upper * 1.001
        # Both bounds are the verifier's.
        assert verify(decision.certificate, problem).margin_bound == decision.margin_lower
        assert margin_upper(decision.certificate, problem) == decision.margin_upper
        assert decision.margin_lower <= optimum(problem) <= decision.margin_upper


@pytest.mark.parametrize("dims", [(1, 1), (1, 5), (5, 1), (3, 3)])
@BOTH
def test_one_fact_with_one_rival_has_margin_one(kind, dims):
    for seed in range(3):
        problem = KINDS[kind].gaussian(1, *dims, candidates=2, seed=seed)
        decision = decide(problem, margin_gap=1e-3)
        assert 0.999 <= decision.margin_lower <= 1 <= decision.margin_upper < 1.001


@pytest.mark.parametrize("dims", [(1, 2000), (2000, 1)])
def test_a_lead_far_beyond_the_usual_is_measured_too(dims):
    # One fact leads its rival by the root of the dimension, in units of a score's deviation.
    decision = decide(DecoupledProblem.gaussian(1, *dims, candidates=2, seed=0), margin_gap=1e-3)
    assert 0.999 <= decision.margin_lower <= 1 <= decision.margin_upper < 1.001


def test_margins_that_are_known():
    # Two orthogonal facts on orthogonal outputs: W is a multiple of (y1 - y2) (x1 - x2)'.
    decision = decide(OriginalProblem(np.eye(2), np.eye(2)), margin_gap=1e-4)
    assert decision.margin_lower <= np.sqrt(0.5) <= decision.margin_upper
    assert decision.margin_lower == pytest.approx(np.sqrt(0.5), rel=1e-3)
    # Two inputs an angle apart: half of it.
    for angle in (0.5, 1e-2, 1e-4):
        inputs = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
        decision = decide(OriginalProblem(inputs, np.eye(2)), margin_gap=1e-3)
        exact = np.sin(angle / 2)
        assert decision.margin_lower <= exact * (1 + 1e-9)
        assert decision.margin_upper >= exact * (1 - 1e-9)
        assert decision.margin_lower > 0.99 * exact


def test_lengths_do_not_matter():
    problem = OriginalProblem.gaussian(8, 5, seed=0)
    lengths = 10 ** np.random.default_rng(0).uniform(-3, 3, (8, 1))
    scaled = OriginalProblem(problem.inputs * lengths, 1e4 * problem.outputs)
    one, other = (decide(each, margin_gap=1e-2) for each in (problem, scaled))
    assert one.margin_lower <= other.margin_upper
    assert other.margin_lower <= one.margin_upper


@BOTH
def test_facts_that_do_not_fit_pass_through(kind):
    problem = KINDS[kind].gaussian(40, 5, seed=0)
    wide, plain = maximum_margin(problem), feasibility(problem)
    assert wide.status is Status.INFEASIBLE
    np.testing.assert_array_equal(wide.weights, plain.weights)
    decision = decide(problem, margin_gap=1e-3)
    assert decision.verdict is Verdict.NOT_STORABLE
    assert decision.margin_lower == -np.inf
    assert decision.margin_upper < 1e-9


@BOTH
def test_the_bracket_only_narrows(kind):
    seen = []
    solution = maximum_margin(KINDS[kind].gaussian(9, 5, seed=1), gap=1e-4, watch=seen.append)
    assert tuple(seen) == solution.history
    assert [progress.step for progress in seen] == list(range(solution.steps + 1))
    first = next(k for k, progress in enumerate(seen) if progress.violations == 0)
    lower = [progress.margin_lower for progress in seen[first + 1 :]]
    upper = [progress.margin_upper for progress in seen[first + 1 :]]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert (lower[-1], upper[-1]) == (solution.margin_lower, solution.margin_upper)
    seconds = [progress.seconds for progress in seen]
    assert seconds == sorted(seconds)


@pytest.mark.slow
def test_an_interruption_keeps_the_bracket():
    problem = OriginalProblem.gaussian(9, 5, seed=1)
    whole, best = maximum_margin(problem, gap=1e-4), optimum(problem)
    storing = next(step.step for step in whole.history if step.violations == 0)
    for stop in range(0, whole.steps + 1, 2):

        def watch(progress, stop=stop):
            if progress.step == stop:
                raise KeyboardInterrupt

        solution = maximum_margin(problem, gap=1e-4, watch=watch)
        assert solution.steps == stop
        if stop <= storing:
            # The state that stores everything does so though it was the last.
            assert solution.status is (Status.STORED if stop == storing else Status.STOPPED)
            continue
        assert solution.status is Status.STORED
        assert solution.recalled == 9
        assert solution.margin_lower <= best * (1 + 1e-9)
        assert solution.margin_upper >= best * (1 - 1e-9)
        reached = whole.history[stop]
        assert (solution.margin_lower, solution.margin_upper) == (
            (reached.margin_lower, reached.margin_upper)
            if reached.margin_lower > -np.inf
            else (-np.inf, solution.margin_upper)
        )
        decision = decide(problem, margin_gap=1e-4, watch=watch)
        assert decision.verdict is Verdict.STORABLE
        assert 0 < decision.margin_lower <= best <= decision.margin_upper


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 8])
def test_the_step_limit_keeps_the_bracket(steps):
    problem = OriginalProblem.gaussian(9, 5, seed=1)
    solution, best = maximum_margin(problem, gap=1e-6, max_steps=steps), optimum(problem)
    assert solution.steps <= steps
    assert solution.margin_lower <= best <= solution.margin_upper * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("gap", [1e-12, 1e-15])
def test_a_gap_beyond_rounding_ends_and_stays_true(gap):
    problem = OriginalProblem.gaussian(9, 5, seed=1)
    best = optimum(problem)
    solution = maximum_margin(problem, gap=gap, max_steps=400)
    assert solution.margin_lower <= best * (1 + 1e-9)
    assert solution.margin_upper >= best * (1 - 1e-9)
    assert solution.margin_upper - solution.margin_lower < 1e-4 * best


@pytest.mark.parametrize("gap", [0.0, -1e-3, 1.5, np.nan, "small"])
def test_impossible_gaps_are_named(gap):
    with pytest.raises(BadArgumentError, match="gap = "):
        maximum_margin(OriginalProblem.gaussian(4, 5, seed=0), gap=gap)


def test_a_warm_start_is_used():
    problem = OriginalProblem.gaussian(9, 5, seed=1)
    first = maximum_margin(problem, gap=1e-3)
    again = maximum_margin(problem, gap=1e-3, start=first.weights)
    assert again.steps < first.steps
    assert again.margin_upper - again.margin_lower <= 1e-3 * again.margin_upper


@BOTH
@SIZES
def test_what_is_recalled_is_counted(kind, facts, dims, candidates):
    for seed in range(3):
        problem = KINDS[kind].gaussian(facts, *dims, candidates=candidates, seed=seed)
        for options in ({"gap": 0.3}, {"gap": 1e-3}, {"max_steps": 3}, {"max_steps": 0}):
            solution = maximum_margin(problem, **options)
            assert_recall_is_counted(problem, solution)
            if solution.status is Status.STORED:
                assert solution.smallest_gap > 0


@pytest.mark.parametrize("decades", [2, 3])
@pytest.mark.parametrize("facts", [6, 10])
@pytest.mark.parametrize("sides", ["inputs", "both"])
def test_uneven_data_have_the_margin_of_a_quadratic_program(facts, decades, sides):
    drawn, stretch = OriginalProblem.gaussian(facts, 6, seed=1), np.logspace(0, decades, 6)
    outputs = drawn.outputs * stretch if sides == "both" else drawn.outputs
    problem = OriginalProblem(drawn.inputs * stretch, outputs)
    assert preconditioned_feasibility(problem) is not None  # uneven enough to be decided elsewhere
    decision = assert_proved(problem, margin_gap=1e-2)
    assert decision.verdict is Verdict.STORABLE
    assert decision.margin_lower <= optimum(problem) <= decision.margin_upper < np.inf
    assert decision.margin_upper - decision.margin_lower <= 1e-2 * decision.margin_upper * 1.001
    # The margin is that of the data as given, not of the coordinates they were decided in.
    weights = decision.certificate.weights
    assert margin_of(problem, weights) == pytest.approx(decision.margin_lower, rel=1e-6)
    assert margin_upper(decision.certificate, problem) == decision.margin_upper


def test_uneven_data_too_hard_for_the_gap_keep_a_true_bracket():
    drawn = OriginalProblem.gaussian(6, 6, seed=1)
    problem = OriginalProblem(drawn.inputs * np.logspace(0, 4, 6), drawn.outputs)
    decision = assert_proved(problem, margin_gap=1e-2, max_steps=60)
    assert decision.verdict is Verdict.STORABLE
    assert decision.margin_lower <= optimum(problem) <= decision.margin_upper < np.inf


def test_uneven_data_that_do_not_fit_are_decided_with_a_gap_as_without():
    drawn = OriginalProblem.gaussian(26, 6, seed=1)
    stretch = np.logspace(0, 3, 6)
    problem = OriginalProblem(drawn.inputs * stretch, drawn.outputs * stretch)
    assert decide(problem).verdict is Verdict.NOT_STORABLE
    assert decide(problem, margin_gap=0.1, max_steps=100).verdict is Verdict.NOT_STORABLE
