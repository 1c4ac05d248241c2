"""Averages over softmax weights: published digits, closed limits, identities, and sampled rows."""

import math

import numpy as np
import pytest
from scipy import integrate

from simonides.signal.attention.asymptotic import asymptotic_statistics
from simonides.signal.attention.softmax import attention_statistics, pair_moments, row_moments

# Tolerance of digits given to six places.
DIGITS = 6e-7


@pytest.mark.parametrize(
    ("squared_beta", "participation", "entropy", "gradient"),
    [
        (1, 0.101478, 3.636596, 0.052942),
        (2, 0.249017, 2.433886, 0.083444),
        (4, 0.425016, 1.526922, 0.094465),
        (9, 0.602411, 0.890187, 0.085808),
    ],
)
def test_one_query_at_512_tokens(squared_beta, participation, entropy, gradient):
    moments = row_moments(squared_beta * math.log(512), 512)
    assert moments.participation == pytest.approx(participation, abs=DIGITS)
    assert moments.entropy == pytest.approx(entropy, abs=DIGITS)
    assert moments.gradient == pytest.approx(gradient, abs=DIGITS)


@pytest.mark.parametrize(
    ("tokens", "expected", "places"),
    [(1024, 0.415663, 6), (1e2, 0.45541, 5), (1e4, 0.39324, 5), (1e9, 0.34771, 5)],
)
def test_participation_falls_slowly_with_the_number_of_tokens(tokens, expected, places):
    moments = row_moments(4 * math.log(tokens), tokens).participation
    assert moments == pytest.approx(expected, abs=0.6 * 10**-places)
    assert moments > 1 - math.sqrt(2) / 2


def test_astronomically_many_tokens_come_near_the_limit():
    moments = row_moments(400.0, math.exp(100))
    assert moments.participation == pytest.approx(0.3080, abs=6e-5)
    assert moments.third == pytest.approx(0.2002, abs=6e-5)
    assert moments.squared == pytest.approx(0.1646, abs=6e-5)
    limit = asymptotic_statistics(math.exp(100))(np.array(400.0), np.array(0.0))
    assert float(limit.participation) == pytest.approx(0.2929, abs=6e-5)
    assert float(limit.third) == pytest.approx(0.1893, abs=6e-5)
    assert float(limit.squared) == pytest.approx(0.1548, abs=6e-5)


def test_two_queries_at_512_tokens():
    variance = 4 * math.log(512)
    half = pair_moments(variance, 0.5, 512)
    assert half.overlap == pytest.approx(0.044146, abs=DIGITS)
    assert half.gradient_overlap == pytest.approx(0.008568, abs=DIGITS)
    assert pair_moments(variance, 0.9, 512).overlap == pytest.approx(0.261368, abs=DIGITS)


@pytest.mark.parametrize("tokens", [2, 17, 512])
@pytest.mark.parametrize("variance", [1e-3, 1.0, 30.0])
def test_queries_that_are_strangers_or_one(variance, tokens):
    row = row_moments(variance, tokens)
    strangers = pair_moments(variance, 1e-9, tokens)
    closed = pair_moments(variance, 0.0, tokens)
    assert closed.overlap == pytest.approx(1 / tokens, rel=1e-12)
    assert strangers.overlap == pytest.approx(1 / tokens, rel=1e-6)
    assert strangers.gradient_overlap == pytest.approx(closed.gradient_overlap, rel=1e-5)
    twins = pair_moments(variance, 1 - 1e-9, tokens)
    assert twins.overlap == pytest.approx(row.participation, rel=1e-6)
    assert twins.gradient_overlap == pytest.approx(row.gradient, rel=1e-6)


def test_weak_scores_among_many_keys():
    tokens, variance, correlation = 1e5, 0.3, 0.4
    row, pair = row_moments(variance, tokens), pair_moments(variance, correlation, tokens)
    # Corrections are of relative order e^v / T.
    assert tokens * row.participation == pytest.approx(math.exp(variance), rel=1e-4)
    assert tokens * pair.overlap == pytest.approx(math.exp(correlation * variance), rel=1e-4)
    assert row.entropy == pytest.approx(math.log(tokens) - variance / 2, abs=1e-4)


