"""Listwise retrieval, against the usual criterion, an expansion in 1/K and brute-force samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from simonides.theory.cone import statistical_dimension
from simonides.theory.tail import TailCone, highest_normals, tail_mean, tail_statistical_dimension

steady = settings(derandomize=True, deadline=None, max_examples=60)


def shortfall(level):
    """Return E[(level - g)_+^2] by quadrature."""
    return integrate.quad(
        lambda g: (level - g) ** 2 * stats.norm.pdf(g), -40, level, epsabs=0, points=[-5, 0]
    )[0]


def first_order(fraction, margin=0.0):
    """Return K times the leading error of the limit among K candidates.

    Lowering the tail takes 1/k off the squared gap. The sampled tail mean of K - 1 rivals differs from
    its limit in mean, because it is a minimum over thresholds and because rK of K - 1 are averaged,
    and it fluctuates.
    """
    threshold = stats.norm.isf(fraction)
    height = stats.norm.pdf(threshold)
    limit = height / fraction
    level = limit + margin
    bias = (threshold - limit) - (1 - fraction) / (2 * height)
    second = (1 + threshold**2) * fraction - threshold * height
    variance = (second - (height - fraction * threshold) ** 2) / fraction**2
    slope = 2 * (level * stats.norm.cdf(level) + stats.norm.pdf(level))
    dimension = tail_statistical_dimension(fraction, margin)
    return slope * bias + stats.norm.cdf(level) * variance - dimension / fraction


@pytest.mark.parametrize(
    ("fraction", "margin"),
    [(1e-9, 0.0), (1e-3, 4.0), (0.1, 0.0), (0.1, 0.5), (0.5, 4.0), (0.9, 0.5), (1.0, 0.0)],
)
def test_closed_form_is_the_mean_squared_shortfall(fraction, margin):
    level = tail_mean(fraction) + margin
    assert tail_statistical_dimension(fraction, margin) == pytest.approx(shortfall(level), rel=1e-8)


@pytest.mark.parametrize("fraction", [1e-6, 0.02, 0.5, 0.97])
def test_tail_mean(fraction):
    threshold = stats.norm.isf(fraction)
    mean = integrate.quad(lambda g: g * stats.norm.pdf(g), threshold, threshold + 12, epsabs=0)[0]
    assert tail_mean(fraction) == pytest.approx(mean / fraction, rel=1e-8)


def test_average_of_all_rivals_costs_one_half():
    assert tail_statistical_dimension(1.0) == 0.5
    assert tail_statistical_dimension(1 - 1e-12) == pytest.approx(0.5, abs=1e-9)


@steady
@given(fraction=st.floats(1e-12, 1), factor=st.floats(0.01, 0.99), margin=st.floats(0, 20))
def test_fewer_averaged_or_a_margin_cost_more(fraction, factor, margin):
    base = tail_statistical_dimension(fraction, margin)
    assert tail_statistical_dimension(factor * fraction, margin) > base
    assert tail_statistical_dimension(fraction, margin + 0.1) > base


@pytest.mark.parametrize("candidates", [2, 3, 30, 1000])
def test_averaging_one_rival_is_the_usual_criterion(candidates):
    cone = TailCone(candidates, 1 / candidates)
    assert cone.averaged == 1
    estimate = cone.statistical_dimension(np.random.default_rng(candidates), 2048)
    expected = statistical_dimension(candidates)
    assert abs(estimate.value - expected) < 4.5 * estimate.stderr
    assert estimate.stderr < 0.1 * expected + 0.05


@pytest.mark.slow
def test_averaging_one_rival_of_a_million():
    estimate = TailCone(10**6, 1e-6).statistical_dimension(np.random.default_rng(0), 8192)
    assert abs(estimate.value - statistical_dimension(1e6)) < 4.5 * estimate.stderr


def test_averaging_one_rival_with_a_margin():
    for margin in (0.5, 5.0):
        estimate = TailCone(200, 1 / 200, margin).statistical_dimension(
            np.random.default_rng(1), 2048
        )
        expected = statistical_dimension(200, margin)
        assert abs(estimate.value - expected) < 4.5 * estimate.stderr


@pytest.mark.parametrize("candidates", [2, 10, 200])
def test_averaging_all_rivals_is_a_half_space(candidates):
    # A half space costs one half among any number of candidates, so there is no finite-size term.
    cone = TailCone(candidates, 1.0)
    assert cone.averaged == candidates - 1
    estimate = cone.statistical_dimension(np.random.default_rng(2), 2048)
    assert abs(estimate.value - 0.5) < 4.5 * estimate.stderr


@pytest.mark.parametrize(("fraction", "margin"), [(0.1, 0.0), (0.5, 0.0), (0.02, 1.0)])
def test_closed_form_against_brute_force_among_many(fraction, margin):
    candidates = 20_000
    averaged = int(fraction * candidates)
    rivals = np.random.default_rng(9).standard_normal((100, candidates - 1))
    means = np.sort(rivals, axis=1)[:, -averaged:].mean(axis=1) + margin
    # The target is integrated out, so that only the rivals' fluctuations remain.
    squared_gap = (1 + means**2) * stats.norm.cdf(means) + means * stats.norm.pdf(means)
    error = squared_gap.std(ddof=1) / math.sqrt(squared_gap.size)
    limit = tail_statistical_dimension(fraction, margin)
    # Lowering rivals too takes off at most a relative 1/(rK); the rest of the finite-size term is
    # of the same order.
    finite_size = 2 * abs(first_order(fraction, margin)) / candidates
    assert abs(squared_gap.mean() - limit) < 4.5 * error + finite_size
    assert finite_size < 0.01 * limit


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fraction", "margin", "candidates"),
    [(0.01, 0.0, 3000), (0.1, 0.0, 300), (0.1, 2.0, 300), (0.3, 0.0, 100), (0.5, 0.0, 100)],
)
def test_finite_size_error_is_of_order_one_over_the_averaged(fraction, margin, candidates):
    estimate = TailCone(candidates, fraction, margin).statistical_dimension(
        np.random.default_rng(5), 12_288
    )
    limit = tail_statistical_dimension(fraction, margin)
    measured = (estimate.value - limit) * candidates
    # The next term of the expansion is smaller by a factor of about 1/(rK).
    second_order = 3 * abs(first_order(fraction, margin)) / (fraction * candidates)
    assert abs(measured - first_order(fraction, margin)) < (
        4.5 * estimate.stderr * candidates + second_order
    )
    # In units of 1/(rK) the relative error is about minus one, and grows with the fraction.
    assert -2.2 < fraction * first_order(fraction, margin) / limit < -0.9
    assert measured < -4.5 * estimate.stderr * candidates


def test_standard_errors_are_honest():
    # 40 estimates of a known value: the mean square of their deviations is 1 within 4.5 sqrt(2/40).
    cone, rng = TailCone(20, 1 / 20), np.random.default_rng(11)
    estimates = [cone.statistical_dimension(rng, 256) for _ in range(40)]
    deviations = [(e.value - statistical_dimension(20)) / e.stderr for e in estimates]
    assert abs(np.mean(np.square(deviations)) - 1) < 4.5 * math.sqrt(2 / 40)


def test_control_variate_helps_the_more_the_more_are_averaged():
    errors = [
        TailCone(300, fraction).statistical_dimension(np.random.default_rng(0), 1024).stderr
        for fraction in (0.01, 0.1, 0.4)
    ]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_same_generator_same_answer():
    cone = TailCone(50, 0.2)
    first, second = (
        cone.statistical_dimension(np.random.default_rng(3), samples=700) for _ in range(2)
    )
    assert first == second


def test_fraction_that_rounds_to_just_above_a_whole_count():
    cones = [TailCone(100, fraction) for fraction in (0.28, 0.28001)]
    first, second = (c.statistical_dimension(np.random.default_rng(0), 512) for c in cones)
    assert first.value == pytest.approx(second.value, rel=1e-3)


def test_candidates_may_be_a_whole_float():
    estimate = TailCone(20.0, 0.3).statistical_dimension(np.random.default_rng(0), 64)
    assert estimate == TailCone(20, 0.3).statistical_dimension(np.random.default_rng(0), 64)


def test_margin_that_reaches_many_rivals():
    estimate = TailCone(2000, 1 / 2000, 60.0).statistical_dimension(np.random.default_rng(0), 512)
    expected = statistical_dimension(2000, 60.0)
    assert abs(estimate.value - expected) < 4.5 * estimate.stderr


@pytest.mark.parametrize(("size", "depth"), [(1, 1), (6, 6), (50, 8)])
def test_highest_normals_are_top_order_statistics(size, depth):
    rows = 4000
    drawn = highest_normals(rows, size, depth, np.random.default_rng(1))
    assert drawn.shape == (rows, depth)
    assert np.all(np.diff(drawn, axis=1) <= 0)
    values = np.random.default_rng(2).standard_normal((rows, size))
    sorted_down = -np.sort(-values, axis=1)[:, :depth]
    for rank in {0, depth // 2, depth - 1}:
        assert stats.ks_2samp(drawn[:, rank], sorted_down[:, rank]).pvalue > 1e-4
    # Together as well as one by one.
    assert stats.ks_2samp(drawn.sum(axis=1), sorted_down.sum(axis=1)).pvalue > 1e-4
    gaps = drawn[:, 0] - drawn[:, -1], sorted_down[:, 0] - sorted_down[:, -1]
    if depth > 1:
        assert stats.ks_2samp(*gaps).pvalue > 1e-4


def test_highest_normals_of_a_trillion():
    size = 10**12
    drawn = highest_normals(4000, size, 3, np.random.default_rng(7))
    # The maximum of n normals is below x with probability Phi(x)^n.
    uniform = np.exp(size * stats.norm.logcdf(drawn[:, 0]))
    assert stats.kstest(uniform, "uniform").pvalue > 1e-4
    # n Q of the k-th highest follows a gamma law of shape k, up to a relative 1/n.
    assert stats.kstest(size * stats.norm.sf(drawn[:, 2]), stats.gamma(3).cdf).pvalue > 1e-4
