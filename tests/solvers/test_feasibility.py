"""Semismooth Newton: its steps, its ways out, and how it is watched and interrupted."""

from __future__ import annotations

import numpy as np
import pytest
from definition import BOTH, KINDS, assert_recall_is_counted
from dense_hinge import CASES, hessian_of, objective_of, residuals_of, rows_of
from keyboard import interrupt

from simonides.failures import BadArgumentError
from simonides.problems.original import OriginalProblem
from simonides.solvers.hinge.feasibility import _newton_direction, feasibility, newton_step
from simonides.solvers.hinge.hinge import Hinge, HingeProblem
from simonides.solvers.solution import Status


def make(kind, facts, dim, dim_out=None, *, seed=0, candidates=None):
    return KINDS[kind].gaussian(facts, dim, dim_out, candidates=candidates, seed=seed)


@CASES
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize(("precision", "blur"), [(np.float32, 1e-4), (np.float64, 1e-7)])
def test_the_newton_direction_solves_the_newton_equation(
    kind, facts, candidates, ridge, precision, blur
):
    problem = make(kind, facts, 4, 3, candidates=candidates)
    weights = 0.3 * np.random.default_rng(1).standard_normal((3, 4))
    hinge = Hinge.at(HingeProblem(problem, map), weights)
    rows = rows_of(problem)[residuals_of(problem, weights) > 0]
    hessian = hessian_of(problem, weights) + ridge * np.eye(12)
    slope = hinge.gradient.ravel() + ridge * weights.ravel()
    direction = _newton_direction(hinge, 1e-8, ridge, precision).ravel()
    assert direction.dtype == np.float64
    # Rounding, and a damping of 1e-11 of the mean curvature, which only matters where there is none.
    left = hessian @ direction + slope
    assert np.linalg.norm(left) < blur * np.linalg.norm(slope) * np.linalg.cond(rows) ** 2
    assert direction @ slope < 0


@CASES
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_a_newton_step_descends(kind, facts, candidates, ridge):
    problem = make(kind, facts, 4, 3, candidates=candidates)
    hinge = Hinge.at(
        HingeProblem(problem, map), 0.3 * np.random.default_rng(1).standard_normal((3, 4))
    )

    def height(point):
        return point.objective + ridge * np.vdot(point.weights, point.weights) / 2

    for _ in range(5):
        if hinge.objective == 0:
            break
        moved = newton_step(hinge, 0.01, ridge)
        if moved is None:
            break
        assert height(moved) <= height(hinge) * (1 + 1e-12)
        np.testing.assert_allclose(moved.images, hinge.task.images(moved.weights), atol=1e-12)
        hinge = moved


@CASES
def test_the_bound_of_a_step_is_that_of_its_residuals(kind, facts, candidates):
    problem = make(kind, facts, 4, 3, candidates=candidates)
    start = 0.3 * np.random.default_rng(1).standard_normal((3, 4))
    solution = feasibility(problem, start=start, max_steps=0)
    cosine = np.vdot(solution.weights, start) / np.linalg.norm(start)
    assert cosine == pytest.approx(np.linalg.norm(solution.weights), rel=1e-12)
    residuals = residuals_of(problem, solution.weights)
    progress = solution.history[0]
    assert progress.objective == pytest.approx(objective_of(problem, solution.weights), rel=1e-9)
    rows = rows_of(problem)
    bound = np.linalg.norm(residuals @ rows) / (residuals @ np.linalg.norm(rows, axis=1))
    assert progress.margin_upper == pytest.approx(bound, rel=1e-9)
    assert solution.margin_upper == progress.margin_upper


@BOTH
def test_weights_found_store_every_fact(kind):
    problem = make(kind, 20, 8)
    solution = feasibility(problem)
    assert (solution.status, solution.recalled) == (Status.STORED, 20)
    assert solution.smallest_gap > 0
    assert_recall_is_counted(problem, solution)
    assert solution.multipliers is None


