"""The price of a fact, against conic geometry in high precision, closed forms and samples."""

from __future__ import annotations

import math
from functools import lru_cache

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from simonides.theory.cone import RetrievalCone, statistical_dimension

steady = settings(derandomize=True, deadline=None, max_examples=20)

REFERENCE = {
    5: 1.2950490328,
    10: 1.9920893682,
    30: 3.2456001417,
    100: 4.7933189796,
    1000: 8.1202378063,
    1e4: 11.7662530419,
    1e6: 19.5975875364,
}


def raised(target, rivals, margin):
    """Solve t - g_1 = sum of (g_j + c - t)_+ by bisection."""
    low = target.copy()
    high = np.maximum(target, rivals.max(axis=1) + margin)
    for _ in range(60):
        middle = (low + high) / 2
        pull = np.maximum(rivals + margin - middle[:, None], 0.0).sum(axis=1)
        low, high = (
            np.where(middle - target < pull, middle, low),
            np.where(middle - target < pull, high, middle),
        )
    return (low + high) / 2


def sampled_projections(candidates, margin, rows, seed):
    rng = np.random.default_rng(seed)
    target, rivals = rng.standard_normal(rows), rng.standard_normal((rows, candidates - 1))
    level = raised(target, rivals, margin)
    lowered = np.maximum(rivals + margin - level[:, None], 0.0)
    squared = (level - target) ** 2 + (lowered**2).sum(axis=1)
    return level, (lowered > 0).sum(axis=1), squared


def standard_error(values):
    return np.std(values, ddof=1) / math.sqrt(len(values))


@lru_cache(maxsize=1)
def outer_angles(size=167, digits=200, step="0.012", reach=14):
    r"""Solid angles of the cones spanned by e_2 - e_1, ..., e_{J+1} - e_1, up to a factor.

    They are orthant probabilities with negative correlations, so the usual one-dimensional integral
    runs over imaginary arguments, E Phi(i y)^J, and needs many digits.
    """
    with mp.workdps(digits):
        h = mp.mpf(step)
        points = [h * i for i in range(int(reach / h))]
        powers = [mp.mpc(mp.exp(-y * y / 2)) for y in points]
        factors = [
            p * mp.mpc(0.5, mp.erfi(y / mp.sqrt(2)) / 2)
            for p, y in zip(powers, points, strict=True)
        ]
        angles = []
        for _ in range(size):
            angles.append(h * (2 * mp.fsum(p.real for p in powers) - powers[0].real))
            powers = [p * f for p, f in zip(powers, factors, strict=True)]
        return angles


def intrinsic_volumes(candidates, size):
    """Return the law of the number of active rivals: one inner times one outer angle per face."""
    outer = outer_angles()
    with mp.workdps(40):
        K, h = mp.mpf(candidates), mp.mpf("0.015")
        points = [h * i for i in range(int(-11 / h), int(11 / h))]
        bells, masses = [mp.exp(-t * t / 2) for t in points], [mp.ncdf(t) for t in points]
        inner = [b * m ** (K - 1) for b, m in zip(bells, masses, strict=True)]
        ratios = [b / m for b, m in zip(bells, masses, strict=True)]
        faces, volumes = mp.mpf(1), []
        for active in range(min(size, int(candidates))):
            angle = h * mp.fsum(inner) * outer[active]
            volumes.append(faces * angle * (active + 1) / (2 * mp.pi))
            inner = [a * r for a, r in zip(inner, ratios, strict=True)]
            faces *= (K - 1 - active) / (active + 1)
        return volumes


def exact_dimension(candidates, size):
    volumes = intrinsic_volumes(candidates, size)
    with mp.workdps(40):
        # A cone's volumes sum to one, and so do the even ones twice (Gauss-Bonnet).
        assert abs(mp.fsum(volumes) - 1) < 1e-13
        assert abs(mp.fsum((-1) ** j * v for j, v in enumerate(volumes))) < 1e-13
        return float(mp.fsum(j * v for j, v in enumerate(volumes)))


