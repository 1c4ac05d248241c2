"""The Hebbian rule against its own simulation, high precision and its rate function."""

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
    asymptotic_hebbian_load,
    failure_probability,
    hebbian_capacity,
    rate,
    recall_probability,
    signal,
)

FINITE_SIZE = 0.03
"""Scores are neither Gaussian nor independent: what that costs in accuracy at these sizes."""


def recalled(setting, facts, rng):
    """Whether each fact is recalled by W = sum of y x^T, in one random instance."""
    x = rng.standard_normal((facts, setting.dim_in))
    if setting.outputs == "decoupled":
        y = rng.standard_normal((facts, setting.dim_out))
        read = x @ (x.T @ y)
        rivals = (setting.candidates or facts) - 1
        # an input's own rivals are independent of the weights: given what is read their scores are
        # Gaussian, with its norm as standard deviation
        top = rng.standard_normal((facts, rivals)).max(axis=1)
        return np.einsum("ij,ij->i", read, y) > top * np.linalg.norm(read, axis=1)
    if setting.candidates is None:
        y, target = rng.standard_normal((facts, setting.dim_out)), np.arange(facts)
    else:
        y = rng.standard_normal((setting.candidates, setting.dim_out))
        target = rng.integers(setting.candidates, size=facts)
    weights = y[target].T @ x
    return np.argmax(x @ weights.T @ y.T, axis=1) == target


def accuracy(setting, facts, instances, seed):
    rng = np.random.default_rng(seed)
    found = [recalled(setting, facts, rng).mean() for _ in range(instances)]
    return float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(instances))


def all_recalled(setting, facts, instances, seed):
    rng = np.random.default_rng(seed)
    share = np.mean([recalled(setting, facts, rng).all() for _ in range(instances)])
    return float(share), math.sqrt(max(share * (1 - share), 0.01) / instances)


# Thresholds


def test_thresholds():
    assert asymptotic_hebbian_load("all") == hebbian.LOAD_ALL == 1 / 8
    assert asymptotic_hebbian_load("fraction") == hebbian.LOAD_FRACTION == 1 / 2
    assert asymptotic_hebbian_load() == 1 / 8


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


@pytest.mark.parametrize("outputs", ["shared", "decoupled"])
def test_load_of_full_recall_tends_to_one_eighth(outputs):
    loads = []
    for dim in (10**5, 10**6, 10**8, 10**10, 10**12):
        facts = hebbian_capacity(Setting(dim, dim, outputs=outputs))
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


# The rule itself


@pytest.mark.parametrize(
    ("dim_in", "dim_out", "facts"), [(25, 25, 60), (40, 90, 150), (90, 40, 30)]
)
def test_signal_is_mean_over_deviation_of_the_scores(dim_in, dim_out, facts):
    # own output, own input, and all other facts: second moments of products of Gaussians
    shared = dim_in * dim_out / (facts - 2 + dim_in + 2 + dim_out + 2)
    decoupled = dim_in * dim_out / (facts - 1 + dim_in + 2)
    found = signal(Setting(dim_in, dim_out), facts)
    assert found**2 == pytest.approx(shared, rel=5 / (facts + dim_in + dim_out))
    found = signal(Setting(dim_in, dim_out, outputs="decoupled"), facts)
    assert found**2 == pytest.approx(decoupled, rel=5 / (facts + dim_in))


def test_signal_measured():
    rng, facts = np.random.default_rng(4), 120
    setting = Setting(60, 60)
    target, rival = [], []
    for _ in range(40):
        x, y = rng.standard_normal((2, facts, 60))
        scores = x @ (x.T @ y) @ y.T
        diagonal = np.eye(facts, dtype=bool)
        target.append(scores[diagonal].mean())
        rival.append(scores[~diagonal].std())
    ratio = np.array(target) / np.array(rival)
    stderr = ratio.std(ddof=1) / math.sqrt(ratio.size)
    assert signal(setting, facts) == pytest.approx(ratio.mean(), abs=4 * stderr + 3 / 60)