@BOTH
def test_multipliers_found_cancel(kind):
    problem = make(kind, 40, 5)
    solution = feasibility(problem)
    assert solution.status is Status.INFEASIBLE
    assert solution.recalled < 40
    multipliers = solution.multipliers
    assert (multipliers.values > 0).all()
    total, weight = np.zeros((5, 5)), 0.0
    for fact, rival, value in zip(
        multipliers.facts, multipliers.rivals, multipliers.values, strict=True
    ):
        numbers, vectors = problem.competitors(fact)
        difference = problem.target_outputs[fact] - vectors[list(numbers).index(rival)]
        x = problem.inputs[fact]
        total += value * np.outer(difference, x)
        weight += value * np.linalg.norm(difference) * np.linalg.norm(x)
    assert np.linalg.norm(total) / weight < 1.01e-9
    assert solution.margin_upper == solution.history[-1].margin_upper < 1e-9


@BOTH
def test_the_same_problem_gives_the_same_answer(kind):
    one, other = feasibility(make(kind, 30, 8)), feasibility(make(kind, 30, 8))
    np.testing.assert_array_equal(one.weights, other.weights)
    assert (one.status, one.steps) == (other.status, other.steps)


@BOTH
def test_a_warm_start_at_a_solution_takes_no_step(kind):
    problem = make(kind, 20, 8)
    first = feasibility(problem)
    again = feasibility(problem, start=first.weights)
    assert (again.status, again.steps) == (Status.STORED, 0)
    shorter = feasibility(problem.prefix(15), start=first.weights)
    assert (shorter.status, shorter.steps) == (Status.STORED, 0)


@pytest.mark.parametrize("facts", [14, 40])
@BOTH
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


@BOTH
def test_every_step_is_watched(kind):
    seen = []
    solution = feasibility(make(kind, 30, 5), watch=seen.append)
    assert tuple(seen) == solution.history
    assert [progress.step for progress in seen] == list(range(solution.steps + 1))
    assert all(progress.objective >= 0 for progress in seen)
    assert all(progress.margin_lower == -np.inf for progress in seen)
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
    fewest = min(range(stop + 1), key=lambda step: (solution.history[step].violations, -step))
    best = feasibility(problem, max_steps=fewest)
    np.testing.assert_array_equal(solution.weights, best.weights)
    assert solution.recalled == best.recalled >= limited.recalled
    objective = objective_of(problem, solution.weights)
    assert objective == pytest.approx(solution.history[fewest].objective)


def test_other_errors_of_the_watcher_are_not_swallowed():
    def watch(progress):
        raise RuntimeError("broken display")

    with pytest.raises(RuntimeError, match="broken display"):
        feasibility(make("original", 40, 5), watch=watch)


def test_an_interruption_at_any_step_returns_something():
    problem = make("decoupled", 40, 5)
    whole = feasibility(problem)
    for stop in range(whole.steps + 1):

        def watch(progress, stop=stop):
            if progress.step == stop:
                raise KeyboardInterrupt

        solution = feasibility(problem, watch=watch)
        assert (solution.status, solution.steps) == (Status.STOPPED, stop)
        assert solution.multipliers is None
        assert np.isfinite(solution.weights).all()


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_a_signal_from_the_keyboard_stops_at_once(threads):
    code = f"""
        from simonides.problems.original import OriginalProblem
        from simonides.solvers.hinge.feasibility import feasibility
        def watch(progress):
            print(progress.step, flush=True)
        solution = feasibility(
            OriginalProblem.gaussian(1600, 60, seed=0), watch=watch, threads={threads}
        )
        print(solution.status, solution.weights.shape, threading.active_count())
    """
    assert interrupt(code, after=3).splitlines()[-1] == "stopped (60, 60) 1"


def test_a_gradient_that_vanishes_is_a_proof():
    # Facts 0 and 1 contradict each other and cancel; with the others at rest nothing else is left.
    inputs = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    outputs = np.array([[1.0], [0.0]])
    problem = OriginalProblem(inputs, outputs, [0, 0, 0, 0])
    for start in (None, np.array([[0.0, 1.0, 1.0]]), np.array([[0.0, 1.0, 2.0]])):
        solution = feasibility(problem, start=start)
        assert solution.status is Status.INFEASIBLE
        assert np.isfinite(solution.weights).all()
