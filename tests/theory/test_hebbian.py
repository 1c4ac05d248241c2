"""The Hebbian rule: its thresholds, the failure of one fact in high precision, and refusals."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simonides import Setting
from simonides.theory import hebbian
from simonides.theory.hebbian import (
    all_recalled_probability,
    failure_probability,
    hebbian_capacity,
    rate,
    recall_probability,
)

# Thresholds


def test_thresholds():
    assert (hebbian.LOAD_ALL, hebbian.LOAD_FRACTION) == (1 / 8, 1 / 2)


def test_rate_crosses_one_and_zero_at_the_thresholds():
    assert rate(1 / 8) == pytest.approx(1, abs=1e-12)
    assert rate(1 / 8 - 1e-6) > 1 > rate(1 / 8 + 1e-6) > 0
    assert rate(1 / 2) == 0
    assert rate(1 / 2 - 1e-6) > 0
    assert rate(0.7) == rate(1e6) == 0


@given(st.floats(1e-3, 2.0))
def test_rate_is_the_least_cost_of_a_failure(load):
    mean = 1 / math.sqrt(load)
    s = np.linspace(-1.0, mean + 2.0, 200_001)
    cost = (mean - s) ** 2 / 2 + np.maximum(0, s * s / 2 - 1)
    spacing = s[1] - s[0]
    # the cost has slope at most √2 and curvature two around its minimum
    assert rate(load) == pytest.approx(cost.min(), abs=2 * spacing)
    assert rate(load) <= cost.min() + 1e-12


@pytest.mark.parametrize("load", [0.06, 0.1, 0.2, 0.3])
def test_failures_decay_with_the_rate(load):
    logs = np.array([10.0, 20.0, 40.0, 80.0])
    exponents = [
        -math.log(failure_probability(math.sqrt(log / load), math.exp(log))) / log for log in logs
    ]
    errors = np.abs(np.array(exponents) - rate(load))
    assert np.all(np.diff(errors) < 0)
    # prefactors are powers of log p
    assert np.all(errors * logs < 2 * np.log(logs) + 2)


@pytest.mark.parametrize("problem", ["original", "decoupled"])
def test_load_of_full_recall_tends_to_one_eighth(problem):
    loads = []
    for dim in (10**5, 10**6, 10**8, 10**10, 10**12):
        facts = hebbian_capacity(Setting(dim, dim, problem=problem))
        loads.append(facts * math.log(facts) / dim**2)
    excess = np.array(loads) - 1 / 8
    assert np.all(excess > 0)
    assert np.all(np.diff(excess) < 0)
    assert excess[-1] < 0.005


def test_load_of_partial_recall_tends_to_one_half_from_below():
    loads = []
    for dim in (10**3, 10**5, 10**7, 10**9, 10**12):
        facts = hebbian_capacity(Setting(dim, dim), "fraction")
        loads.append(facts * math.log(facts) / dim**2)
    assert np.all(np.diff(loads) > 0)
    assert 0.3 < loads[-1] < 0.5


# The failure of one fact


def precise_failure(mean, candidates):
    """The same integral in thirty digits, where the difference from one can be taken."""
    with mpmath.workdps(30):
        top = mpmath.sqrt(2 * mpmath.log(candidates))
        middle = (top - mean) / 2
        edges = [-36, middle - 6, middle - 2, middle, middle + 2, middle + 6, 12]
        return mpmath.quad(
            lambda x: mpmath.npdf(x) * (1 - mpmath.ncdf(x + mean) ** (candidates - 1)), edges
        )


@pytest.mark.parametrize(
    ("mean", "candidates"),
    [(0.0, 2), (1.0, 3), (3.0, 10), (4.0, 1000), (6.0, 50), (9.0, 7), (11.0, 100), (12.5, 10**6)],
)
def test_failure_probability_to_many_digits(mean, candidates):
    expected = float(precise_failure(mean, candidates))
    assert failure_probability(mean, candidates) == pytest.approx(expected, rel=1e-9)


def test_failures_can_be_rarer_than_rounding():
    assert float(precise_failure(11.0, 100)) < 1e-12
    assert 0 < failure_probability(11.0, 100) < 1e-12
    assert 0 < failure_probability(25.0, 100) < 1e-60


def test_one_rival_is_a_single_gaussian():
    for mean in (-3.0, 0.0, 2.0, 10.0):
        expected = float(mpmath.ncdf(-mean / mpmath.sqrt(2)))
        assert failure_probability(mean, 2) == pytest.approx(expected, rel=1e-10)


def test_without_signal_all_candidates_are_alike():
    for candidates in (1, 2, 7, 1000, 10**9):
        assert failure_probability(0, candidates) == pytest.approx(1 - 1 / candidates, rel=1e-10)


@given(st.floats(-5, 10), st.floats(0, 5), st.integers(2, 10**6))
def test_margin_takes_from_the_mean(mean, margin, candidates):
    assert failure_probability(mean, candidates, margin) == failure_probability(
        mean - margin, candidates
    )


@given(st.floats(-4, 8), st.floats(0.01, 2), st.integers(2, 10**6))
def test_failures_fall_with_the_signal_and_rise_with_the_rivals(mean, more, candidates):
    failure = failure_probability(mean, candidates)
    assert 0 < failure <= 1 + 1e-12
    assert failure_probability(mean + more, candidates) < failure + 1e-12
    assert failure_probability(mean, candidates + 1) > failure - 1e-12


def test_failure_probability_against_sampling():
    rng = np.random.default_rng(8)
    for mean, candidates in ((1.0, 5), (2.5, 40)):
        scores = rng.standard_normal((20_000, candidates))
        failed = np.mean(scores[:, 0] + mean < scores[:, 1:].max(axis=1))
        stderr = math.sqrt(failed * (1 - failed) / 20_000)
        assert failure_probability(mean, candidates) == pytest.approx(failed, abs=4 * stderr)


# Inverse


@pytest.mark.parametrize(
    "setting",
    [
        Setting(25, 25),
        Setting(100, 40),
        Setting(64, 64, candidates=10, problem="decoupled"),
        Setting(64, 64, margin=0.5),
        Setting(300, 300, tail_fraction=0.1),
        Setting(10**6, 10**6),
    ],
    ids=str,
)
@pytest.mark.parametrize("probability", [0.2, 0.9])
def test_capacity_is_where_the_chance_is_met(setting, probability):
    facts = hebbian_capacity(setting, "all", probability=probability)
    assert all_recalled_probability(setting, facts) == pytest.approx(probability, rel=1e-6)
    facts = hebbian_capacity(setting, "fraction", probability=probability)
    assert recall_probability(setting, facts) == pytest.approx(probability, rel=1e-6)


def test_default_probabilities():
    setting = Setting(200, 200)
    assert hebbian_capacity(setting) == hebbian_capacity(setting, "all", probability=0.5)
    assert hebbian_capacity(setting, "fraction") == hebbian_capacity(
        setting, "fraction", probability=0.99
    )


def test_rank_bound_is_ignored():
    assert hebbian_capacity(Setting(50, 50, rank=3)) == hebbian_capacity(Setting(50, 50))


@given(st.integers(2, 1000), st.floats(0.05, 0.9))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_more_certainty_stores_less_and_more_weights_store_more(dim, probability):
    base = hebbian_capacity(Setting(dim, dim), probability=probability)
    assert hebbian_capacity(Setting(dim, dim), probability=probability + 0.05) < base
    assert hebbian_capacity(Setting(dim + 1, dim), probability=probability) > base


def test_a_margin_no_fact_can_meet_stores_nothing():
    assert hebbian_capacity(Setting(4, 4, candidates=5, margin=50.0), "fraction") == 0.0


def test_a_chance_that_guessing_exceeds_is_met_at_any_number():
    guess = Setting(10, 10, candidates=2)
    assert recall_probability(guess, 1e25) == pytest.approx(0.5, abs=1e-6)
    assert hebbian_capacity(guess, "fraction", probability=0.4) == math.inf


def test_certain_failure_has_no_chance():
    setting = Setting(10, 10, candidates=50, tail_fraction=0.5, margin=40.0)
    assert all_recalled_probability(setting, 100) == 0.0