def test_signal_at_large_size_is_the_leading_order():
    for facts in (10**8, 10**10):
        assert signal(Setting(10**5, 10**5), facts) == pytest.approx(
            math.sqrt(10**10 / facts), rel=2 * 10**5 / facts
        )


def test_a_single_fact_is_recalled_as_well_as_its_norm_allows():
    assert signal(Setting(50, 50, outputs="decoupled"), 1) == pytest.approx(math.sqrt(50), rel=0.02)


ACCURACIES = [
    (Setting(25, 25), 15, 300),
    (Setting(25, 25), 60, 150),
    (Setting(25, 25), 120, 60),
    (Setting(25, 25, outputs="decoupled"), 60, 150),
    (Setting(50, 50), 150, 40),
    (Setting(50, 50, outputs="decoupled"), 150, 40),
    (Setting(50, 50), 300, 25),
    (Setting(100, 100), 500, 8),
    (Setting(100, 100, outputs="decoupled"), 500, 8),
    (Setting(25, 60), 60, 100),
    (Setting(60, 25), 60, 100),
    (Setting(100, 20, outputs="decoupled"), 150, 40),
    (Setting(25, 60, outputs="decoupled"), 60, 100),
    (Setting(25, 25, candidates=5), 60, 150),
    (Setting(25, 25, candidates=200), 60, 100),
    (Setting(25, 25, candidates=10, outputs="decoupled"), 200, 60),
]


@pytest.mark.parametrize(("setting", "facts", "instances"), ACCURACIES, ids=str)
def test_accuracy_of_the_simulated_rule(setting, facts, instances):
    found, stderr = accuracy(setting, facts, instances, seed=21)
    assert stderr < 0.01
    assert recall_probability(setting, facts) == pytest.approx(found, abs=4 * stderr + FINITE_SIZE)


def test_leading_order_alone_would_be_far_off():
    setting, facts = Setting(25, 25), 60
    found, stderr = accuracy(setting, facts, 150, seed=21)
    leading = 1 - failure_probability(math.sqrt(setting.entries / facts), facts)
    assert abs(leading - found) > 3 * (4 * stderr + FINITE_SIZE)


@pytest.mark.parametrize(("dim", "facts"), [(25, 18), (50, 52), (50, 64)])
def test_chance_of_full_recall_with_outputs_of_its_own_for_each_input(dim, facts):
    setting = Setting(dim, dim, outputs="decoupled")
    found, stderr = all_recalled(setting, facts, 500, seed=22)
    assert all_recalled_probability(setting, facts) == pytest.approx(
        found, abs=4 * stderr + 2 * FINITE_SIZE
    )


@pytest.mark.parametrize(("dim", "excess"), [(25, 1.45), (50, 1.45), (100, 1.35)])
def test_full_recall_with_shared_outputs_is_somewhat_likelier(dim, excess):
    # rivals share their outputs, so failures are rarer than if scores were independent; the
    # excess shrinks with the dimension
    setting = Setting(dim, dim)
    half = hebbian_capacity(setting)
    instances = 200 if dim < 100 else 80
    found, stderr = all_recalled(setting, math.floor(half), instances, seed=23)
    assert found > 0.5 - 4 * stderr
    found, stderr = all_recalled(setting, math.ceil(excess * half), instances, seed=24)
    assert found < 0.5 + 4 * stderr


def test_full_recall_is_recall_of_each_fact():
    for facts in (5, 60, 3000):
        setting = Setting(100, 100)
        once = recall_probability(setting, facts)
        assert all_recalled_probability(setting, facts) == pytest.approx(once**facts, rel=1e-9)


def test_tail_average_of_many_candidates():
    # the target must beat the mean of the top half, √(2/π), and the margin
    setting = Setting(60, 60, candidates=4000, tail_fraction=0.5, margin=0.3, outputs="decoupled")
    mean = math.sqrt(3600 / (2000 + 59))
    expected = float(mpmath.ncdf(mean - math.sqrt(2 / math.pi) - 0.3))
    assert recall_probability(setting, 2000) == pytest.approx(expected, rel=1e-10)


