"""The driver: limits, the best so far, history, and who may interrupt."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from simonides.failures import BadArgumentError
from simonides.solvers.driver import Limits, Report, drive
from simonides.solvers.solution import Solution, Status


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
    monkeypatch.setattr("simonides.solvers.driver.time.perf_counter", lambda: float(next(ticks)))
    solution = drive(Scripted(LEVELS), Limits(100, 7.5))
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
