"""What every law inherits, on laws simple enough to know by heart; and the quadrature rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from simonides.theory.laws import Law
from simonides.theory.quadrature import composite_gauss_legendre, gauss_hermite, gauss_legendre

steady = settings(derandomize=True, deadline=None, max_examples=60)


class Triangle(Law):
    """Density 2(x + 1)/9 on [-1, 2]."""

    support = (-1.0, 2.0)

    def _density(self, x):
        return 2 * (x + 1) / 9

    def _distribution(self, x):
        return (x + 1) ** 2 / 9


class Arc(Law):
    """The semicircle of radius 3, whose density has square-root edges."""

    support = (-3.0, 3.0)

    def _density(self, x):
        return 2 * np.sqrt(np.maximum(9 - x * x, 0)) / (9 * math.pi)

    def _distribution(self, x):
        return 0.5 + x * np.sqrt(9 - x * x) / (9 * math.pi) + np.arcsin(x / 3) / math.pi


@pytest.fixture(params=[Triangle(), Arc()], ids=["triangle", "arc"])
def law(request):
    return request.param


def test_outside_the_support(law):
    low, high = law.support
    assert law.pdf([low - 1e-9, high + 1e-9]).tolist() == [0, 0]
    assert law.cdf([low - 5, low, high, high + 5]).tolist() == [0, 0, 1, 1]
    assert law.cdf([-math.inf, math.inf]).tolist() == [0, 1]


def test_nan_stays_nan(law):
    assert np.isnan(law.pdf([math.nan, 0.0])).tolist() == [True, False]
    assert np.isnan(law.cdf(math.nan))


def test_shapes_are_kept(law):
    grid = np.linspace(-0.5, 1, 12).reshape(3, 2, 2)
    for function in (law.pdf, law.cdf, law.quantile):
        assert function(np.abs(grid) / 2).shape == (3, 2, 2)
        assert function(0.5).shape == ()
        assert function([]).shape == (0,)
    np.testing.assert_array_equal(law.cdf(grid)[1, 0, 1], law.cdf(grid[1, 0, 1]))


@steady
@given(level=st.floats(0, 1))
def test_quantile_of_the_triangle(level):
    assert Triangle().quantile(level) == pytest.approx(3 * math.sqrt(level) - 1, abs=1e-7)


@steady
@given(level=st.floats(1e-12, 1 - 1e-12))
def test_quantile_inverts_the_distribution(level):
    assert Arc().cdf(Arc().quantile(level)) == pytest.approx(level, rel=1e-9)


def test_quantile_at_the_ends(law):
    assert law.quantile([0.0, 1.0]).tolist() == list(law.support)


def test_quantiles_rise(law):
    assert np.all(np.diff(law.quantile(np.linspace(0, 1, 301))) > 0)


def test_moments(law):
    assert law.moment(0) == pytest.approx(1, abs=1e-13)
    if isinstance(law, Triangle):
        # (x + 1)/3 is a beta variable with parameters 2 and 1.
        assert law.mean == pytest.approx(1, abs=1e-13)
        assert law.variance == pytest.approx(9 / 18, abs=1e-13)
        assert law.moment(3) == pytest.approx(2 * (16 / 4 + 32 / 5 - 1 / 4 + 1 / 5) / 9, abs=1e-12)
    else:
        assert law.mean == pytest.approx(0, abs=1e-13)
        assert law.variance == pytest.approx(9 / 4, abs=1e-12)
        assert law.moment(4) == pytest.approx(2 * (9 / 4) ** 2, abs=1e-11)


def test_samples(law):
    rng = np.random.default_rng(5)
    sample = law.sample(50_000, rng)
    low, high = law.support
    assert sample.min() >= low
    assert sample.max() <= high
    assert stats.kstest(sample, law.cdf).pvalue > 1e-4
    error = math.sqrt(law.variance / sample.size)
    assert abs(sample.mean() - law.mean) < 4.5 * error


def test_samples_are_reproducible_and_shaped(law):
    first = law.sample((2, 3), np.random.default_rng(1))
    assert first.shape == (2, 3)
    np.testing.assert_array_equal(first, law.sample((2, 3), np.random.default_rng(1)))
    assert not np.array_equal(first, law.sample((2, 3), np.random.default_rng(2)))


@pytest.mark.parametrize("value", [-1e-12, 1 + 1e-12, 50, math.nan, math.inf])
def test_refuses_bad_probabilities(law, value):
    with pytest.raises(ValueError, match="probability = ") as caught:
        law.quantile([0.1, value])
    assert f"probability = {float(value)!r}" in str(caught.value)


@pytest.mark.parametrize("size", [1, 4, 20])
def test_gauss_legendre_is_exact_on_polynomials(size):
    nodes, weights = gauss_legendre(-1.0, 3.0, size)
    for degree in range(2 * size):
        exact = (3.0 ** (degree + 1) - (-1.0) ** (degree + 1)) / (degree + 1)
        assert weights @ nodes**degree == pytest.approx(exact, rel=1e-11)


def test_composite_rule_sees_narrow_features():
    nodes, weights = composite_gauss_legendre(-2.0, 3.0, panels=50, size=16)
    assert nodes.shape == weights.shape == (800,)
    assert weights.sum() == pytest.approx(5, abs=1e-13)
    narrow = np.exp(-(((nodes - 0.7) / 0.01) ** 2) / 2)
    assert weights @ narrow == pytest.approx(0.01 * math.sqrt(2 * math.pi), rel=1e-8)


@pytest.mark.parametrize("size", [3, 10, 40])
def test_gauss_hermite_has_the_moments_of_the_normal_law(size):
    nodes, weights = gauss_hermite(size)
    for half in range(min(size, 12)):
        exact = special.factorial2(2 * half - 1) if half else 1.0
        assert weights @ nodes ** (2 * half) == pytest.approx(exact, rel=1e-10)
        assert weights @ nodes ** (2 * half + 1) == pytest.approx(0, abs=1e-8 * exact)