def two_candidates(margin):
    """Return the mean squared distance from a half plane, (c + sqrt(2) g)_+^2 / 2."""
    x = margin / math.sqrt(2)
    return (1 + x * x) * special.ndtr(x) + x * stats.norm.pdf(x)


def all_active(candidates, margin):
    """Return the mean squared distance from the line where every rival is exactly met."""
    return (candidates - 1) * (1 + margin**2 / candidates)


@pytest.mark.parametrize(("candidates", "expected"), REFERENCE.items())
def test_reference_values(candidates, expected):
    assert statistical_dimension(candidates) == pytest.approx(expected, abs=1e-10)


def test_reference_value_at_a_billion():
    assert statistical_dimension(1e9) == pytest.approx(32.03597, abs=5e-6)


@pytest.mark.parametrize(("candidates", "expected"), [(2, 1 / 2), (3, 5 / 6)])
def test_two_and_three_candidates(candidates, expected):
    assert statistical_dimension(candidates) == pytest.approx(expected, abs=1e-12)


def test_four_candidates():
    # Three rivals at once are active in a trihedral cone with dihedral angles arccos(1/3); the
    # other faces follow from P(g_1 is the largest) = 1/4 and Gauss-Bonnet.
    expected = 1 / 2 + 3 * math.acos(1 / 3) / (2 * math.pi)
    assert statistical_dimension(4) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("candidates", "size"), [(5, 5), (17, 17), (1000, 65), (10**6, 110)])
def test_digits_against_intrinsic_volumes(candidates, size):
    expected = exact_dimension(candidates, size)
    assert statistical_dimension(candidates) == pytest.approx(expected, rel=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("candidates", "size"),
    [(10**9, 113), (10**15, 167)],
    ids=["1e9", "1e15"],
)
def test_digits_among_very_many_candidates(candidates, size):
    expected = exact_dimension(candidates, size)
    assert statistical_dimension(candidates) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("candidates", [2.5, 3.25, 7.5])
def test_fractional_candidates_continue_the_whole_ones(candidates):
    # Newton's forward series through whole numbers; its last term tells its error.
    start, size = math.floor(candidates), 8
    values = [statistical_dimension(start + i) for i in range(size)]
    estimates, power = [0.0], 1.0
    for order in range(size):
        estimates.append(estimates[-1] + power * np.diff(values, order)[0])
        power *= (candidates - start - order) / (order + 1)
    assert statistical_dimension(candidates) == pytest.approx(
        estimates[-1], abs=3 * abs(estimates[-1] - estimates[-2])
    )


@pytest.mark.parametrize("candidates", [2, 7, 60])
def test_is_the_mean_number_of_active_rivals(candidates):
    _, active, squared = sampled_projections(candidates, 0.0, 10_000, seed=candidates)
    expected = statistical_dimension(candidates)
    # False alarm at 4.5 standard errors: 7e-6.
    assert abs(active.mean() - expected) < 4.5 * standard_error(active)
    assert abs(squared.mean() - expected) < 4.5 * standard_error(squared)


@pytest.mark.parametrize("margin", [0.0, 1e-6, 0.3, 1.0, 4.0, 10.0, 23.0, 23.999, 24.001, 1e3])
def test_two_candidates_with_a_margin(margin):
    assert statistical_dimension(2, margin) == pytest.approx(two_candidates(margin), rel=1e-12)


@pytest.mark.parametrize(
    ("candidates", "margin"), [(2, 23), (3, 35), (3, 37), (100, 1190), (100, 1210), (1e6, 1.1e7)]
)
def test_all_rivals_active(candidates, margin):
    expected = all_active(candidates, margin)
    assert statistical_dimension(candidates, margin) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("candidates", "margin", "rows"),
    [(3, 0.5, 40_000), (10, 1.0, 20_000), (50, 3.0, 8_000), (300, 2.0, 1_500), (100, 100.0, 2_000)],
)
def test_margin_against_samples(candidates, margin, rows):
    level, active, squared = sampled_projections(candidates, margin, rows, seed=candidates)
    cone = RetrievalCone(candidates, margin)
    for sample, expected in [
        (level, cone.mean_level),
        (active, cone.mean_active),
        (squared, statistical_dimension(candidates, margin)),
    ]:
        assert abs(sample.mean() - expected) < 4.5 * standard_error(sample)


