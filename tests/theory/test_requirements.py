"""The inverse questions undo the capacity exactly, to the last fact, dimension and rank."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from simonides import Setting, capacity, largest_margin, smallest_dimension, smallest_rank
from simonides.theory.capacity import capacity_of

few = settings(max_examples=2, deadline=None, derandomize=True)

ASKED = [
    {},
    {"candidates": 2},
    {"candidates": 2, "problem": "decoupled"},
    {"candidates": 50},
    {"candidates": 50, "problem": "decoupled"},
    {"rank": 40, "margin": 0.5, "candidates": 50},
    {"tail_fraction": 0.5, "candidates": 10_000},
]


# Dimension


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_smallest_dimension_is_the_first_that_suffices(asked):
    facts = 701
    dim = smallest_dimension(facts, **asked)
    assert capacity(dim, **asked).facts >= facts
    least = asked.get("rank", 1)
    if dim > least:
        assert capacity(dim - 1, **asked).facts < facts


@given(st.integers(3, 10**9))
@few
def test_smallest_dimension_at_any_number_of_facts(facts):
    dim = smallest_dimension(facts)
    assert capacity(dim).facts >= facts > capacity(dim - 1).facts


@given(st.integers(2, 2000))
@few
def test_dimension_of_a_capacity_is_the_dimension(dim):
    facts = capacity(dim).facts
    assert smallest_dimension(math.floor(facts)) == dim
    assert smallest_dimension(math.floor(facts) + 1) == dim + 1


def test_two_candidates_need_half_a_dimension_each():
    # Cover: 2 d facts with shared outputs, 2 d² with their own
    assert smallest_dimension(999, candidates=2) == 500
    assert smallest_dimension(1001, candidates=2) == 501
    assert smallest_dimension(4999, candidates=2, problem="decoupled") == 50
    assert smallest_dimension(5001, candidates=2, problem="decoupled") == 51


def test_one_fact_needs_one_dimension():
    assert smallest_dimension(1) == 1
    assert smallest_dimension(1, rank=5) == 5


def test_many_facts_are_answered():
    assert smallest_dimension(10**15) == pytest.approx(math.sqrt(10**15 * 2 * 30), rel=0.1)


@pytest.mark.parametrize("asked", [{}, {"candidates": 2}, {"rank": 1}], ids=str)
def test_more_facts_than_any_dimension_holds(asked):
    with pytest.raises(ValueError, match=r"facts = 10{30}"):
        smallest_dimension(10**30, **asked)


# Rank


@pytest.mark.parametrize(
    ("setting", "facts"),
    [
        (Setting(100, 100), 1),
        (Setting(100, 100), 1190),
        (Setting(60, 200), 700),
        (Setting(40, 40), 200),
        (Setting(50, 50, candidates=99, margin=1.0), 100),
        (Setting(64, 64, candidates=20), 400),
        (Setting(64, 64, candidates=20, problem="decoupled"), 500),
        (Setting(10**5, 10**5), 10**6),
    ],
    ids=str,
)
def test_smallest_rank_is_the_first_that_suffices(setting, facts):
    rank = smallest_rank(setting, facts)
    assert capacity_of(replace(setting, rank=rank)).facts >= facts
    if rank > 1:
        assert capacity_of(replace(setting, rank=rank - 1)).facts < facts


def test_smallest_rank_ignores_the_rank_that_is_set():
    assert smallest_rank(Setting(80, 80, rank=2), 500) == smallest_rank(Setting(80, 80), 500)


def test_all_directions_are_needed_at_capacity():
    assert smallest_rank(Setting(40, 3, candidates=2, problem="decoupled"), 239) == 3
    shared = Setting(40, 40, candidates=6)
    # five directions tell six outputs apart
    assert smallest_rank(shared, math.floor(capacity_of(shared).facts)) == 5


# Margin


@pytest.mark.parametrize(
    ("setting", "facts"),
    [
        (Setting(100, 100), 1000),
        (Setting(100, 100), 1),
        (Setting(30, 50, candidates=7), 20),
        (Setting(30, 30, candidates=2, problem="decoupled"), 900),
    ],
    ids=str,
)
def test_capacity_at_the_largest_margin_is_the_number_of_facts(setting, facts):
    margin = largest_margin(setting, facts)
    assert margin > 0
    assert capacity_of(replace(setting, margin=margin)).facts == pytest.approx(facts, rel=1e-6)


def test_largest_margin_of_a_sampled_tail():
    setting = Setting(30, 30, candidates=30, tail_fraction=0.2)
    margin = largest_margin(setting, 100)
    answer = capacity_of(replace(setting, margin=margin))
    assert answer.facts == pytest.approx(100, rel=1e-6)


def test_no_margin_is_left_at_capacity():
    setting = Setting(30, 30, candidates=2, problem="decoupled")
    # one fact short of 1800: half a parameter in 900 is left, and δ grows by 0.56 per margin
    assert largest_margin(setting, 1799) == pytest.approx(0.5 / 1799 / 0.56, rel=0.02)


def test_largest_margin_ignores_the_margin_that_is_set():
    assert largest_margin(Setting(40, 40, margin=3.0), 100) == largest_margin(Setting(40, 40), 100)


def test_fewer_facts_leave_a_wider_margin():
    margins = [largest_margin(Setting(50, 50), facts) for facts in (375, 10)]
    assert margins == sorted(margins)
    # with ten facts in 2500 weights each has 250: (c²)(K - 1)/K, the target against all its rivals
    assert margins[-1] == pytest.approx(math.sqrt(250 / 0.9), rel=0.1)


# Refusals


@pytest.mark.parametrize(
    ("question", "setting"),
    [
        (smallest_rank, Setting(100, 100)),
        (smallest_rank, Setting(100, 100, candidates=4)),
        (largest_margin, Setting(40, 40, candidates=5, rank=3)),
        (largest_margin, Setting(20, 20, candidates=50, problem="decoupled")),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_facts_beyond_capacity_are_refused_with_the_capacity(question, setting):
    most = capacity_of(setting).facts
    beyond = math.floor(most) + 1
    with pytest.raises(ValueError, match="facts") as error:
        question(setting, beyond)
    message = str(error.value)
    assert message.startswith(f"facts = {beyond} must be at most the capacity, {most:,.1f}")
    assert "store fewer, or take a square matrix of dimension " in message
    question(setting, math.floor(most))


# The margin itself, by solving for it


def hull_distance(constraints):
    """Largest smallest gap of unit weights: by duality, the distance of the hull from zero."""
    matrix = np.vstack((constraints.T, np.full((1, len(constraints)), 1e3)))
    target = np.append(np.zeros(constraints.shape[1]), 1e3)
    multipliers, _ = nnls(matrix, target, maxiter=50 * len(constraints))
    return np.linalg.norm(constraints.T @ (multipliers / multipliers.sum()))


@pytest.mark.slow
def test_largest_margin_of_independent_features_and_of_matrices():
    rng = np.random.default_rng(0)
    dim, facts, instances = 12, 20, 12
    free, product = [], []
    for _ in range(instances):
        rows = rng.standard_normal((facts, facts, dim * dim))
        free.append(hull_distance((rows[:, :1] - rows[:, 1:]).reshape(-1, dim * dim)))
        outputs, inputs = (
            rng.standard_normal((facts, facts, dim)),
            rng.standard_normal((facts, dim)),
        )
        rows = np.einsum("ija,ib->ijab", outputs, inputs).reshape(facts, facts, -1)
        product.append(hull_distance((rows[:, :1] - rows[:, 1:]).reshape(-1, dim * dim)))
    theory = largest_margin(Setting(dim, dim, candidates=facts, problem="decoupled"), facts)
    error = np.std(free, ddof=1) / math.sqrt(instances)
    assert abs(np.mean(free) - theory) < 4 * error + 0.03 * theory
    # products of inputs and outputs keep less at this size, which the notes say
    assert 0.55 < np.mean(product) / theory < 0.8
