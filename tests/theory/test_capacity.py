"""How many facts fit: reference values, sampled prices, and a linear program that decides small cases."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_program import widest
from scipy import optimize, stats

from simonides import capacity

few = settings(max_examples=3, deadline=None, derandomize=True)


# Reference values


@pytest.mark.parametrize(
    ("dim", "facts", "digits"),
    [
        (25, 123.1, 1),
        (50, 375.6, 1),
        (100, 1192.0, 1),
        (200, 3903.5, 1),
        (400, 13104.8, 1),
        (1024, 69881.8, 1),
        (4096, 867136, 0),
    ],
)
def test_facts_of_square_matrices(dim, facts, digits):
    answer = capacity(dim)
    assert round(answer.facts, digits) == facts
    assert answer.facts_stderr == 0.0
    assert answer.candidates == answer.facts


def test_load_of_a_large_matrix():
    assert round(capacity(4096).load, 4) == 0.7067


@pytest.mark.parametrize(
    ("dim", "rank", "facts"), [(50, 25, 342.7), (50, 10, 227.5), (100, 25, 803.5)]
)
def test_facts_under_a_rank_bound(dim, rank, facts):
    # the reference averaged a small sample of matrices
    assert capacity(dim, rank=rank).facts == pytest.approx(facts, rel=0.003)


@pytest.mark.parametrize(
    ("candidates", "facts"), [(3, 60.0), (20, 171.9), (60, 151.8), (120, 124.0), (400, 92.6)]
)
def test_facts_with_a_fixed_number_of_shared_outputs(candidates, facts):
    answer = capacity(25, 25, candidates=candidates)
    assert round(answer.facts, 1) == facts
    assert answer.candidates == candidates


def test_facts_of_a_rectangular_matrix():
    assert round(capacity(20, 45, candidates=300).facts, 1) == 142.2
    assert capacity(45, 20, candidates=300).facts == pytest.approx(
        capacity(20, 45, candidates=300).facts, rel=1e-14
    )


@given(st.integers(1, 500), st.integers(1, 500))
@few
def test_two_candidates_are_a_perceptron(dim_in, dim_out):
    decoupled = capacity(dim_in, dim_out, candidates=2, problem="decoupled")
    shared = capacity(dim_in, dim_out, candidates=2, problem="original")
    assert decoupled.facts == pytest.approx(2 * dim_in * dim_out, rel=1e-12)
    assert shared.facts == pytest.approx(2 * dim_in, rel=1e-12)


def test_three_candidates():
    assert capacity(25, candidates=3, problem="decoupled").facts == pytest.approx(750, rel=1e-12)
    assert capacity(25, candidates=3).facts == pytest.approx(60, rel=1e-12)


def test_shared_outputs_cost_directions_only_while_they_are_few():
    for candidates in (26, 27, 100):
        shared = capacity(25, candidates=candidates)
        decoupled = capacity(25, candidates=candidates, problem="decoupled")
        assert shared.facts == decoupled.facts
    assert (
        capacity(25, candidates=25).facts < capacity(25, candidates=25, problem="decoupled").facts
    )


# The price of a fact, found in other ways


def projected(vectors):
    """Squared distance of each row from {z_1 >= z_j}, by bisection of the optimality condition."""
    target, rivals = vectors[:, 0], vectors[:, 1:]
    low, high = target.copy(), np.maximum(target, rivals.max(axis=1))
    for _ in range(50):
        middle = (low + high) / 2
        short = middle - target < np.maximum(rivals - middle[:, None], 0).sum(axis=1)
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return (low - target) ** 2 + (np.maximum(rivals - low[:, None], 0) ** 2).sum(axis=1)


def test_facts_exhaust_the_entries_at_a_sampled_price():
    facts = capacity(25).facts
    rng = np.random.default_rng(1)
    prices = np.concatenate([projected(rng.standard_normal((2000, 123))) for _ in range(3)])
    stderr = prices.std(ddof=1) / math.sqrt(prices.size)
    # a fractional number of candidates costs at most 0.1% more than the whole number below it
    assert facts * prices.mean() == pytest.approx(625, abs=4 * facts * stderr + 0.001 * 625)
    assert facts * stderr < 0.02 * 625


def test_margin_against_one_rival_is_a_half_space():
    for margin in (0.0, 0.3, 1.0, 5.0, 40.0):
        a = margin / math.sqrt(2)
        price = (1 + a * a) * stats.norm.cdf(a) + a * stats.norm.pdf(a)
        answer = capacity(8, 9, candidates=2, margin=margin, problem="decoupled")
        assert answer.facts == pytest.approx(72 / price, rel=1e-10)
        assert answer.statistical_dimension == pytest.approx(price, rel=1e-10)


def test_margin_against_many_rivals():
    margin, rng = 0.7, np.random.default_rng(2)
    vectors = rng.standard_normal((20_000, 12))
    vectors[:, 0] -= margin
    prices = projected(vectors)
    stderr = prices.std(ddof=1) / math.sqrt(prices.size)
    answer = capacity(8, candidates=12, margin=margin, problem="decoupled")
    assert answer.statistical_dimension == pytest.approx(prices.mean(), abs=4 * stderr)


def test_tail_average_against_a_cone_with_all_its_faces():
    # beating the mean of the top two of four rivals is beating the mean of every pair
    faces = []
    for pair in itertools.combinations(range(1, 5), 2):
        face = np.zeros(5)
        face[0], face[list(pair)] = 1.0, -0.5
        faces.append(face)
    polar = -np.array(faces).T
    rng = np.random.default_rng(5)
    prices = []
    for vector in rng.standard_normal((6000, 5)):
        _, residual = optimize.nnls(polar, vector)
        prices.append(vector @ vector - residual**2)
    stderr = np.std(prices, ddof=1) / math.sqrt(len(prices))
    answer = capacity(10, candidates=5, tail_fraction=0.4, problem="decoupled")
    own = answer.statistical_dimension * answer.facts_stderr / answer.facts
    assert answer.statistical_dimension == pytest.approx(
        np.mean(prices), abs=4 * math.hypot(stderr, own)
    )
    assert own < 0.05


# A linear program decides


def storable(rows):
    return widest(rows)[1] > 1e-7


def largest_storable(blocks):
    """The longest prefix of facts that can be stored, by bisection."""
    low, high = 0, len(blocks)
    assert not storable(np.concatenate(blocks))
    while high - low > 1:
        middle = (low + high) // 2
        if storable(np.concatenate(blocks[:middle])):
            low = middle
        else:
            high = middle
    return low


def assert_threshold(thresholds, expected, finite_size):
    stderr = np.std(thresholds, ddof=1) / math.sqrt(len(thresholds))
    allowed = 4 * stderr + finite_size * expected
    assert np.mean(thresholds) == pytest.approx(expected, abs=allowed)
    assert allowed < 0.2 * expected


@pytest.mark.slow
def test_linear_program_with_outputs_of_its_own_for_each_input():
    dim, candidates = 7, 20
    expected = capacity(dim, candidates=candidates, problem="decoupled").facts
    rng = np.random.default_rng(11)
    thresholds = []
    for _ in range(25):
        blocks = []
        for _ in range(int(1.8 * expected)):
            x, y = rng.standard_normal(dim), rng.standard_normal((candidates, dim))
            blocks.append(np.einsum("jk,l->jkl", y[0] - y[1:], x).reshape(candidates - 1, -1))
        thresholds.append(largest_storable(blocks))
    assert_threshold(thresholds, expected, finite_size=0.03)


@pytest.mark.slow
def test_linear_program_with_three_shared_outputs():
    dim_in, dim_out = 12, 5
    expected = capacity(dim_in, dim_out, candidates=3).facts
    assert expected == pytest.approx(2 * dim_in / (5 / 6), rel=1e-12)
    rng = np.random.default_rng(12)
    thresholds = []
    for _ in range(40):
        y = rng.standard_normal((3, dim_out))
        blocks = []
        for _ in range(int(2 * expected)):
            x, target = rng.standard_normal(dim_in), rng.integers(3)
            gaps = y[target] - np.delete(y, target, axis=0)
            blocks.append(np.einsum("jk,l->jkl", gaps, x).reshape(2, -1))
        thresholds.append(largest_storable(blocks))
    assert_threshold(thresholds, expected, finite_size=0.04)
