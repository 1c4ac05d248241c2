"""Semismooth Newton: its derivatives, its ways out, and how it is watched and interrupted."""

from __future__ import annotations

import numpy as np
import pytest

from simonides.failures import BadArgumentError
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.solvers.feasibility import _Point, feasibility
from simonides.solvers.solution import Status

KINDS = {"original": OriginalProblem, "decoupled": DecoupledProblem}


def make(kind, facts, dim, dim_out=None, *, seed=0, candidates=None):
    return KINDS[kind].gaussian(facts, dim, dim_out, candidates=candidates, seed=seed)


def all_gaps(problem, weights):
    """Each fact's leads over all its rivals, by the definition."""
    return [
        (problem.target_outputs[i] - problem.competitors(i)[1]) @ (weights @ problem.inputs[i])
        for i in range(problem.facts)
    ]


def objective(problem, weights):
    residuals = np.maximum(1 - np.concatenate(all_gaps(problem, weights)), 0)
    return float(residuals @ residuals) / 2


CASES = pytest.mark.parametrize(
    ("kind", "facts", "candidates"),
    [
        ("original", 8, None),
        ("original", 12, 3),
        ("original", 3, 9),
        ("decoupled", 8, None),
        ("decoupled", 12, 2),
        ("decoupled", 1, 5),
    ],
)


@CASES
def test_the_objective_is_the_squared_hinge(kind, facts, candidates):
    problem = make(kind, facts, 4, 3, candidates=candidates)
    for scale in (0.0, 0.1, 1.0, 30.0):
        weights = scale * np.random.default_rng(1).standard_normal((3, 4))
        point = _Point.at(problem, problem.inputs, weights)
        assert point.objective == pytest.approx(objective(problem, weights), rel=1e-10, abs=1e-12)


@CASES
def test_the_gradient_against_finite_differences(kind, facts, candidates):
    problem = make(kind, facts, 4, 3, candidates=candidates)
    weights = 0.3 * np.random.default_rng(1).standard_normal((3, 4))
    gradient = _Point.at(problem, problem.inputs, weights).gradient
    step = 1e-5
    for place in np.ndindex(3, 4):
        shift = np.zeros((3, 4))
        shift[place] = step
        ahead = _Point.at(problem, problem.inputs, weights + shift).objective
        behind = _Point.at(problem, problem.inputs, weights - shift).objective
        slope = (ahead - behind) / (2 * step)
        assert slope == pytest.approx(gradient[place], rel=1e-5, abs=1e-6)


@CASES
def test_the_newton_direction_solves_the_newton_equation(kind, facts, candidates):
    problem = make(kind, facts, 4, 3, candidates=candidates)
    weights = 0.3 * np.random.default_rng(1).standard_normal((3, 4))
    point = _Point.at(problem, problem.inputs, weights)
    pairs = point.scan.pairs
    differences = problem.target_outputs[pairs.facts] - pairs.table[pairs.index]
    rows = np.einsum("ki,kj->kij", differences, problem.inputs[pairs.facts]).reshape(-1, 12)
    hessian = rows.T @ rows
    direction = point.newton_direction(1e-8).ravel()
    left = hessian @ direction + point.gradient.ravel()
    assert np.linalg.norm(left) < 1e-3 * np.linalg.norm(point.gradient)
    assert direction @ point.gradient.ravel() < 0


@CASES
def test_the_bound_of_a_step_is_that_of_its_residuals(kind, facts, candidates):
    problem = make(kind, facts, 4, 3, candidates=candidates)
    weights = 0.3 * np.random.default_rng(1).standard_normal((3, 4))
    progress = feasibility(problem, start=weights, max_steps=0).history[0]
    total, weight = np.zeros((3, 4)), 0.0
    for fact, gaps in enumerate(all_gaps(problem, weights)):
        # The solver works on inputs of unit length.
        length = np.linalg.norm(problem.inputs[fact])
        residuals = np.maximum(1 - gaps / length, 0)
        differences = problem.target_outputs[fact] - problem.competitors(fact)[1]
        x = problem.inputs[fact] / length
        total += np.outer(residuals @ differences, x)
        weight += residuals @ np.linalg.norm(differences, axis=1) * np.linalg.norm(x)
    assert progress.margin_upper == pytest.approx(np.linalg.norm(total) / weight, rel=1e-9)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_weights_found_store_every_fact(kind):
    problem = make(kind, 20, 8)
    solution = feasibility(problem)
    assert (solution.status, solution.recalled) == (Status.STORED, 20)
    gaps = np.concatenate(all_gaps(problem, solution.weights))
    assert gaps.min() > 0
    assert solution.smallest_gap == pytest.approx(gaps.min(), rel=1e-9)
    assert solution.multipliers is None


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_multipliers_found_cancel(kind):
    problem = make(kind, 40, 5)
    solution = feasibility(problem)
    assert solution.status is Status.INFEASIBLE
    assert solution.recalled < 40
    found = solution.multipliers
    assert (found.values > 0).all()
    total, weight = np.zeros((5, 5)), 0.0
    for fact, rival, value in zip(found.facts, found.rivals, found.values, strict=True):
        numbers, vectors = problem.competitors(fact)
        difference = problem.target_outputs[fact] - vectors[list(numbers).index(rival)]
        x = problem.inputs[fact]
        total += value * np.outer(difference, x)
        weight += value * np.linalg.norm(difference) * np.linalg.norm(x)
    assert np.linalg.norm(total) / weight < 1e-6
    assert solution.history[-1].margin_upper < 1e-6


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_same_problem_gives_the_same_answer(kind):
    one, other = feasibility(make(kind, 30, 8)), feasibility(make(kind, 30, 8))
    np.testing.assert_array_equal(one.weights, other.weights)
    assert (one.status, one.steps) == (other.status, other.steps)


