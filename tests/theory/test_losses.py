"""Proximal maps: optimality, agreement with a general minimiser, and what convexity implies."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize

from simonides.theory.losses import CrossEntropy, Loss, SquaredHinge, TrainableLoss

LOSSES = [CrossEntropy(), SquaredHinge()]
cheap = settings(max_examples=25, deadline=None, derandomize=True)
steps = st.floats(-4, 4).map(lambda log: 10.0**log)
sizes = st.integers(2, 60)
scales = st.sampled_from([0.0, 0.1, 1.0, 10.0, 300.0])
seeds = st.integers(0, 2**32 - 1)
losses = st.sampled_from(LOSSES)


def slope_of(loss, z):
    _, by_target, by_rivals = loss.derivatives(z[:, 0], z[:, 1:])
    return np.column_stack((by_target, by_rivals))


def draw(seed, rows, size, scale):
    return scale * np.random.default_rng(seed).standard_normal((rows, size))


# Values


def test_cross_entropy_values():
    loss = CrossEntropy()
    scores = np.array([[0.0, 0.0, 0.0], [math.log(2), 0.0, 0.0], [1000.0, 0.0, 0.0]])
    assert loss.value(scores) == pytest.approx([math.log(3), math.log(2), 0.0], abs=1e-15)
    assert loss.value(np.array([[0.0, 1000.0]])) == pytest.approx([1000.0], rel=1e-15)


def test_squared_hinge_values():
    loss = SquaredHinge()
    scores = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, -3.0], [0.0, 1.0, -2.0], [2.0, 1.5, 0.0]])
    # shortfalls (1, 1), (0, 0), (2, 0) and (0.5, 0)
    assert loss.value(scores) == pytest.approx([1.0, 0.0, 2.0, 0.125], abs=1e-15)


@given(losses, seeds, sizes, scales, st.floats(-50, 50))
@cheap
def test_only_differences_of_scores_matter(loss, seed, size, scale, shift):
    z = draw(seed, 4, size, scale)
    assert loss.value(z + shift) == pytest.approx(loss.value(z), rel=1e-9, abs=1e-10)
    moved = loss.prox(z + shift, 0.7)
    assert moved == pytest.approx(loss.prox(z, 0.7) + shift, rel=1e-9, abs=1e-9)


@given(losses, seeds, sizes, scales)
@cheap
def test_derivatives_are_those_of_the_values(loss, seed, size, scale):
    z, h = draw(seed, 1, size, min(scale, 10)), 1e-6
    value, *_ = loss.derivatives(z[:, 0], z[:, 1:])
    assert value == pytest.approx(loss.value(z), rel=1e-12, abs=1e-12)
    slope = slope_of(loss, z)
    for j in range(min(size, 4)):
        up, down = z.copy(), z.copy()
        up[0, j] += h
        down[0, j] -= h
        numeric = (loss.value(up)[0] - loss.value(down)[0]) / (2 * h)
        assert slope[0, j] == pytest.approx(numeric, abs=1e-3, rel=1e-4)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_rival_at_minus_infinity_counts_for_nothing(loss):
    z = draw(2, 5, 6, 2.0)
    places = np.array([0, 2, 5, 3, 1])
    struck = np.stack(
        [np.insert(row, place, -np.inf) for row, place in zip(z, places, strict=True)]
    )
    own = np.linspace(-3, 3, 5)
    value, by_own, by_rivals = loss.derivatives(own, z)
    again, by_own_again, by_struck = loss.derivatives(own, struck)
    assert again == pytest.approx(value, rel=1e-14)
    assert by_own_again == pytest.approx(by_own, rel=1e-14)
    assert np.all(by_struck[np.arange(5), places] == 0)
    assert by_struck[~np.isneginf(struck)] == pytest.approx(by_rivals.ravel(), rel=1e-14)


def test_losses_far_below_one_keep_their_digits():
    value, by_own, _ = CrossEntropy().derivatives(np.array([50.0]), np.array([[0.0, 1.0]]))
    expected = math.exp(-50) + math.exp(-49)
    assert value == pytest.approx([expected], rel=1e-14, abs=0)
    assert by_own == pytest.approx([-expected], rel=1e-14, abs=0)


def test_what_a_loss_of_ones_own_provides_is_told_apart():
    class Bare:
        vanishes = False

        def value(self, scores): ...

        def prox(self, points, step): ...

    assert isinstance(Bare(), Loss)
    assert not isinstance(Bare(), TrainableLoss)
    assert all(isinstance(loss, TrainableLoss) for loss in LOSSES)


# Proximal maps


@given(losses, seeds, sizes, scales, steps)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_prox_meets_the_optimality_condition(loss, seed, size, scale, step):
    points = draw(seed, 5, size, scale)
    z = loss.prox(points, step)
    assert z.shape == points.shape
    pull = step * slope_of(loss, z)
    size_of = 1 + np.abs(points).max() + np.abs(pull).max()
    assert z - points + pull == pytest.approx(np.zeros_like(z), abs=1e-8 * size_of)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("step", [0.01, 0.5, 3.0, 40.0])
def test_prox_agrees_with_a_general_minimiser(loss, step):
    for point in draw(7, 3, 6, 2.0):

        def objective(z, point=point):
            return loss.value(z[None])[0] + np.sum((z - point) ** 2) / (2 * step)

        def slope(z, point=point):
            return slope_of(loss, z[None])[0] + (z - point) / step

        optimum = optimize.minimize(
            objective, point, jac=slope, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000}
        )
        z = loss.prox(point[None], step)[0]
        assert z == pytest.approx(optimum.x, abs=1e-5)
        assert objective(z) <= optimum.fun + 1e-10


@given(losses, seeds, sizes, scales, steps)
@cheap
def test_prox_is_firmly_nonexpansive(loss, seed, size, scale, step):
    a, b = draw(seed, 6, size, scale), draw(seed + 1, 6, size, scale)
    moved = loss.prox(a, step) - loss.prox(b, step)
    apart = a - b
    inner = np.sum(moved * apart, axis=1)
    squared = np.sum(moved**2, axis=1)
    slack = 1e-8 * (1 + np.sum(apart**2, axis=1))
    assert np.all(squared <= inner + slack)
    assert np.all(squared <= np.sum(apart**2, axis=1) + slack)


@given(seeds, sizes, scales, steps)
@cheap
def test_what_the_prox_takes_is_a_dual_point(seed, size, scale, step):
    # Moreau: the step over τ lies in the domain of the conjugate, the simplex less the target
    points = draw(seed, 5, size, scale)
    dual = (points - CrossEntropy().prox(points, step)) / step
    dual[:, 0] += 1
    rounding = 1e-9 * (1 + np.abs(points).max() / step)
    assert dual.sum(axis=1) == pytest.approx(np.ones(5), abs=size * rounding)
    assert np.all(dual > -rounding)
    assert np.all(dual < 1 + rounding)


@given(losses, seeds, sizes, steps)
@cheap
def test_prox_lowers_rivals_and_raises_the_target(loss, seed, size, step):
    points = draw(seed, 5, size, 1.0)
    z = loss.prox(points, step)
    assert np.all(z[:, 0] >= points[:, 0])
    assert np.all(z[:, 1:] <= points[:, 1:] + 1e-12)
    assert z.sum(axis=1) == pytest.approx(points.sum(axis=1), abs=1e-8 * (1 + step))
    assert np.all(loss.value(z) <= loss.value(points) + 1e-12)


@given(losses, seeds, sizes, scales)
@cheap
def test_a_vanishing_step_leaves_the_points(loss, seed, size, scale):
    points = draw(seed, 5, size, scale)
    slope = slope_of(loss, points)
    for step in (1e-6, 1e-10):
        moved = loss.prox(points, step) - points
        assert np.all(np.abs(moved) <= step * np.abs(slope).max() * 1.001 + 1e-12 * (1 + scale))
    fine = loss.prox(points, 1e-6) - points
    assert fine == pytest.approx(
        -1e-6 * slope, abs=1e-10 * size * (1 + np.abs(slope).max()) + 1e-12 * scale
    )


@given(losses, seeds, sizes)
@cheap
def test_longer_steps_lower_the_loss_further(loss, seed, size):
    points = draw(seed, 5, size, 1.0)
    values = [loss.value(loss.prox(points, step)) for step in (0.01, 0.1, 1, 10, 100, 1000)]
    assert np.all(np.diff(values, axis=0) <= 1e-12)


@given(losses, seeds, st.integers(3, 30), steps)
@cheap
def test_the_order_of_rivals_does_not_matter(loss, seed, size, step):
    points = draw(seed, 3, size, 1.0)
    turned = np.column_stack((points[:, :1], points[:, :0:-1]))
    z = loss.prox(points, step)
    assert loss.prox(turned, step) == pytest.approx(
        np.column_stack((z[:, :1], z[:, :0:-1])), abs=1e-9 * (1 + step)
    )


def test_squared_hinge_against_one_rival():
    # two scores: the gap m solves m = g + 2 τ (1 - m)_+
    for step in (0.1, 1.0, 9.0):
        for gap in (-3.0, 0.0, 0.9, 1.0, 4.0):
            z = SquaredHinge().prox(np.array([[gap / 2, -gap / 2]]), step)[0]
            expected = gap if gap >= 1 else (gap + 2 * step) / (1 + 2 * step)
            assert z[0] - z[1] == pytest.approx(expected, abs=1e-12)


def test_points_beyond_the_margin_stay():
    points = np.array([[5.0, 1.0, 2.0], [1.0, 0.0, -1.0]])
    assert SquaredHinge().prox(points, 100.0) == pytest.approx(points, abs=0)


def test_points_are_not_changed_in_place():
    points = draw(3, 4, 5, 1.0)
    kept = points.copy()
    for loss in LOSSES:
        loss.prox(points, 2.0)
        loss.value(points)
        assert np.array_equal(points, kept)


@given(seeds, sizes, steps)
@cheap
def test_rows_do_not_see_each_other(seed, size, step):
    points = draw(seed, 6, size, 3.0)
    assume(size > 1)
    for loss in LOSSES:
        together = loss.prox(points, step)
        apart = np.concatenate([loss.prox(row[None], step) for row in points])
        assert together == pytest.approx(apart, abs=1e-8 * (1 + step), rel=1e-8)


@pytest.mark.parametrize("step", [1e-8, 1e8])
def test_extreme_steps_converge(step):
    points = draw(5, 20, 40, 5.0)
    for loss in LOSSES:
        z = loss.prox(points, step)
        assert np.all(np.isfinite(z))
        residual = (z - points) / step + slope_of(loss, z)
        assert np.abs(residual).max() < 1e-6 * (1 + 1 / step)
