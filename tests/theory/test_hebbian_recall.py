"""Recall by the Hebbian rule against its own simulation."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from simonides import Setting
from simonides.theory.hebbian import (
    all_recalled_probability,
    failure_probability,
    hebbian_capacity,
    recall_probability,
    signal,
)

FINITE_SIZE = 0.03
"""Scores are neither Gaussian nor independent: what that costs in accuracy at these sizes."""


def recalled(setting, facts, rng):
    """Whether each fact is recalled by W = sum of y x^T, in one random instance."""
    x = rng.standard_normal((facts, setting.dim_in))
    if setting.problem == "decoupled":
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
    shares = [recalled(setting, facts, rng).mean() for _ in range(instances)]
    return float(np.mean(shares)), float(np.std(shares, ddof=1) / math.sqrt(instances))


def all_recalled(setting, facts, instances, seed):
    rng = np.random.default_rng(seed)
    share = np.mean([recalled(setting, facts, rng).all() for _ in range(instances)])
    return float(share), math.sqrt(max(share * (1 - share), 0.01) / instances)


@pytest.mark.parametrize(
    ("dim_in", "dim_out", "facts"), [(25, 25, 60), (40, 90, 150), (90, 40, 30)]
)
def test_signal_is_mean_over_deviation_of_the_scores(dim_in, dim_out, facts):
    # own output, own input, and all other facts: second moments of products of Gaussians
    shared = dim_in * dim_out / (facts - 2 + dim_in + 2 + dim_out + 2)
    decoupled = dim_in * dim_out / (facts - 1 + dim_in + 2)
    strength = signal(Setting(dim_in, dim_out), facts)
    assert strength**2 == pytest.approx(shared, rel=5 / (facts + dim_in + dim_out))
    strength = signal(Setting(dim_in, dim_out, problem="decoupled"), facts)
    assert strength**2 == pytest.approx(decoupled, rel=5 / (facts + dim_in))


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
    assert signal(Setting(50, 50, problem="decoupled"), 1) == pytest.approx(math.sqrt(50), rel=0.02)


ACCURACIES = [
    (Setting(25, 25), 15, 300),
    (Setting(25, 25), 60, 150),
    (Setting(25, 25), 120, 60),
    (Setting(25, 25, problem="decoupled"), 60, 150),
    (Setting(50, 50), 150, 40),
    (Setting(50, 50, problem="decoupled"), 150, 40),
    (Setting(50, 50), 300, 25),
    (Setting(100, 100), 500, 8),
    (Setting(100, 100, problem="decoupled"), 500, 8),
    (Setting(25, 60), 60, 100),
    (Setting(60, 25), 60, 100),
    (Setting(100, 20, problem="decoupled"), 150, 40),
    (Setting(25, 60, problem="decoupled"), 60, 100),
    (Setting(25, 25, candidates=5), 60, 150),
    (Setting(25, 25, candidates=200), 60, 100),
    (Setting(25, 25, candidates=10, problem="decoupled"), 200, 60),
]


@pytest.mark.parametrize(("setting", "facts", "instances"), ACCURACIES, ids=str)
def test_accuracy_of_the_simulated_rule(setting, facts, instances):
    share, stderr = accuracy(setting, facts, instances, seed=21)
    assert stderr < 0.01
    assert recall_probability(setting, facts) == pytest.approx(share, abs=4 * stderr + FINITE_SIZE)


def test_leading_order_alone_would_be_far_off():
    setting, facts = Setting(25, 25), 60
    share, stderr = accuracy(setting, facts, 150, seed=21)
    leading = 1 - failure_probability(math.sqrt(setting.entries / facts), facts)
    assert abs(leading - share) > 3 * (4 * stderr + FINITE_SIZE)


@pytest.mark.parametrize(("dim", "facts"), [(25, 18), (50, 52), (50, 64)])
def test_chance_of_full_recall_with_outputs_of_its_own_for_each_input(dim, facts):
    setting = Setting(dim, dim, problem="decoupled")
    share, stderr = all_recalled(setting, facts, 500, seed=22)
    assert all_recalled_probability(setting, facts) == pytest.approx(
        share, abs=4 * stderr + 2 * FINITE_SIZE
    )


@pytest.mark.parametrize(("dim", "excess"), [(25, 1.45), (50, 1.45), (100, 1.35)])
def test_full_recall_with_shared_outputs_is_somewhat_likelier(dim, excess):
    # rivals share their outputs, so failures are rarer than if scores were independent; the
    # excess shrinks with the dimension
    setting = Setting(dim, dim)
    half = hebbian_capacity(setting)
    instances = 200 if dim < 100 else 80
    share, stderr = all_recalled(setting, math.floor(half), instances, seed=23)
    assert share > 0.5 - 4 * stderr
    share, stderr = all_recalled(setting, math.ceil(excess * half), instances, seed=24)
    assert share < 0.5 + 4 * stderr


def test_full_recall_is_recall_of_each_fact():
    for facts in (5, 60, 3000):
        setting = Setting(100, 100)
        once = recall_probability(setting, facts)
        assert all_recalled_probability(setting, facts) == pytest.approx(once**facts, rel=1e-9)


def test_tail_average_of_many_candidates():
    # the target must beat the mean of the top half, √(2/π), and the margin
    setting = Setting(60, 60, candidates=4000, tail_fraction=0.5, margin=0.3, problem="decoupled")
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
    setting = Setting(dim, dim, candidates=candidates, tail_fraction=fraction, problem="decoupled")
    error = np.std(recalled, ddof=1) / math.sqrt(instances)
    assert abs(recall_probability(setting, facts) - np.mean(recalled)) < 4 * error + 0.01
