"""Singular values of a product of two Gaussian layers, against the cubic and sampled matrices."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, special, stats

from simonides.theory.spectrum import InitialLaw

FRACTIONS = [0.01, 0.1, 0.5, 0.9, 1.0]


def series_moments(kappa, size):
    """Expand h = sum of m_n / z^n in z (h - 1) = h (1 - kappa + kappa h)^2, order by order."""
    moments = [1.0]
    for _ in range(size):
        h = np.array(moments)
        inner = kappa * h
        inner[0] += 1 - kappa
        right = np.convolve(np.convolve(inner, inner), h)
        moments.append(float(right[len(moments) - 1]))
    return moments


def cubic_roots(kappa, z):
    """Solve h (1 - kappa + kappa h)^2 = z (h - 1)."""
    return np.roots([kappa**2, 2 * kappa * (1 - kappa), (1 - kappa) ** 2 - z, z])


def full_rank_density(z):
    """Return the density of the squared values at full rank, in radicals (Fuss-Catalan)."""
    root = np.cbrt(27 + 3 * np.sqrt(81 - 12 * z))
    top = 2 ** (1 / 3) * root**2 - 6 * np.cbrt(z)
    return 2 ** (1 / 3) * math.sqrt(3) / (12 * math.pi) * top / (np.cbrt(z) ** 2 * root)


def full_rank_cdf(x):
    # z = u^3 takes the singularity at zero away.
    top = np.cbrt(x * x)
    return integrate.quad(lambda u: 3 * u * u * full_rank_density(u**3), 0, top, epsabs=1e-13)[0]


@pytest.mark.parametrize("kappa", FRACTIONS)
def test_moments_follow_from_the_cubic(kappa):
    law = InitialLaw(kappa)
    # The density is infinite at zero for full rank, which costs the mass some digits.
    assert law.moment(0) == pytest.approx(1, abs=1e-6 if kappa == 1 else 1e-11)
    for n, expected in enumerate(series_moments(kappa, 6)[1:], start=1):
        assert law.moment(2 * n) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("kappa", FRACTIONS)
def test_first_two_moments(kappa):
    law = InitialLaw(kappa)
    # E|UV|^2 = m, shared by m values; two layers of correlations add kappa each to the next.
    assert law.moment(2) == pytest.approx(1, abs=1e-12)
    assert law.moment(4) == pytest.approx(1 + 2 * kappa, abs=1e-11)


def test_fuss_catalan_numbers_at_full_rank():
    law = InitialLaw(1.0)
    for n, expected in enumerate([1, 3, 12, 55, 273], start=1):
        assert expected == special.comb(3 * n, n, exact=True) // (2 * n + 1)
        assert law.moment(2 * n) == pytest.approx(expected, rel=1e-11)


def test_edges_at_full_rank():
    low, high = InitialLaw(1.0).support
    assert low == 0
    assert high**2 == pytest.approx(27 / 4, rel=1e-14)


@pytest.mark.parametrize("kappa", [0.01, 0.1, 0.5, 0.9])
def test_edges_are_where_the_cubic_gains_two_roots(kappa):
    low, high = InitialLaw(kappa).support

    def complex_pair(x):
        return bool(np.any(np.abs(cubic_roots(kappa, x * x).imag) > 0))

    for edge, outside in ((low, -1), (high, 1)):
        assert not complex_pair(edge * (1 + outside * 1e-5))
        assert complex_pair(edge * (1 - outside * 1e-5))


def test_edges_of_a_narrow_layer():
    # Each layer spreads the squared values by a relative 2 sqrt(kappa), independently.
    low, high = InitialLaw(1e-8).support
    assert high**2 - 1 == pytest.approx(2 * math.sqrt(2e-8), rel=1e-3)
    assert 1 - low**2 == pytest.approx(2 * math.sqrt(2e-8), rel=1e-3)


@pytest.mark.parametrize(
    ("kappa", "z"), [(0.1, -1.0), (0.1, 8.0), (0.5, -0.05), (0.5, 40.0), (1.0, -1.0), (1.0, 8.0)]
)
def test_resolvent_solves_the_cubic(kappa, z):
    law = InitialLaw(kappa)
    low, high = law.support
    middle, half = (low + high) / 2, (high - low) / 2

    def integrand(angle):
        x = middle - half * math.cos(angle)
        return float(law.pdf(x)) * half * math.sin(angle) * z / (z - x * x)

    h = integrate.quad(integrand, 0, math.pi, epsabs=1e-11, limit=400)[0]
    assert z * (h - 1) == pytest.approx(h * (1 - kappa + kappa * h) ** 2, abs=1e-7)


def test_density_at_full_rank_in_radicals():
    x = np.array([1e-3, 0.02, 0.3, 1.0, 1.9, 2.5, 2.59])
    expected = 2 * x * full_rank_density(x * x)
    np.testing.assert_allclose(InitialLaw(1.0).pdf(x), expected, rtol=1e-8)


def test_distribution_at_full_rank_in_radicals():
    for x in (1e-3, 0.01, 0.2, 1.0, 2.0, 2.55):
        assert InitialLaw(1.0).cdf(x) == pytest.approx(full_rank_cdf(x), abs=2e-6)


@pytest.mark.parametrize("x", [1e-6, 1e-5])
def test_distribution_at_full_rank_near_zero(x):
    assert InitialLaw(1.0).cdf(x) == pytest.approx(full_rank_cdf(x), rel=1e-3)


@pytest.mark.parametrize("kappa", [0.01, 0.5, 0.9])
def test_distribution_is_the_integral_of_the_density(kappa):
    law = InitialLaw(kappa)
    low, high = law.support
    edges = low + (high - low) * np.array([0.001, 0.01, 0.1, 0.4, 0.8, 0.99, 0.9999])
    for a, b in pairwise(edges):
        area = integrate.quad(law.pdf, a, b, epsabs=1e-11, limit=200)[0]
        assert law.cdf(b) - law.cdf(a) == pytest.approx(area, abs=1e-8)


@pytest.mark.parametrize("kappa", FRACTIONS)
def test_quantile_inverts_and_samples_follow(kappa):
    law = InitialLaw(kappa)
    levels = np.array([0.001, 0.1, 0.5, 0.9, 0.9999])
    np.testing.assert_allclose(law.cdf(law.quantile(levels)), levels, rtol=1e-9)
    sample = law.sample(20_000, np.random.default_rng(1))
    assert stats.kstest(sample, law.cdf).pvalue > 1e-4


@pytest.mark.parametrize("kappa", [0.1, 0.5, 1.0])
def test_sampled_layers(kappa):
    dim = 300
    width = int(kappa * dim)
    rng = np.random.default_rng(12)
    left = rng.standard_normal((dim, width)) / math.sqrt(dim)
    right = rng.standard_normal((width, dim)) / math.sqrt(dim)
    values = np.sort(np.linalg.svd(left @ right, compute_uv=False)[:width])
    ranks = (np.arange(width) + 0.5) / width
    # Singular values repel, so the distribution is off by a few values only.
    assert np.abs(InitialLaw(kappa).cdf(values) - ranks).max() < 4 / width
