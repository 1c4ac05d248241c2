"""The driver: limits, the best so far, history, and who may interrupt."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from simonides.failures import BadArgumentError
from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.decide import decide
from simonides.solvers.driver import Limits, Report, drive
from simonides.solvers.hinge.feasibility import feasibility
from simonides.solvers.hinge.low_rank import low_rank
from simonides.solvers.solution import Solution, Status, Verdict
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.solvers.training.gradient import gradient


@dataclass(frozen=True)
class Scripted:
    """A solver whose facts not recalled are written down beforehand, one number for each step."""

    violations: tuple[int, ...]
    ending: Status = Status.CONVERGED

    def start(self):
        return 0

    def states(self, step):
        yield step
        for step in range(1, len(self.violations)):
            yield step
        return step, self.ending

    def report(self, step):
        return Report(float(self.violations[step]), self.violations[step])

    def place(self, step):
        return step

    def at(self, place):
        return place

    def finish(self, step, status):
        return Solution(np.full((1, 1), step), status, -self.violations[step], math.nan)


LEVELS = (9, 4, 2, 7, 2, 5, 8)


def step_of(solution):
    return int(solution.weights[0, 0])


def test_left_alone_it_returns_the_last_state_and_all_of_the_history():
    solution = drive(Scripted(LEVELS), Limits(100))
    assert (step_of(solution), solution.status) == (6, Status.CONVERGED)
    assert [progress.violations for progress in solution.history] == list(LEVELS)
    assert [progress.step for progress in solution.history] == list(range(7))
    assert solution.steps == 6
    assert not solution.cut_short


def test_at_the_step_limit_it_returns_where_it_is():
    solution = drive(Scripted(LEVELS), Limits(3))
    assert (step_of(solution), solution.status, solution.steps) == (3, Status.STOPPED, 3)
    assert not solution.cut_short


@pytest.mark.parametrize(("stop", "best"), [(0, 0), (1, 1), (3, 2), (4, 4), (6, 4)])
def test_interrupted_it_returns_the_best_so_far_the_latest_of_several(stop, best):
    def press(progress):
        if progress.step == stop:
            raise KeyboardInterrupt

    solution = drive(Scripted(LEVELS), Limits(100), press)
    assert (step_of(solution), solution.status) == (best, Status.STOPPED)
    assert solution.interrupted
    assert not solution.timed_out


def test_out_of_time_it_returns_the_best_so_far():
    solution = drive(Scripted(LEVELS), Limits(100, 0.0))
    assert (step_of(solution), solution.steps) == (0, 0)
    assert solution.timed_out
    assert solution.cut_short
    assert not solution.interrupted


def test_a_clock_that_runs_out_in_the_middle(monkeypatch):
    ticks = iter(range(1000))
    monkeypatch.setattr("simonides.solvers.driver.time.monotonic", lambda: float(next(ticks)))
    solution = drive(Scripted(LEVELS), Limits(100, 3.5))
    assert 0 < solution.steps < 6
    seen = LEVELS[: solution.steps + 1]
    assert LEVELS[step_of(solution)] == min(seen)


def test_a_second_solver_goes_on_with_history_and_clock():
    first = replace(drive(Scripted((5, 3)), Limits(100)), seconds=50.0)
    second = drive(Scripted((3, 1)), Limits(100), after=first)
    assert [progress.violations for progress in second.history] == [5, 3, 3, 1]
    assert second.history[-1].seconds >= 50


@pytest.mark.parametrize(("steps", "seconds"), [(-1, None), (1.5, None), (3, -1.0), (3, math.nan)])
def test_limits_that_are_none_are_refused(steps, seconds):
    with pytest.raises(BadArgumentError):
        Limits(steps, seconds)


@pytest.mark.parametrize(
    ("solve", "facts"),
    [(feasibility, 20), (feasibility, 60), (partial(low_rank, rank=7), 20), (cross_entropy, 20),
     (gradient, 20)],
)  # fmt: skip
def test_a_limit_at_the_very_last_step_changes_nothing(solve, facts):
    problem = OriginalProblem.gaussian(facts, 10 if facts == 20 else 8, seed=0)
    free = solve(problem, threads=1)
    # The rate of gradient descent follows from its step limit, so that only its own may be given.
    limit = {} if solve is gradient else {"max_steps": free.steps}
    limited = solve(problem, threads=1, **limit)
    assert limited.status is free.status is not Status.STOPPED
    assert (limited.multipliers is None) == (free.multipliers is None)
    np.testing.assert_array_equal(limited.weights, free.weights)


def test_what_is_stored_from_the_start_is_proved_without_a_step():
    assert decide(OriginalProblem.gaussian(3, 10, seed=0), max_steps=0).verdict is Verdict.STORABLE


def test_cut_short_on_the_first_facts_a_rank_is_kept_and_nothing_told():
    problem = OriginalProblem.gaussian(60, 8, seed=0)
    decision = decide(problem, 4, time_limit=0.0)
    assert (decision.verdict, decision.told_by) == (Verdict.UNDECIDED, None)
    assert decision.solution.timed_out
    assert np.linalg.matrix_rank(decision.solution.weights) == 4