def test_kept_or_drawn_anew_gives_the_same_answer():
    kept = feasibility(DecoupledProblem(30, 6, 6, 30, 4))
    anew = feasibility(DecoupledProblem(30, 6, 6, 30, 4, in_memory_bytes=0))
    np.testing.assert_array_equal(kept.weights, anew.weights)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_warm_start_at_a_solution_takes_no_step(kind):
    problem = make(kind, 20, 8)
    first = feasibility(problem)
    again = feasibility(problem, start=first.weights)
    assert (again.status, again.steps) == (Status.STORED, 0)
    shorter = feasibility(problem.prefix(15), start=first.weights)
    assert (shorter.status, shorter.steps) == (Status.STORED, 0)


@pytest.mark.parametrize("facts", [14, 40])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_start_does_not_change_the_verdict(kind, facts):
    problem = make(kind, facts, 5)
    expected = feasibility(problem).status
    rng = np.random.default_rng(0)
    for scale in (0.0, 1e-3, 1.0, 100.0):
        start = scale * rng.standard_normal((5, 5))
        before = start.copy()
        assert feasibility(problem, start=start).status is expected
        np.testing.assert_array_equal(start, before)


def test_starts_in_another_layout():
    problem = make("original", 20, 8)
    start = np.random.default_rng(0).standard_normal((8, 8))
    plain = feasibility(problem, start=start)
    other = feasibility(problem, start=np.asfortranarray(start))
    np.testing.assert_allclose(plain.weights, other.weights, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(np.full((8, 8), np.nan), id="nan"),
        pytest.param(np.zeros((7, 8)), id="shape"),
        pytest.param(np.zeros(8), id="vector"),
    ],
)
def test_impossible_starts_are_named(start):
    with pytest.raises(BadArgumentError, match="start"):
        feasibility(make("original", 20, 8), start=start)


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_starts_of_another_type_are_converted(dtype):
    solution = feasibility(make("original", 20, 8), start=np.eye(8, dtype=dtype))
    assert solution.weights.dtype == np.float64


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"tolerance": 0.0}, "tolerance = 0"),
        ({"tolerance": np.nan}, "tolerance = nan"),
        ({"max_steps": -1}, "max_steps = -1"),
        ({"max_steps": 1.5}, "max_steps = 1.5"),
    ],
)
def test_what_is_wrong_is_named(options, word):
    with pytest.raises(BadArgumentError, match=word):
        feasibility(make("original", 5, 3), **options)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_step_is_watched(kind):
    seen = []
    solution = feasibility(make(kind, 30, 5), watch=seen.append)
    assert tuple(seen) == solution.history
    assert [progress.step for progress in seen] == list(range(solution.steps + 1))
    objectives = [progress.objective for progress in seen]
    assert objectives == sorted(objectives, reverse=True)
    assert all(0 <= progress.violations <= 30 for progress in seen)
    seconds = [progress.seconds for progress in seen]
    assert seconds == sorted(seconds)
    assert seconds[-1] <= solution.seconds


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_the_step_limit_stops(steps):
    problem = make("original", 40, 5)
    solution = feasibility(problem, max_steps=steps)
    assert (solution.status, solution.steps, len(solution.history)) == (
        Status.STOPPED,
        steps,
        steps + 1,
    )
    assert solution.multipliers is None


@pytest.mark.parametrize("stop", [0, 2])
def test_an_interruption_returns_the_best_so_far(stop):
    def watch(progress):
        if progress.step == stop:
            raise KeyboardInterrupt

    problem = make("original", 40, 5)
    solution = feasibility(problem, watch=watch)
    limited = feasibility(problem, max_steps=stop)
    assert (solution.status, solution.steps) == (Status.STOPPED, stop)
    np.testing.assert_array_equal(solution.weights, limited.weights)
    assert solution.recalled == limited.recalled
    # The objective is that of inputs of unit length.
    lengths = np.linalg.norm(problem.inputs, axis=1, keepdims=True)
    unit = OriginalProblem(problem.inputs / lengths, problem.outputs)
    assert objective(unit, solution.weights) == pytest.approx(solution.history[-1].objective)


def test_other_errors_of_the_watcher_are_not_swallowed():
    def watch(progress):
        raise RuntimeError("broken display")

    with pytest.raises(RuntimeError, match="broken display"):
        feasibility(make("original", 40, 5), watch=watch)