def test_averaging_a_single_rival_is_the_usual_criterion():
    usual = Setting(25, 25, candidates=20)
    tail = Setting(25, 25, candidates=20, tail_fraction=0.02)
    for facts in (15, 40):
        assert recall_probability(tail, facts) == pytest.approx(
            recall_probability(usual, facts), abs=FINITE_SIZE
        )


# Inverse


@pytest.mark.parametrize(
    "setting",
    [
        Setting(25, 25),
        Setting(100, 40),
        Setting(64, 64, candidates=10, outputs="decoupled"),
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


# Refusals

NO_COUNT = [0, -1.0, math.nan, math.inf, True, "60", None]


@pytest.mark.parametrize("facts", NO_COUNT)
def test_facts_are_refused_by_name(facts):
    for question in (signal, recall_probability, all_recalled_probability):
        with pytest.raises(ValueError, match="must be a finite number above 0") as error:
            question(Setting(5, 5), facts)
        assert str(error.value).startswith(f"facts = {facts!r} ")
        assert "pass the number of stored facts" in str(error.value)


@pytest.mark.parametrize("load", [0, -0.1, math.nan, math.inf, True, "x"])
def test_loads_are_refused_by_name(load):
    with pytest.raises(ValueError, match=f"load = {load!r} must be a finite number above 0"):
        rate(load)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((math.nan, 4), "mean"),
        (("2", 4), "mean"),
        ((True, 4), "mean"),
        ((1.0, 0.5), "candidates"),
        ((1.0, math.inf), "candidates"),
        ((1.0, None), "candidates"),
    ],
)
def test_failure_probability_refuses_by_name(arguments, name):
    with pytest.raises(ValueError, match=f"{name} = "):
        failure_probability(*arguments)


@pytest.mark.parametrize("margin", [math.nan, math.inf, "wide"])
def test_failure_probability_refuses_a_margin_that_is_no_number(margin):
    with pytest.raises(ValueError, match="margin = "):
        failure_probability(1.0, 4, margin)


@pytest.mark.parametrize("criterion", ["most", "", None, 1])
def test_criteria_are_refused_by_name(criterion):
    with pytest.raises(ValueError, match="must be 'all' or 'fraction'"):
        hebbian_capacity(Setting(5, 5), criterion)


@pytest.mark.parametrize("criterion", ["most", None])
def test_criteria_of_the_limit_are_refused_by_name(criterion):
    with pytest.raises(ValueError, match="must be 'all' or 'fraction'"):
        asymptotic_hebbian_load(criterion)


@pytest.mark.parametrize("probability", [0, 1, -0.5, 1.5, math.nan, "half", True])
def test_probabilities_are_refused_by_name(probability):
    with pytest.raises(ValueError, match="above 0 and below 1") as error:
        hebbian_capacity(Setting(5, 5), probability=probability)
    assert str(error.value).startswith(f"probability = {probability!r} ")
    assert "certainty is reached at no finite size" in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize(("candidates", "fraction"), [(2, 1.0), (10, 0.15), (10, 0.5), (60, 0.1)])
def test_tail_criterion_against_simulation(candidates, fraction):
    rng = np.random.default_rng(4)
    dim, facts, instances = 60, 800, 6
    averaged = min(max(fraction * candidates, 1.0), candidates - 1.0)
    weights = np.clip(averaged - np.arange(candidates - 1), 0, 1) / averaged
    recalled = []
    for _ in range(instances):
        inputs, targets = rng.standard_normal((2, facts, dim))
        images = inputs @ (inputs.T @ targets)
        rivals = np.einsum("ijk,ik->ij", rng.standard_normal((facts, candidates - 1, dim)), images)
        tail = -np.sort(-rivals, axis=1) @ weights
        recalled.append(np.mean(np.einsum("ij,ij->i", images, targets) > tail))
    setting = Setting(dim, dim, candidates=candidates, tail_fraction=fraction, outputs="decoupled")
    error = np.std(recalled, ddof=1) / math.sqrt(instances)
    assert abs(recall_probability(setting, facts) - np.mean(recalled)) < 4 * error + 0.01
