"""Effective parameters of a rank bound, against singular values of sampled Gaussian matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from simonides.theory.effective import asymptotic_effective_parameters, effective_parameters
from simonides.theory.spectrum import critical_load

steady = settings(derandomize=True, deadline=None, max_examples=60)


def sampled(dim_in, dim_out, count, seed):
    """Return mean and error of the sums of the top 1, 2, ... squared singular values."""
    matrices = np.random.default_rng(seed).standard_normal((count, dim_out, dim_in))
    sums = np.cumsum(np.linalg.svd(matrices, compute_uv=False) ** 2, axis=1)
    # The total is known exactly; taking its fluctuations out sharpens all partial sums.
    sums *= dim_in * dim_out / sums[:, -1:]
    return sums.mean(axis=0), sums.std(axis=0, ddof=1) / math.sqrt(count)


def expansion_error(rank):
    """Relative error stated for the expansion beyond 32 dimensions."""
    return 0.005 if rank < 4 else 0.001


def marchenko_pastur(long, short, rank):
    """Integrate the density of squared singular values over its top share, by quadrature."""
    ratio = short / long
    low, high = (1 - math.sqrt(ratio)) ** 2, (1 + math.sqrt(ratio)) ** 2

    def above(power, cut):
        def integrand(angle):  # x = low + (high - low) cos^2 opens both edges
            x = low + (high - low) * math.cos(angle) ** 2
            sides = (high - low) * math.sin(2 * angle) / 2
            return x ** (power - 1) * sides**2 * 2 / (2 * math.pi * ratio)

        top = math.acos(math.sqrt((cut - low) / (high - low)))
        return integrate.quad(integrand, 0, top, epsabs=1e-13)[0]

    cut = optimize.brentq(lambda x: above(0, x) - rank / short, low, high, xtol=1e-14)
    return long * short * above(1, cut)


@pytest.mark.parametrize(
    ("dim_in", "dim_out", "count"), [(2, 2, 4000), (5, 3, 3000), (12, 30, 1000), (32, 32, 500)]
)
def test_small_matrices_against_singular_values(dim_in, dim_out, count):
    means, errors = sampled(dim_in, dim_out, count, seed=dim_in)
    short = min(dim_in, dim_out)
    for rank in {1, 2, short // 2, short - 1} - {0, short}:
        estimate = effective_parameters(dim_in, dim_out, rank)
        assert 0 < estimate.stderr < 0.01 * estimate.value
        error = math.hypot(errors[rank - 1], estimate.stderr)
        assert abs(estimate.value - means[rank - 1]) < 4.5 * error


@pytest.mark.parametrize(
    ("dim_in", "dim_out", "count"), [(33, 33, 600), (40, 120, 300), (64, 64, 300), (500, 35, 60)]
)
def test_larger_matrices_against_singular_values(dim_in, dim_out, count):
    means, errors = sampled(dim_in, dim_out, count, seed=dim_in)
    short = min(dim_in, dim_out)
    for rank in (1, 2, 5, short // 2, short - 1):
        estimate = effective_parameters(dim_in, dim_out, rank)
        assert estimate.stderr == 0
        allowed = 4.5 * errors[rank - 1] + expansion_error(rank) * means[rank - 1]
        assert abs(estimate.value - means[rank - 1]) < allowed


@pytest.mark.slow
@pytest.mark.parametrize(("dim_in", "dim_out", "count"), [(33, 33, 12_000), (80, 34, 6_000)])
def test_stated_accuracy_of_the_expansion(dim_in, dim_out, count):
    # Enough samples that the standard error is far below the stated accuracy.
    means, errors = sampled(dim_in, dim_out, count, seed=1)
    for rank in (1, 2, 3, 4, 5, 8, 16, 30):
        relative = effective_parameters(dim_in, dim_out, rank).value / means[rank - 1] - 1
        assert abs(relative) < expansion_error(rank) + 3 * errors[rank - 1] / means[rank - 1]


def test_corrections_improve_on_the_limit():
    means, _ = sampled(64, 64, 300, seed=64)
    for rank in (1, 4, 16, 48):
        limit = asymptotic_effective_parameters(64, 64, rank)
        corrected = effective_parameters(64, 64, rank).value
        assert abs(corrected - means[rank - 1]) < 0.5 * abs(limit - means[rank - 1])


def test_two_by_two():
    # Singular values are |a| + |b| and ||a| - |b|| for two complex normals: E = 2 + pi / 2.
    estimate = effective_parameters(2, 2, 1)
    assert abs(estimate.value - (2 + math.pi / 2)) < 4.5 * estimate.stderr


@pytest.mark.parametrize("long", [3, 10])
def test_two_columns_by_the_joint_density(long):
    # The Wishart density of the two eigenvalues, in their sum's share u of the larger one.
    power = (long - 3) / 2

    def weight(u):
        return (u * (1 - u)) ** power * (2 * u - 1)

    norm = integrate.quad(weight, 0.5, 1)[0]
    share = integrate.quad(lambda u: u * weight(u), 0.5, 1)[0] / norm
    estimate = effective_parameters(long, 2, 1)
    assert abs(estimate.value - 2 * long * share) < 4.5 * estimate.stderr


@pytest.mark.parametrize(("dim_in", "dim_out"), [(1, 1), (7, 1), (1, 7), (20, 30), (400, 250)])
def test_full_rank_counts_the_entries(dim_in, dim_out):
    rank = min(dim_in, dim_out)
    estimate = effective_parameters(dim_in, dim_out, rank)
    assert (estimate.value, estimate.stderr) == (dim_in * dim_out, 0.0)
    assert asymptotic_effective_parameters(dim_in, dim_out, rank) == dim_in * dim_out


@pytest.mark.parametrize(("dim_in", "dim_out", "rank"), [(9, 6, 2), (50, 40, 7), (500, 40, 39)])
def test_transposing_changes_nothing(dim_in, dim_out, rank):
    assert effective_parameters(dim_in, dim_out, rank) == effective_parameters(
        dim_out, dim_in, rank
    )


@pytest.mark.parametrize(("dim", "rank"), [(10, 1), (100, 25), (1000, 500), (1000, 999)])
def test_square_limit_is_the_critical_load(dim, rank):
    expected = 2 * critical_load(rank / dim) * dim**2
    assert asymptotic_effective_parameters(dim, dim, rank) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("dim_in", "dim_out", "rank"),
    [
        (100, 100, 10),
        (200, 100, 50),
        (400, 100, 3),
        (401, 100, 99),
        (10_000, 100, 60),
        (90, 300, 1),
    ],
)
def test_limit_against_the_marchenko_pastur_density(dim_in, dim_out, rank):
    long, short = max(dim_in, dim_out), min(dim_in, dim_out)
    expected = marchenko_pastur(long, short, rank)
    assert asymptotic_effective_parameters(dim_in, dim_out, rank) == pytest.approx(
        expected, rel=1e-9
    )


def test_corrections_vanish_in_large_dimension():
    ratios = [
        effective_parameters(d, d, d // 4).value / asymptotic_effective_parameters(d, d, d // 4)
        for d in (64, 256, 1024, 4096)
    ]
    gaps = np.abs(np.array(ratios) - 1)
    assert np.all(gaps[1:] < gaps[:-1] / 3)  # they fall about like 1/d
    assert gaps[-1] < 1e-3


@pytest.mark.parametrize(("dim", "rank"), [(4096, 8), (10**5, 10), (10**6, 10), (10**8, 100)])
def test_low_rank_counts_twice_its_parameters(dim, rank):
    # 2 * (2 dim rank), less a relative 3u/5 with u the width of the top share of values.
    width = (3 * math.pi * rank / (4 * dim)) ** (2 / 3)
    ratio = effective_parameters(dim, dim, rank).value / (4 * dim * rank)
    assert ratio == pytest.approx(1, abs=width)
    # Fluctuations of the edge take their part at the same order, which falls with the rank.
    assert ratio == pytest.approx(1 - 0.6 * width, abs=width / rank + width**2)


def test_low_rank_of_a_rectangle():
    ratio = effective_parameters(10**6, 10**5, 10).value / 10
    assert ratio == pytest.approx((1e3 + math.sqrt(1e5)) ** 2, rel=2e-3)


@pytest.mark.parametrize(("dim_in", "dim_out"), [(6, 6), (32, 20), (33, 33), (90, 33), (64, 64)])
def test_each_direction_adds_less_than_the_one_before(dim_in, dim_out):
    ranks = range(1, min(dim_in, dim_out) + 1)
    totals = np.array([effective_parameters(dim_in, dim_out, r).value for r in ranks])
    gains = np.diff(totals, prepend=0.0)
    assert np.all(gains > 0)
    assert np.all(np.diff(gains) < 0)


def test_no_jump_where_sampling_ends():
    # Between 32 and 33 dimensions the share of the entries must move as smoothly as further up.
    shares = {d: effective_parameters(d, d, d // 4).value / d**2 for d in (28, 32, 36, 40)}
    limit = 2 * critical_load(0.25)
    scaled = np.array([d * (share - limit) for d, share in shares.items()])
    error = 32 * effective_parameters(32, 32, 8).stderr / 32**2
    assert np.ptp(scaled) < 9 * error + 40 * 0.001 * limit


@steady
@given(
    dim_in=st.integers(1, 10**6),
    dim_out=st.integers(33, 10**6),
    share=st.floats(0, 1),
)
def test_lies_between_its_bounds(dim_in, dim_out, share):
    dim_in += 32
    short = min(dim_in, dim_out)
    rank = max(1, round(share * short))
    entries = dim_in * dim_out
    for value in (
        effective_parameters(dim_in, dim_out, rank).value,
        asymptotic_effective_parameters(dim_in, dim_out, rank),
    ):
        # At least the average direction's part, at most rank times the top of the spectrum.
        assert entries * rank / short * (1 - 1e-9) <= value <= entries * (1 + 1e-12)
        assert value <= rank * (math.sqrt(dim_in) + math.sqrt(dim_out)) ** 2 * (1 + 1e-9)


def test_same_question_same_answer():
    assert effective_parameters(11, 9, 3) == effective_parameters(11, 9, 3)


@pytest.mark.slow
def test_sampled_errors_are_honest():
    # Many shapes against their exact two-column value: deviations of about one standard error.
    deviations = []
    for long in range(3, 33):
        power = (long - 3) / 2
        # The larger share is (1 + |y|)/2 with y^2 a beta variable.
        larger = stats.beta(1, power + 1).expect(lambda v: (1 + math.sqrt(v)) / 2)
        estimate = effective_parameters(long, 2, 1)
        deviations.append((estimate.value - 2 * long * larger) / estimate.stderr)
    assert abs(np.mean(np.square(deviations)) - 1) < 4.5 * math.sqrt(2 / len(deviations))


@pytest.mark.parametrize("function", [effective_parameters, asymptotic_effective_parameters])
def test_refuses_a_rank_above_the_smaller_dimension(function):
    with pytest.raises(ValueError, match=r"rank = 11 must be at most the smaller dimension, 10"):
        function(10, 40, 11)
