"""Projections of score vectors, against a general quadratic programme and optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize

from simonides.theory.projection import raised_level, squared_distance, tail_squared_distance

steady = settings(derandomize=True, deadline=None, max_examples=80)
scores = st.floats(-8, 8).map(lambda x: round(x, 3))  # rounding makes ties likely


def one(function, target, rivals, *args, **kwargs):
    return float(function(np.array([target]), np.asarray([rivals]), *args, **kwargs)[0])


def rows(minimum=1, maximum=9):
    return st.integers(minimum, maximum).flatmap(lambda n: arrays(np.float64, n, elements=scores))


def programme(objective, start, constraints):
    optimum = optimize.minimize(
        lambda v: objective(v)[0],
        start,
        jac=lambda v: objective(v)[1],
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert optimum.success, optimum.message
    return optimum.x


def brute_force(target, rivals, margin):
    """Return the nearest score vector whose target beats every rival by the margin."""
    point = np.concatenate(([target], rivals))
    beats = np.hstack([np.ones((rivals.size, 1)), -np.eye(rivals.size)])
    constraint = {"type": "ineq", "fun": lambda z: beats @ z - margin, "jac": lambda z: beats}
    return programme(lambda z: (((z - point) ** 2).sum(), 2 * (z - point)), point, [constraint])


def tail_brute_force(target, rivals, count):
    """Return the squared distance from {z_1 >= t + sum (z_j - t)_+ / k for some t}, with slacks."""
    n = rivals.size
    point = np.concatenate(([target], rivals))
    # Unknowns: the scores, the threshold t, and the excesses s_j >= (z_j - t)_+.
    zero, eye, ones = np.zeros((n, 1)), np.eye(n), np.ones((n, 1))
    above = np.hstack([zero, -eye, ones, eye])
    positive = np.hstack([zero, np.zeros((n, n)), zero, eye])
    average = np.concatenate(([1.0], np.zeros(n), [-1.0], np.full(n, -1 / count)))[None, :]
    matrix = np.vstack([above, positive, average])

    def objective(v):
        gradient = np.zeros(v.size)
        gradient[: n + 1] = 2 * (v[: n + 1] - point)
        return ((v[: n + 1] - point) ** 2).sum(), gradient

    start = np.concatenate(([rivals.max()], rivals, [rivals.min()], rivals - rivals.min()))
    constraint = {"type": "ineq", "fun": lambda v: matrix @ v, "jac": lambda v: matrix}
    return objective(programme(objective, start, [constraint]))[0]


def top_mean(rivals, count):
    """Mean of the top ``count`` of a descending row, the last one taken in part."""
    taken = np.clip(count - np.arange(rivals.size), 0, 1)
    return float(taken @ rivals) / count


@pytest.mark.parametrize(
    ("size", "margin"), [(1, 0.0), (1, 5.0), (2, 0.7), (3, 0.0), (5, 5.0), (8, 0.0), (8, 0.7)]
)
def test_against_a_quadratic_programme(size, margin):
    rng = np.random.default_rng((size, int(10 * margin)))
    for _ in range(4):
        target, rivals = rng.standard_normal(), rng.standard_normal(size)
        nearest = brute_force(target, rivals, margin)
        level = one(raised_level, target, rivals, margin=margin)
        assert level == pytest.approx(nearest[0], abs=1e-6)
        expected = ((nearest - np.concatenate(([target], rivals))) ** 2).sum()
        assert one(squared_distance, target, rivals, margin=margin) == pytest.approx(
            expected, abs=1e-6
        )


@pytest.mark.parametrize(
    ("size", "count"),
    [(1, 1), (3, 1), (3, 1.5), (3, 2), (4, 2.7), (5, 3.01), (5, 5), (6, 1.2), (6, 5.5)],
)
def test_tail_against_a_quadratic_programme(size, count):
    rng = np.random.default_rng((size, int(100 * count)))
    for shift in (-2.0, -0.5, 0.5):
        target = rng.standard_normal() + shift
        rivals = -np.sort(-rng.standard_normal(size))
        expected = tail_brute_force(target, rivals, count)
        assert one(tail_squared_distance, target, rivals, count) == pytest.approx(
            expected, abs=1e-6
        )


@pytest.mark.parametrize("weight", [0.1, 1.0, 3.5])
def test_weighted_level_solves_its_equation(weight):
    rng = np.random.default_rng(4)
    target, rivals = rng.standard_normal(50), rng.standard_normal((50, 7))
    level = raised_level(target, rivals, margin=0.6, weight=weight)

    def residual(t, i):
        return t - target[i] - weight * np.maximum(rivals[i] + 0.6 - t, 0.0).sum()

    roots = [optimize.brentq(residual, -60, 60, args=(i,), xtol=1e-13) for i in range(50)]
    np.testing.assert_allclose(level, roots, atol=1e-11)


@steady
@given(target=scores, rivals=rows(), margin=st.floats(0, 6).map(lambda x: round(x, 3)))
def test_projection_is_optimal(target, rivals, margin):
    level = one(raised_level, target, rivals, margin=margin)
    pull = np.maximum(rivals + margin - level, 0.0)
    # Feasible, with forces that push apart only and balance: the conditions of Karush-Kuhn-Tucker.
    assert level >= target
    assert level - target == pytest.approx(pull.sum(), abs=1e-11)
    squared = one(squared_distance, target, rivals, margin=margin)
    assert squared == pytest.approx((level - target) ** 2 + (pull**2).sum(), abs=1e-11)
    wins = target >= rivals.max() + margin
    assert (squared <= 1e-24) if wins else (squared > 0)


@steady
@given(target=scores, rivals=rows(), scale=st.floats(1e-3, 1e3), shift=st.floats(-50, 50))
def test_cone_scales_and_shifts(target, rivals, scale, shift):
    squared = one(squared_distance, target, rivals)
    scaled = one(squared_distance, scale * target, scale * rivals)
    assert scaled == pytest.approx(scale**2 * squared, rel=1e-9, abs=1e-20)
    shifted = one(squared_distance, target + shift, rivals + shift)
    assert shifted == pytest.approx(squared, abs=1e-10)


@steady
@given(target=scores, rivals=rows(), share=st.floats(0, 1), seed=st.integers(0, 2**32))
def test_tail_distance_lies_between_its_bounds(target, rivals, share, seed):
    rivals = -np.sort(-rivals)
    count = 1 + share * (rivals.size - 1)
    squared = one(tail_squared_distance, target, rivals, count)
    gap = max(top_mean(rivals, count) - target, 0.0)
    # Below, the distance from one of the half spaces; above, raising the target alone.
    taken = np.clip(count - np.arange(rivals.size), 0, 1) / count
    slack = 1e-9 * (1 + gap**2)
    assert gap**2 / (1 + taken @ taken) - slack <= squared <= gap**2 + slack
    # No feasible vector is nearer.
    other = -np.sort(-(rivals + np.random.default_rng(seed).normal(0, 0.3, rivals.size)))
    raised = max(target, top_mean(other, count))
    assert squared <= (raised - target) ** 2 + ((other - rivals) ** 2).sum() + slack


@steady
@given(target=scores, rivals=rows(), share=st.floats(0, 1), scale=st.floats(0.01, 100))
def test_tail_cone_scales(target, rivals, share, scale):
    rivals = -np.sort(-rivals)
    count = 1 + share * (rivals.size - 1)
    squared = one(tail_squared_distance, target, rivals, count)
    scaled = one(tail_squared_distance, scale * target, scale * rivals, count)
    assert scaled == pytest.approx(scale**2 * squared, rel=1e-7, abs=1e-9 * scale**2)


@steady
@given(target=scores, rivals=rows())
def test_average_of_one_is_the_retrieval_cone(target, rivals):
    rivals = -np.sort(-rivals)
    assert one(tail_squared_distance, target, rivals, 1) == pytest.approx(
        one(squared_distance, target, rivals), abs=1e-9
    )


@steady
@given(target=scores, rivals=rows())
def test_average_of_all_is_a_half_space(target, rivals):
    rivals = -np.sort(-rivals)
    gap = max(rivals.mean() - target, 0.0)
    assert one(tail_squared_distance, target, rivals, rivals.size) == pytest.approx(
        gap**2 / (1 + 1 / rivals.size), abs=1e-12
    )


@steady
@given(target=scores, rivals=rows(3), steps=st.lists(st.integers(0, 64), min_size=2, max_size=2))
def test_averaging_more_rivals_is_easier(target, rivals, steps):
    rivals = -np.sort(-rivals)
    few, many = (1 + step * (rivals.size - 1) / 64 for step in sorted(steps))
    easier = one(tail_squared_distance, target, rivals, many)
    assert easier <= one(tail_squared_distance, target, rivals, few) + 1e-8


@pytest.mark.parametrize("count", [1 + 1e-9, 1 + 1e-12, 1 + 2**-52, 2 + 1e-10, 7.000000000000001])
def test_count_just_above_a_whole_number(count):
    rng = np.random.default_rng(1)
    target, rivals = rng.standard_normal(50), -np.sort(-rng.standard_normal((50, 30)), axis=1)
    whole = tail_squared_distance(target, rivals, int(count))
    np.testing.assert_allclose(tail_squared_distance(target, rivals, count), whole, atol=1e-6)


def test_highest_rivals_suffice_or_the_answer_is_missing():
    rng = np.random.default_rng(6)
    target = rng.standard_normal(300) - 1
    rivals = -np.sort(-rng.standard_normal((300, 40)), axis=1)
    whole = tail_squared_distance(target, rivals, 4.5)
    deep = tail_squared_distance(target, rivals[:, :25], 4.5, complete=False)
    np.testing.assert_allclose(deep, whole, atol=1e-8)
    shallow = tail_squared_distance(target, rivals[:, :6], 4.5, complete=False)
    missing = np.isnan(shallow)
    assert 0 < missing.sum() < 300
    np.testing.assert_allclose(shallow[~missing], whole[~missing], atol=1e-8)