@pytest.mark.slow
def test_margin_of_a_thousand_among_many_against_samples():
    level, active, squared = sampled_projections(10_000, 1000.0, 100, seed=5)
    cone = RetrievalCone(10_000, 1000.0)
    assert abs(level.mean() - cone.mean_level) < 4.5 * standard_error(level)
    assert abs(active.mean() - cone.mean_active) < 4.5 * standard_error(active)
    assert abs(squared.mean() - cone.statistical_dimension) < 4.5 * standard_error(squared)


@pytest.mark.parametrize(
    ("candidates", "margin", "step"),
    [(2, 0.7, 1e-3), (10, 1.0, 1e-3), (1000, 4.0, 1e-3), (1e6, 0.5, 1e-3), (1e4, 1000.0, 0.1)],
)
def test_margin_derivative_is_twice_the_mean_level(candidates, margin, step):
    above = statistical_dimension(candidates, margin + step)
    below = statistical_dimension(candidates, margin - step)
    # Rounding of the difference and the cubic term of the expansion are both below 1e-6 here.
    assert (above - below) / (2 * step) == pytest.approx(
        2 * RetrievalCone(candidates, margin).mean_level, rel=1e-6
    )


def test_margin_derivative_integrates_to_the_dimension():
    nodes, weights = np.polynomial.legendre.leggauss(16)
    for candidates, margin in [(5, 3.0), (1000, 6.0), (1e9, 2.0)]:
        levels = [RetrievalCone(candidates, c).mean_level for c in margin * (1 + nodes) / 2]
        growth = margin * float(weights @ levels)
        expected = statistical_dimension(candidates) + growth
        assert statistical_dimension(candidates, margin) == pytest.approx(expected, rel=1e-9)


@steady
@given(
    candidates=st.floats(2, 1e12), factor=st.floats(1.01, 100), margin=st.sampled_from([0.0, 2.0])
)
def test_grows_with_the_candidates(candidates, factor, margin):
    # Whole numbers: only they are numbers of candidates when there is a margin.
    more = math.ceil(candidates * factor) + 1
    assert statistical_dimension(more, margin) > statistical_dimension(int(candidates), margin)


@steady
@given(candidates=st.integers(2, 10**9), margin=st.floats(0, 50), increase=st.floats(1e-3, 50))
def test_grows_with_the_margin(candidates, margin, increase):
    higher = statistical_dimension(candidates, margin + increase)
    assert higher > statistical_dimension(candidates, margin)


@steady
@given(candidates=st.integers(2, 10**9), margin=st.floats(0, 100))
def test_lies_between_its_bounds(candidates, margin):
    # More constraints cost more: one rival below, the line where all are met above.
    value = statistical_dimension(candidates, margin)
    assert two_candidates(margin) * (1 - 1e-12) <= value
    assert value <= all_active(candidates, margin) * (1 + 1e-12)


def test_critical_load_falls_slowly_towards_one_half():
    sizes = 10.0 ** np.array([1, 2, 4, 8, 16, 32, 64, 100])
    loads = np.array([math.log(K) / statistical_dimension(K) for K in sizes])
    assert np.all(np.diff(loads) < 0)
    assert np.all(loads > 0.5)
    assert loads[-1] < 0.52


def test_fractional_candidates_with_a_margin():
    assert statistical_dimension(2.5, 20.0) == pytest.approx(all_active(2.5, 20.0), rel=1e-10)


def test_level_law_of_two_candidates():
    # The level is g_1 where g_1 wins and the mean of both where it loses.
    levels = np.array([-2.0, -0.3, 0.0, 0.8, 2.5])

    def expected(s):
        def integrand(rival):
            return stats.norm.pdf(rival) * special.ndtr(s if rival < s else 2 * s - rival)

        return integrate.quad(integrand, -12, 12, points=[s], epsabs=1e-13)[0]

    np.testing.assert_allclose(
        RetrievalCone(2).level_cdf(levels), [expected(s) for s in levels], atol=1e-11
    )
