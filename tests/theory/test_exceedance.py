"""The law of a Gaussian plus exceedances, against other ways of computing it."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from simonides.theory.exceedance import ExceedanceSum, density

steady = settings(derandomize=True, deadline=None, max_examples=60)


def below(level, threshold, count):
    levels = np.atleast_1d(np.asarray(level, dtype=float))
    thresholds = np.broadcast_to(np.asarray(threshold, dtype=float), levels.shape).copy()
    return ExceedanceSum(levels, thresholds, count).probability_below()


def fourier(level, threshold, count):
    """P(X < level) on the imaginary axis (Gil-Pelaez), good to about 1e-12."""

    def integrand(w):
        part = special.wofz(1j * (threshold - 1j * w) / math.sqrt(2))
        one = special.ndtr(threshold) + 0.5 * math.exp(-(threshold**2) / 2) * part
        return (np.exp(-1j * w * level - w * w / 2) * one**count).imag / w

    value, _ = integrate.quad(integrand, 1e-300, 9.5, epsabs=1e-13, epsrel=1e-13, limit=2000)
    return 0.5 - value / math.pi


def fourier_exact(level, threshold, count, digits=40):
    """Evaluate the same integral with enough digits for probabilities that cancel to nothing."""
    with mp.workdps(digits):
        b, a = mp.mpf(level), mp.mpf(threshold)

        def integrand(w):
            shifted = (a - 1j * w) / mp.sqrt(2)
            part = mp.exp(-a * a / 2) / 2 * mp.exp(shifted**2) * mp.erfc(shifted)
            power = mp.exp(count * mp.log(mp.ncdf(a) + part))
            return mp.im(mp.exp(-1j * w * b - w * w / 2) * power) / w

        return mp.mpf(1) / 2 - mp.quad(integrand, mp.linspace(0, 16, 9), maxdegree=7) / mp.pi


@pytest.mark.parametrize(
    ("level", "threshold"), [(-3.0, -2.0), (-0.4, 0.0), (0.0, 3.0), (1.1, -2.0), (5.0, 0.0)]
)
def test_without_exceedances_it_is_the_normal_law(level, threshold):
    assert below(level, threshold, 0)[0] == pytest.approx(stats.norm.cdf(level), rel=1e-12)


@pytest.mark.parametrize(
    ("level", "threshold"), [(-1.0, -1.5), (-1.0, 2.0), (0.3, 0.0), (2.5, -1.5), (2.5, 2.0)]
)
def test_one_exceedance_is_a_convolution(level, threshold):
    def integrand(g):
        return stats.norm.pdf(g) * special.ndtr(level - max(g - threshold, 0.0))

    parts = [(-12.0, threshold), (threshold, 12.0)]
    expected = sum(integrate.quad(integrand, *part, epsabs=1e-14)[0] for part in parts)
    assert below(level, threshold, 1)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("level", "threshold", "count"),
    [
        (0.5, 0.5, 3),
        (1.0, 1.0, 7.5),  # the count need not be whole
        (2.0, 2.0, 98),
        (1.2, 1.2, 98),
        (0.4, -1.6, 2),
        (6.0, -0.5, 9),
        (3.1, 3.1, 1e4),
        (4.2, 4.2, 1e6),
        (4.0, 4.0, 1e6),
    ],
)
def test_agrees_with_the_fourier_integral(level, threshold, count):
    assert below(level, threshold, count)[0] == pytest.approx(
        fourier(level, threshold, count), abs=2e-11
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("level", "threshold", "count"), [(-3.0, -3.0, 8), (0.2, 0.2, 98), (3.0, 3.0, 10**5)]
)
def test_keeps_its_digits_deep_in_the_lower_tail(level, threshold, count):
    expected = fourier_exact(level, threshold, count)
    assert 0 < expected < 1e-10
    assert below(level, threshold, count)[0] == pytest.approx(float(expected), rel=1e-9)


def test_mean_of_the_sum():
    thresholds = np.array([-2.0, 0.0, 1.5, 6.0])
    sums = ExceedanceSum(thresholds, thresholds, 40.0)
    expected = [
        40 * integrate.quad(lambda g, a=a: (g - a) * stats.norm.pdf(g), a, a + 14, epsabs=0)[0]
        for a in thresholds
    ]
    np.testing.assert_allclose(sums.mean, expected, rtol=1e-7)


@steady
@given(
    levels=st.lists(st.floats(-10, 10), min_size=2, max_size=6),
    threshold=st.floats(-5, 9),
    count=st.floats(0, 1e9),
)
def test_is_a_distribution_function_of_the_level(levels, threshold, count):
    levels = np.sort(levels)
    values = below(levels, threshold, count)
    assert np.all((values >= 0) & (values <= 1))
    assert np.all(np.diff(values) >= -1e-12)


@steady
@given(level=st.floats(-4, 8), threshold=st.floats(-3, 7), count=st.floats(0, 1e7))
def test_more_or_longer_exceedances_push_the_sum_up(level, threshold, count):
    here = below(level, threshold, count)[0]
    assert below(level, threshold, 1.5 * count + 1)[0] <= here + 1e-12
    assert below(level, threshold + 0.3, count)[0] >= here - 1e-12


def test_density_is_the_normal_one():
    x = np.linspace(-9, 9, 37)
    np.testing.assert_allclose(density(x), stats.norm.pdf(x), rtol=1e-13)
