"""A step of L-BFGS against functions whose minimum is known."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from simonides.solvers.training.lbfgs import RecentSteps


@dataclass(frozen=True)
class Point:
    place: np.ndarray
    loss: float
    slopes: np.ndarray


@dataclass(frozen=True)
class Function:
    value: object
    slopes: object

    def at(self, place):
        return Point(place, float(self.value(place)), self.slopes(place))

    def resolution(self, loss):
        return 4 * np.finfo(float).eps * abs(loss)


def quadratic(bend):
    return Function(lambda place: place @ bend @ place / 2, lambda place: bend @ place)


def minimised(function, place, steps):
    memory, point = RecentSteps(), function.at(np.asarray(place, float))
    for _ in range(steps):
        moved = memory.step(function, point)
        if moved is None:
            break
        assert moved.loss <= point.loss + function.resolution(point.loss)
        point = moved
    return point


def test_the_first_step_of_a_round_bowl_is_newtons():
    start = np.arange(1.0, 6.0)
    point = RecentSteps().step(quadratic(np.eye(5)), quadratic(np.eye(5)).at(start))
    np.testing.assert_allclose(point.place, 0, atol=1e-15)


def test_a_direction_undoes_the_last_change():
    """The secant equation: what the slopes gained along the last step is worth that step."""
    rng = np.random.default_rng(0)
    function = quadratic(np.diag(rng.uniform(0.1, 3, 9)))
    memory, point = RecentSteps(), function.at(rng.standard_normal(9))
    for _ in range(5):
        before, point = point, memory.step(function, point)
    gained, step = point.slopes - before.slopes, point.place - before.place
    np.testing.assert_allclose(memory._direction(gained), -step, atol=1e-12)


def test_an_uneven_bowl_is_left_at_its_bottom():
    rng = np.random.default_rng(1)
    bend = np.diag(np.geomspace(1e-2, 1e2, 12))
    point = minimised(quadratic(bend), rng.standard_normal(12), 200)
    np.testing.assert_allclose(point.slopes, 0, atol=1e-8)


@pytest.mark.parametrize("size", [2, 10])
def test_a_curved_valley_is_followed_to_its_end(size):
    point = minimised(Function(rosen, rosen_der), np.zeros(size), 300)
    np.testing.assert_allclose(point.place, 1, atol=1e-6)


def test_at_a_minimum_there_is_no_step():
    function = quadratic(np.eye(3))
    assert (
        RecentSteps().step(
            Function(lambda _: 0.0, lambda _: -np.ones(3)), Point(np.zeros(3), -1.0, np.ones(3))
        )
        is None
    )
    assert minimised(function, np.zeros(3), 5).loss == 0


def test_slopes_whose_squares_vanish_end_it():
    """The loss of stored facts falls to the smallest numbers there are."""
    falling = Function(lambda place: np.exp(-place[0]), lambda place: -np.exp(-place))
    assert minimised(falling, [0.0], 2000).loss < 1e-160
