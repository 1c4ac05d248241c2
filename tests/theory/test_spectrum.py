"""Asymptotic capacity of a rank bound and the singular values there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, special, stats

from simonides.theory.laws import Law
from simonides.theory.spectrum import CapacityLaw, critical_load

steady = settings(derandomize=True, deadline=None, max_examples=60)

REFERENCE = {
    0.05: 0.0860841,
    0.2: 0.2677931,
    0.25: 0.3114563,
    0.5: 0.4468654,
    0.75: 0.4935239,
    0.9: 0.4995883,
    1: 0.5,
}


class QuarterCircleLaw(Law):
    r"""Singular values of a square matrix of i.i.d. N(0, 1/d) entries: :math:`\sqrt{4-x^2}/\pi`."""

    @property
    def support(self):
        return 0.0, 2.0

    def _density(self, x):
        return np.asarray(np.sqrt((2 - x) * (2 + x)) / np.pi)

    def _distribution(self, x):
        return np.asarray((x * np.sqrt((2 - x) * (2 + x)) / 2 + 2 * np.arcsin(x / 2)) / np.pi)


def quarter_circle(x):
    return math.sqrt(4 - x * x) / math.pi


def cut(rank_fraction):
    """Find the value above which the quarter circle holds the rank fraction."""

    def surplus(x):
        above = integrate.quad(quarter_circle, x, 2, epsabs=1e-14, epsrel=1e-13)[0]
        return above - rank_fraction

    return optimize.brentq(surplus, 0, 2, xtol=1e-15) if rank_fraction < 1 else 0.0


@pytest.mark.parametrize(("rank_fraction", "expected"), REFERENCE.items())
def test_reference_loads(rank_fraction, expected):
    assert critical_load(rank_fraction) == pytest.approx(expected, abs=6e-8)


@pytest.mark.parametrize("rank_fraction", [0.01, 0.1, 0.37, 0.5, 0.8, 0.99, 1.0])
def test_load_against_quadrature(rank_fraction):
    lowest = cut(rank_fraction)
    second, _ = integrate.quad(lambda x: x * x * quarter_circle(x), lowest, 2, epsabs=1e-14)
    assert critical_load(rank_fraction) == pytest.approx(second / 2, rel=1e-9)


@pytest.mark.parametrize("rank_fraction", [0.1, 0.5, 0.9])
def test_load_from_quantiles(rank_fraction):
    # The defining integral of squared quantiles, with the edge at one opened by a square.
    nodes, weights = np.polynomial.legendre.leggauss(60)
    v = (1 + nodes) / 2
    levels = 1 - rank_fraction * v**3
    squares = QuarterCircleLaw().quantile(levels) ** 2
    integral = rank_fraction * float(weights / 2 @ (3 * v**2 * squares))
    assert critical_load(rank_fraction) == pytest.approx(integral / 2, rel=1e-9)


def test_full_rank():
    assert critical_load() == critical_load(1.0) == 0.5


@pytest.mark.parametrize("missing", [0.1, 0.03, 0.01, 0.001])
def test_near_full_rank(missing):
    # The density at zero is 1/pi * 2, so the missing singular values are below pi * missing / 2.
    leading = math.pi**2 * missing**3 / 24
    assert 0.5 - critical_load(1 - missing) == pytest.approx(leading, rel=3 * missing**2 + 1e-6)


@pytest.mark.parametrize("rank_fraction", [1e-12, 1e-9, 1e-6, 1e-4, 1e-3])
def test_small_rank(rank_fraction):
    # At the edge the density is that of a square root, over a width u: alpha = 2 kappa (1 - 3u/5).
    width = (3 * math.pi * rank_fraction / 4) ** (2 / 3)
    ratio = critical_load(rank_fraction) / (2 * rank_fraction)
    assert ratio == pytest.approx(1 - 0.6 * width, abs=width**2 + 1e-13)


@steady
@given(rank_fraction=st.floats(1e-6, 0.999), more=st.floats(1e-4, 0.5))
def test_load_rises_and_bends_down(rank_fraction, more):
    higher = min(rank_fraction + more, 1.0)
    middle = (rank_fraction + higher) / 2
    low, mid, high = (critical_load(k) for k in (rank_fraction, middle, higher))
    assert low < high
    assert mid >= (low + high) / 2 - 1e-15


@steady
@given(rank_fraction=st.floats(0.01, 0.98))
def test_slope_of_the_load_is_half_the_squared_cut(rank_fraction):
    step = 1e-5
    slope = (critical_load(rank_fraction + step) - critical_load(rank_fraction - step)) / (2 * step)
    assert slope == pytest.approx(2 * CapacityLaw(rank_fraction).cutoff ** 2, abs=1e-6)


def test_quarter_circle_moments():
    law = QuarterCircleLaw()
    assert law.mean == pytest.approx(8 / (3 * math.pi), abs=1e-13)
    for n in range(6):
        catalan = special.comb(2 * n, n, exact=True) / (n + 1)
        assert law.moment(2 * n) == pytest.approx(catalan, rel=1e-12)


def test_quarter_circle_distribution():
    law = QuarterCircleLaw()
    for x in (0.01, 0.5, 1.3, 1.99):
        area = integrate.quad(quarter_circle, 0, x, epsabs=1e-14)[0]
        assert law.cdf(x) == pytest.approx(area, abs=1e-12)
        assert law.pdf(x) == pytest.approx(quarter_circle(x), rel=1e-13)


def test_quarter_circle_of_a_gaussian_matrix():
    dim = 300
    matrix = np.random.default_rng(4).standard_normal((dim, dim)) / math.sqrt(dim)
    values = np.sort(np.linalg.svd(matrix, compute_uv=False))
    ranks = (np.arange(dim) + 0.5) / dim
    # Singular values repel: the distribution function is off by a few values, not by sqrt(dim).
    assert np.abs(QuarterCircleLaw().cdf(values) - ranks).max() < 4 / dim


@pytest.mark.parametrize("rank_fraction", [0.001, 0.05, 0.3, 0.5, 0.9, 1.0])
def test_capacity_law_is_the_truncated_quarter_circle(rank_fraction):
    law = CapacityLaw(rank_fraction)
    lowest, highest = law.support
    assert lowest == pytest.approx(cut(rank_fraction) / 2, abs=1e-9)
    assert highest == 1
    mass = integrate.quad(lambda x: math.sqrt(1 - x * x), lowest, 1, epsabs=1e-15)[0]
    for x in lowest + (1 - lowest) * np.array([0.01, 0.3, 0.6, 0.99]):
        assert law.pdf(x) == pytest.approx(math.sqrt(1 - x * x) / mass, rel=1e-7)
        below = integrate.quad(lambda u: math.sqrt(1 - u * u), lowest, x, epsabs=1e-15)[0]
        assert law.cdf(x) == pytest.approx(below / mass, abs=1e-7)
    assert law.pdf(lowest - 1e-6) == 0
    assert law.moment(0) == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("rank_fraction", [1e-6, 0.05, 0.5, 1.0])
def test_capacity_law_inverts_and_samples(rank_fraction):
    law = CapacityLaw(rank_fraction)
    levels = np.array([1e-6, 0.1, 0.5, 0.9, 1 - 1e-6])
    np.testing.assert_allclose(law.cdf(law.quantile(levels)), levels, rtol=1e-7, atol=1e-11)
    sample = law.sample(20_000, np.random.default_rng(0))
    assert stats.kstest(sample, law.cdf).pvalue > 1e-4


@steady
@given(rank_fraction=st.floats(1e-3, 1))
def test_capacity_law_carries_the_load(rank_fraction):
    # alpha_c is half the second moment above the cut, and singular values here are halved.
    second = CapacityLaw(rank_fraction).moment(2)
    assert critical_load(rank_fraction) == pytest.approx(2 * rank_fraction * second, rel=1e-10)


def test_capacity_law_at_full_rank_is_the_quarter_circle():
    x = np.linspace(0.01, 0.99, 21)
    np.testing.assert_allclose(CapacityLaw().cdf(x), QuarterCircleLaw().cdf(2 * x), atol=1e-14)
    assert CapacityLaw().cutoff == pytest.approx(0, abs=1e-15)