@pytest.mark.parametrize("variance", [0.3, 4.0, 40.0])
def test_two_keys_are_a_logistic_function_of_one_gaussian(variance):
    deviation = math.sqrt(2 * variance)

    def mean(function):
        def weighted(x):
            share = 1 / (1 + math.exp(-deviation * x))
            return function(share) * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

        return integrate.quad(weighted, -12, 12, epsabs=1e-13, limit=500)[0]

    def entropy(share):
        return -sum(w * math.log(w) for w in (share, 1 - share) if w > 0)

    moments = row_moments(variance, 2)
    square = mean(lambda a: a**2 + (1 - a) ** 2)
    assert moments.participation == pytest.approx(square, rel=1e-8)
    assert moments.third == pytest.approx(mean(lambda a: a**3 + (1 - a) ** 3), rel=1e-8)
    assert moments.fourth == pytest.approx(mean(lambda a: a**4 + (1 - a) ** 4), rel=1e-7)
    assert moments.squared == pytest.approx(mean(lambda a: (a**2 + (1 - a) ** 2) ** 2), rel=1e-7)
    assert moments.entropy == pytest.approx(mean(entropy), rel=1e-6)


@pytest.mark.parametrize("tokens", [3, 512, 1e7])
@pytest.mark.parametrize("variance", [0.5, 12.0, 80.0])
def test_identities_of_integration_by_parts(variance, tokens):
    step = 1e-3
    high, low = (row_moments(variance * (1 + s), tokens) for s in (step, -step))
    slope = (high.log_partition - low.log_partition) / (2 * step * variance)
    assert slope == pytest.approx((1 - row_moments(variance, tokens).participation) / 2, rel=1e-5)
    correlation = 0.4
    high, low = (pair_moments(variance, correlation + s, tokens) for s in (step, -step))
    slope = (high.overlap - low.overlap) / (2 * step)
    middle = pair_moments(variance, correlation, tokens).gradient_overlap
    assert slope == pytest.approx(variance * middle, rel=1e-3)


def test_contrast_keeps_its_digits_where_queries_are_all_but_one():
    variance, tokens = 3.0, 512
    for gap in (1e-6, 1e-12):
        statistics = attention_statistics(variance, 1 - gap, tokens)
        first_order = variance * (1 - (1 - gap)) * row_moments(variance, tokens).gradient
        assert statistics.contrast == pytest.approx(first_order, rel=1e-4)


@pytest.mark.parametrize(("variance", "correlation"), [(2.0, 0.3), (16.0, 0.6)])
def test_sampled_rows_agree_within_their_error(variance, correlation):
    tokens, samples = 64, 20_000
    rng = np.random.default_rng(3)
    common = rng.standard_normal((samples, tokens))
    scores = [
        math.sqrt(variance)
        * (
            math.sqrt(correlation) * common
            + math.sqrt(1 - correlation) * rng.standard_normal((samples, tokens))
        )
        for _ in range(2)
    ]
    first, second = (np.exp(s) / np.exp(s).sum(axis=1, keepdims=True) for s in scores)
    square, product = (first**2).sum(axis=1), (first * second).sum(axis=1)
    statistics = attention_statistics(variance, correlation, tokens)
    sampled = {
        "participation": square,
        "overlap": product,
        "entropy": -(first * np.log(first)).sum(axis=1),
        "third": (first**3).sum(axis=1),
        "fourth": (first**4).sum(axis=1),
        "squared": square**2,
        "gradient": square - 2 * (first**3).sum(axis=1) + square**2,
        "gradient_overlap": product - 2 * (first**2 * second).sum(axis=1) + product**2,
    }
    for name, values in sampled.items():
        # Four standard errors for each of sixteen comparisons: a false alarm in a thousand.
        error = values.std(ddof=1) / math.sqrt(samples)
        assert abs(values.mean() - getattr(statistics, name)) < 4 * error, name


def test_more_tokens_bring_the_limit_closer():
    for name in ("participation", "third", "squared", "gradient"):
        gaps = []
        for tokens in (1e3, 1e8, 1e20):
            variance = 9 * math.log(tokens)
            limit = asymptotic_statistics(tokens)(np.array(variance), np.array(0.5))
            gaps.append(abs(getattr(row_moments(variance, tokens), name) - getattr(limit, name)))
        assert gaps[0] > gaps[1] > gaps[2], name


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((-1.0, 0.5, 512), "variance = -1.0"),
        ((1.0, 1.5, 512), "correlation = 1.5"),
        ((1.0, -0.1, 512), "correlation = -0.1"),
        ((1.0, 0.5, 1), "tokens = 1"),
        ((math.nan, 0.5, 512), "variance = nan"),
    ],
)
def test_bad_input_is_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        attention_statistics(*arguments)
