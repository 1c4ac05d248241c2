"""A value and its standard error: sampling, scaling and printing."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simonides.estimate import Estimate


def test_mean_and_standard_error_of_four_numbers():
    estimate = Estimate.of_mean(np.array([1.0, 2.0, 4.0, 5.0]))
    assert estimate.value == 3.0
    # deviations 4 + 1 + 1 + 4 = 10, over three degrees of freedom and four samples
    assert estimate.stderr == pytest.approx(math.sqrt(10 / 3 / 4), rel=1e-15)
    assert type(estimate.value) is float
    assert type(estimate.stderr) is float


def test_one_sample_says_nothing_of_its_error():
    assert Estimate.of_mean(np.array([2.5])) == Estimate(2.5, math.inf)


def test_no_samples_have_no_mean():
    with pytest.raises(ValueError, match="samples"):
        Estimate.of_mean(np.array([]))


def test_standard_error_covers_as_often_as_it_should():
    rng = np.random.default_rng(3)
    samples = rng.exponential(size=(2000, 200))
    estimates = [Estimate.of_mean(row) for row in samples]
    off = np.array([(e.value - 1.0) / e.stderr for e in estimates])
    # 95% of them within 1.96 standard errors; the rate's own error is 0.5%, skewness costs 1%
    assert np.mean(np.abs(off) < 1.96) == pytest.approx(0.95, abs=4 * 0.005 + 0.01)


def test_default_error_is_zero():
    assert Estimate(0.5).stderr == 0.0


def test_estimates_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Estimate(1.0).value = 2.0


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.floats(-1e3, 1e3))
def test_scaling_scales_both_and_keeps_the_error_positive(value, stderr, factor):
    scaled = Estimate(value, stderr).scaled(factor)
    assert scaled.value == factor * value
    assert scaled.stderr == abs(factor) * stderr
    assert scaled.stderr >= 0


def test_scaling_commutes_with_averaging():
    samples = np.random.default_rng(0).standard_normal(50)
    scaled, direct = Estimate.of_mean(samples).scaled(-3), Estimate.of_mean(-3 * samples)
    assert scaled.value == pytest.approx(direct.value, rel=1e-14)
    assert scaled.stderr == pytest.approx(direct.stderr, rel=1e-14)


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.5), "0.5"),
        (Estimate(867136.39347), "867136"),
        (Estimate(1.25, 0.03), "1.250 ± 0.030"),
        (Estimate(1.25, 0.3), "1.25 ± 0.30"),
        (Estimate(12.34, 1.0), "12.3 ± 1.0"),
        (Estimate(1234.4, 56.0), "1234 ± 56"),
        (Estimate(123456.0, 789.0), "123456 ± 789"),
        (Estimate(-0.00012, 0.000034), "-0.000120 ± 0.000034"),
        (Estimate(2.0, math.inf), "2 ± ?"),
        (Estimate(2.0, math.nan), "2 ± ?"),
        (Estimate(math.inf), "inf"),
    ],
)
def test_printing_shows_two_digits_of_the_error(estimate, text):
    assert str(estimate) == text


@given(st.floats(-1e6, 1e6), st.floats(1e-8, 1e3))
def test_what_is_printed_is_within_a_twentieth_of_the_error(value, stderr):
    printed_value, printed_stderr = map(float, str(Estimate(value, stderr)).split(" ± "))
    assert abs(printed_value - value) <= 0.0501 * stderr + 1e-9
    assert printed_stderr == pytest.approx(stderr, rel=0.051)
