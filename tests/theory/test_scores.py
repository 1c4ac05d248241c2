"""Laws of the scores at capacity, against exact projections of Gaussian samples."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, special, stats

from simonides.theory.cone import statistical_dimension
from simonides.theory.scores import RivalScoreLaw, TargetScoreLaw

LAWS = [TargetScoreLaw, RivalScoreLaw]
CASES = [(2, 0.0), (2, 1.0), (3, 0.5), (10, 0.0), (50, 1.0), (1000, 3.0), (20, 100.0)]
MANY = [*CASES, (10**6, 0.0), (10**9, 2.0)]


@lru_cache(maxsize=64)
def law_of(kind, candidates, margin):
    """Return one law per question, so that its table of quantiles is made once."""
    return kind(candidates, margin)


def projected(candidates, margin, rows, seed):
    """Project Gaussian score vectors; return each target's score and its first rival's."""
    rng = np.random.default_rng(seed)
    target, rivals = rng.standard_normal(rows), rng.standard_normal((rows, candidates - 1))
    low, high = target.copy(), np.maximum(target, rivals.max(axis=1) + margin)
    for _ in range(60):
        middle = (low + high) / 2
        pull = np.maximum(rivals + margin - middle[:, None], 0.0).sum(axis=1)
        below = middle - target < pull
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low, np.minimum(rivals[:, 0], low - margin)


def interior(law, size=17):
    return law.quantile(np.linspace(1e-4, 1 - 1e-4, size))


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize(("candidates", "margin"), MANY)
def test_density_is_the_slope_of_the_distribution(kind, candidates, margin):
    law = law_of(kind, candidates, margin)
    edges = interior(law)
    for a, b in pairwise(edges):
        area, _ = integrate.fixed_quad(law.pdf, a, b, n=20)
        assert area == pytest.approx(float(law.cdf(b) - law.cdf(a)), abs=1e-10)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize(("candidates", "margin"), MANY)
def test_quantile_inverts_a_distribution_of_mass_one(kind, candidates, margin):
    law = law_of(kind, candidates, margin)
    assert law.moment(0) == pytest.approx(1, abs=1e-10)
    levels = np.array([1e-8, 1e-3, 0.1, 0.5, 0.77, 0.999, 1 - 1e-8])
    np.testing.assert_allclose(law.cdf(law.quantile(levels)), levels, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize(("candidates", "margin"), CASES)
def test_samples_follow_the_distribution(kind, candidates, margin):
    law = law_of(kind, candidates, margin)
    sample = law.sample(3_000, np.random.default_rng(3))
    assert stats.kstest(sample, law.cdf).pvalue > 1e-4


@pytest.mark.parametrize(("candidates", "margin"), CASES)
def test_projections_follow_the_distribution(candidates, margin):
    target, rival = projected(candidates, margin, 2_000, seed=int(candidates + 10 * margin))
    assert stats.kstest(target, law_of(TargetScoreLaw, candidates, margin).cdf).pvalue > 1e-4
    assert stats.kstest(rival, law_of(RivalScoreLaw, candidates, margin).cdf).pvalue > 1e-4


@pytest.mark.slow
def test_projections_follow_the_distribution_closely():
    # 15 000 values see differences of the distribution function of about two percent.
    target, rival = projected(6, 0.4, 15_000, seed=8)
    assert stats.kstest(target, TargetScoreLaw(6, 0.4).cdf).pvalue > 1e-4
    assert stats.kstest(rival, RivalScoreLaw(6, 0.4).cdf).pvalue > 1e-4


@pytest.mark.parametrize(("candidates", "margin"), [case for case in CASES if case[0] <= 1000])
def test_projection_keeps_the_sum_of_scores(candidates, margin):
    total = TargetScoreLaw(candidates, margin).mean
    total += (candidates - 1) * RivalScoreLaw(candidates, margin).mean
    # The rivals' rounding error is multiplied by their number.
    assert total == pytest.approx(0, abs=1e-10 * candidates)


@pytest.mark.parametrize("candidates", [2, 3, 10, 100, 1000])
def test_projection_splits_the_squared_length(candidates):
    # Pythagoras for a cone: E|z|^2 + dist^2 = K.
    kept = TargetScoreLaw(candidates).moment(2)
    kept += (candidates - 1) * RivalScoreLaw(candidates).moment(2)
    assert kept == pytest.approx(
        candidates - statistical_dimension(candidates), abs=1e-11 * candidates
    )


def test_two_candidates_meet_in_the_middle():
    # The target is the larger of g_1 and the mean of both, which is uncorrelated with g_1 - g_2.
    x = np.linspace(-2.5, 3, 12)

    def below(s):
        return integrate.quad(
            lambda u: stats.norm.pdf(u) * special.ndtr(min(math.sqrt(2) * s, math.sqrt(2) * s - u)),
            *(-12, 12),
            points=[0],
            epsabs=1e-13,
        )[0]

    np.testing.assert_allclose(TargetScoreLaw(2).cdf(x), [below(s) for s in x], atol=1e-11)
    # By symmetry the loser is the mirror image of the winner.
    np.testing.assert_allclose(RivalScoreLaw(2).cdf(x), 1 - TargetScoreLaw(2).cdf(-x), atol=1e-12)
    assert TargetScoreLaw(2).mean == pytest.approx(1 / math.sqrt(4 * math.pi), abs=1e-12)


def test_rivals_of_many_are_almost_gaussian():
    law = RivalScoreLaw(10**9)
    x = np.linspace(-5, 5, 21)
    # Only about thirty of a billion rivals are lowered.
    np.testing.assert_allclose(law.cdf(x), stats.norm.cdf(x), atol=5e-8)


def test_a_margin_lifts_the_target_and_lowers_the_rivals():
    targets = [TargetScoreLaw(30, c).mean for c in (0.0, 0.5, 2.0)]
    rivals = [RivalScoreLaw(30, c).mean for c in (0.0, 0.5, 2.0)]
    assert np.all(np.diff(targets) > 0)
    assert np.all(np.diff(rivals) < 0)


@pytest.mark.parametrize(("candidates", "margin"), [(2, 3.0), (2, 5.0), (2, 15.0), (3, 20.0)])
def test_rivals_under_a_large_margin(candidates, margin):
    law = RivalScoreLaw(candidates, margin)
    assert law.moment(0) == pytest.approx(1, abs=1e-10)
    _, rival = projected(candidates, margin, 5_000, seed=2)
    assert stats.kstest(rival, law.cdf).pvalue > 1e-4


@pytest.mark.parametrize("kind", LAWS)
def test_margin_far_beyond_every_rival(kind):
    # All rivals are active: the target is N(c/2, 1/2) and its only rival lies c below it.
    law = kind(2, 80.0)
    assert law.mean == pytest.approx(40.0 if kind is TargetScoreLaw else -40.0, abs=1e-9)
    assert law.variance == pytest.approx(0.5, abs=1e-9)
