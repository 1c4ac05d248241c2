"""How many facts fit: reference values, limits, and a linear program that decides small cases."""

from __future__ import annotations

import dataclasses
import itertools
import math
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, special, stats

from simonides import Capacity, Setting, capacity
from simonides.theory.capacity import capacity_of, needed_parameters

few = settings(max_examples=3, deadline=None, derandomize=True)

NUMBERS = [
    field.name
    for field in dataclasses.fields(Capacity)
    if field.name not in ("setting", "facts_stderr")
]


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
    found = capacity(dim)
    assert round(found.facts, digits) == facts
    assert found.facts_stderr == 0.0
    assert found.candidates == found.facts


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
    found = capacity(25, 25, candidates=candidates)
    assert round(found.facts, 1) == facts
    assert found.candidates == candidates


def test_facts_of_a_rectangular_matrix():
    assert round(capacity(20, 45, candidates=300).facts, 1) == 142.2
    assert capacity(45, 20, candidates=300).facts == pytest.approx(
        capacity(20, 45, candidates=300).facts, rel=1e-14
    )


@given(st.integers(1, 500), st.integers(1, 500))
@few
def test_two_candidates_are_a_perceptron(dim_in, dim_out):
    decoupled = capacity(dim_in, dim_out, candidates=2, outputs="decoupled")
    shared = capacity(dim_in, dim_out, candidates=2, outputs="shared")
    assert decoupled.facts == pytest.approx(2 * dim_in * dim_out, rel=1e-12)
    assert shared.facts == pytest.approx(2 * dim_in, rel=1e-12)


def test_three_candidates():
    assert capacity(25, candidates=3, outputs="decoupled").facts == pytest.approx(750, rel=1e-12)
    assert capacity(25, candidates=3).facts == pytest.approx(60, rel=1e-12)


def test_shared_outputs_cost_directions_only_while_they_are_few():
    for candidates in (26, 27, 100):
        shared = capacity(25, candidates=candidates)
        decoupled = capacity(25, candidates=candidates, outputs="decoupled")
        assert shared.facts == decoupled.facts
    assert (
        capacity(25, candidates=25).facts < capacity(25, candidates=25, outputs="decoupled").facts
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
        found = capacity(8, 9, candidates=2, margin=margin, outputs="decoupled")
        assert found.facts == pytest.approx(72 / price, rel=1e-10)
        assert found.statistical_dimension == pytest.approx(price, rel=1e-10)


def test_margin_against_many_rivals():
    margin, rng = 0.7, np.random.default_rng(2)
    vectors = rng.standard_normal((20_000, 12))
    vectors[:, 0] -= margin
    prices = projected(vectors)
    stderr = prices.std(ddof=1) / math.sqrt(prices.size)
    found = capacity(8, candidates=12, margin=margin, outputs="decoupled")
    assert found.statistical_dimension == pytest.approx(prices.mean(), abs=4 * stderr)


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
    found = capacity(10, candidates=5, tail_fraction=0.4, outputs="decoupled")
    own = found.statistical_dimension * found.facts_stderr / found.facts
    assert found.statistical_dimension == pytest.approx(
        np.mean(prices), abs=4 * math.hypot(stderr, own)
    )
    assert own < 0.05


# Limits


def test_load_tends_to_one_half_as_slowly_as_a_logarithm():
    dims = [25, 100, 400, 1024, 4096, 10**6]
    found = [capacity(dim) for dim in dims]
    loads = np.array([c.load for c in found])
    logs = np.log([c.facts for c in found])
    assert np.all(np.diff(loads) < 0)
    assert np.all(loads > 0.5)
    for c in found:
        assert c.load == pytest.approx(math.log(c.facts) / c.statistical_dimension, rel=1e-9)
    # the distance times log p neither vanishes nor grows by more than log log p
    distance = (loads - 0.5) * logs
    assert np.all((distance > 1.5) & (distance < 4.0))


def test_price_tends_to_twice_the_logarithm():
    ratios = [
        capacity(100, candidates=candidates).statistical_dimension / (2 * math.log(candidates))
        for candidates in (10**3, 10**6, 10**9, 10**15)
    ]
    assert np.all(np.diff(ratios) > 0)
    assert 0.8 < ratios[-1] < 1


@given(st.integers(3, 10**6))
@few
def test_asymptotic_facts_solve_their_equation(dim):
    half = dim * dim / 2
    expected = half / special.lambertw(half).real
    assert capacity(dim).facts_asymptotic == pytest.approx(expected, rel=1e-9)


def critical_load(fraction):
    """Half the second moment of the top fraction of the quarter circle, by quadrature."""

    def density(x):
        return math.sqrt(4 - x * x) / math.pi

    cut = optimize.brentq(lambda x: integrate.quad(density, x, 2)[0] - fraction, 0, 2, xtol=1e-14)
    return integrate.quad(lambda x: x * x * density(x), cut, 2)[0] / 2


@pytest.mark.parametrize(
    ("fraction", "load"),
    [
        (0.05, 0.0860841),
        (0.2, 0.2677931),
        (0.25, 0.3114563),
        (0.5, 0.4468654),
        (0.75, 0.4935239),
        (0.9, 0.4995883),
        (1.0, 0.5),
    ],
)
def test_asymptotic_facts_under_a_rank_bound(fraction, load):
    dim = 1000
    facts = capacity(dim, rank=round(fraction * dim)).facts_asymptotic
    assert facts * math.log(facts) / dim**2 == pytest.approx(load, abs=6e-8)
    assert facts * math.log(facts) / dim**2 == pytest.approx(critical_load(fraction), rel=1e-7)


def test_asymptotic_facts_with_fixed_candidates():
    found = capacity(300, candidates=1000)
    assert found.facts_asymptotic == pytest.approx(300**2 / (2 * math.log(1000)), rel=1e-12)


def test_finite_size_excess_over_the_asymptotic_law_shrinks():
    ratios = [c.facts / c.facts_asymptotic for c in map(capacity, (50, 400, 4096, 10**6))]
    assert np.all(np.diff(ratios) < 0)
    assert ratios[-1] > 1


def test_low_rank_stores_twice_as_many_facts_per_parameter():
    dim, rank = 10**6, 4
    low, full = capacity(dim, rank=rank), capacity(dim)
    per_parameter = low.facts * low.statistical_dimension / low.parameters
    assert per_parameter == pytest.approx(2.0, rel=0.01)
    assert full.facts * full.statistical_dimension / full.parameters == pytest.approx(1, rel=1e-9)


# Monotone


@given(st.integers(2, 400), st.integers(1, 50))
@few
def test_larger_matrices_store_more(dim, more):
    assert capacity(dim + more).facts > capacity(dim).facts


@given(st.integers(2, 80), st.integers(2, 80), st.data())
@few
def test_higher_rank_stores_more(dim_in, dim_out, data):
    rank = data.draw(st.integers(1, min(dim_in, dim_out) - 1))
    facts = [capacity(dim_in, dim_out, candidates=100, rank=m).facts for m in (rank, rank + 1)]
    assert facts[0] < facts[1] <= capacity(dim_in, dim_out, candidates=100).facts


def test_rank_of_the_shorter_side_is_no_bound():
    bound, free = capacity(40, 60, rank=40), capacity(40, 60)
    assert bound.facts == free.facts
    assert bound.parameters == free.parameters == 2400


@given(st.integers(2, 300), st.floats(0, 6), st.floats(0.01, 3))
@few
def test_a_wider_margin_stores_less(candidates, margin, more):
    narrow, wide = (
        capacity(30, candidates=candidates, margin=c, outputs="decoupled").facts
        for c in (margin, margin + more)
    )
    assert wide < narrow


@pytest.mark.slow
@given(st.integers(20, 400), st.floats(0.02, 0.9), st.floats(0.05, 0.1))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_averaging_more_rivals_stores_more(candidates, fraction, more):
    strict, lenient = (
        capacity(30, candidates=candidates, tail_fraction=r) for r in (fraction, fraction + more)
    )
    noise = math.hypot(strict.facts_stderr, lenient.facts_stderr)
    assert lenient.facts > strict.facts - 4 * noise
    top = capacity(30, candidates=candidates).facts
    assert strict.facts >= top - 4 * strict.facts_stderr


@given(st.integers(3, 300))
@few
def test_more_candidates_cost_more(candidates):
    few_, many = (
        capacity(20, candidates=k, outputs="decoupled").facts for k in (candidates, candidates + 1)
    )
    assert many < few_


# Tail averages


@pytest.mark.parametrize("fraction", [0.05, 0.02, 1e-6])
def test_averaging_a_single_rival_is_the_usual_criterion(fraction):
    tail = capacity(25, candidates=20, tail_fraction=fraction)
    top = capacity(25, candidates=20)
    assert tail.facts == pytest.approx(top.facts, abs=4 * tail.facts_stderr + 1e-9)
    assert tail.facts_stderr < 0.2 * top.facts


@pytest.mark.parametrize(("dim_in", "dim_out"), [(100, 100), (60, 200), (10**6, 10**6)])
def test_averaging_all_rivals_is_a_half_space(dim_in, dim_out):
    found = capacity(dim_in, dim_out, tail_fraction=1.0)
    assert found.facts == pytest.approx(2 * dim_in * dim_out, rel=1e-12)


def test_averaging_all_of_a_few_rivals_is_a_half_space_too():
    found = capacity(12, candidates=30, tail_fraction=1.0)
    assert found.facts == pytest.approx(288, abs=4 * found.facts_stderr)


def test_a_fraction_of_many_rivals_costs_a_constant():
    # 1 - r quantile and mean beyond it, by quadrature
    for fraction in (0.5, 0.1, 0.01):
        cut = stats.norm.isf(fraction)
        level = integrate.quad(lambda x: x * stats.norm.pdf(x), cut, 40)[0] / fraction
        price, _ = integrate.quad(
            lambda x, level=level: (level - x) ** 2 * stats.norm.pdf(x), -40, level
        )
        assert capacity(10**5, tail_fraction=fraction).facts == pytest.approx(
            1e10 / price, rel=1e-8
        )


@pytest.mark.parametrize(
    ("dim", "fraction"),
    [
        (2, 0.01),
        (2, 1e-9),
        (5, 1e-9),
        (25, 0.01),
    ],
)
def test_sampled_prices_are_paid_in_full(dim, fraction):
    found = capacity(dim, tail_fraction=fraction)
    paid = found.facts * found.statistical_dimension
    # the number of rivals is whole, and the price of each number is sampled anew
    slack = 4 * found.facts_stderr / found.facts + 1 / found.facts
    assert paid == pytest.approx(found.effective_parameters, rel=slack)
    if fraction * found.facts <= 1:
        top = capacity(dim).facts
        assert found.facts == pytest.approx(top, abs=4 * found.facts_stderr + 0.5)


@pytest.mark.parametrize(("dim", "fraction"), [(2, 0.01), (2, 0.001), (3, 0.01)])
def test_the_smallest_matrices_average_a_single_rival(dim, fraction):
    # fewer than 1/fraction facts compete, so the criterion is the usual one
    assert capacity(dim, tail_fraction=fraction).facts == pytest.approx(
        capacity(dim).facts, rel=0.1
    )


# What the answer reports


@pytest.mark.parametrize("rank", [None, 7])
@pytest.mark.parametrize("candidates", [None, 64])
def test_bits_load_and_parameters_follow_their_definitions(rank, candidates):
    found = capacity(40, 50, rank=rank, candidates=candidates)
    competing = found.facts if candidates is None else candidates
    parameters = 2000 if rank is None else 7 * (40 + 50 - 7)
    assert found.parameters == parameters
    assert found.bits_per_parameter == pytest.approx(
        found.facts * math.log2(competing) / parameters, rel=1e-14
    )
    assert found.load == pytest.approx(found.facts * math.log(competing) / 2000, rel=1e-14)
    assert found.facts * found.statistical_dimension == pytest.approx(
        found.effective_parameters, rel=1e-9
    )


def test_hebbian_rule_stores_less_than_the_best_matrix():
    for dim in (25, 100, 4096):
        found = capacity(dim)
        assert 0 < found.facts_hebbian < found.facts
        assert 0 < found.facts_hebbian_fraction < found.facts


def test_capacity_of_a_setting_is_the_same_answer():
    asked = {"candidates": 50, "margin": 0.5, "rank": 6}
    assert capacity_of(Setting(50, 40, **asked)) == capacity(50, 40, **asked)


def test_needed_parameters_are_spent_at_capacity():
    found = capacity(64)
    assert needed_parameters(found.setting, found.facts).value == pytest.approx(64**2, rel=1e-12)
    assert needed_parameters(Setting(9, 9, candidates=2), 10).value == pytest.approx(5, rel=1e-12)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"margin": 1.0},
        {"margin": 30.0},
        {"rank": 1},
        {"rank": 8, "margin": 0.3},
        {"tail_fraction": 1e-9},
        {"tail_fraction": 0.1},
        {"tail_fraction": 0.003, "rank": 8},
        {"candidates": 2},
        {"candidates": 10**12},
        {"candidates": 10**6, "tail_fraction": 1e-4},
        {"candidates": 1000, "outputs": "decoupled"},
    ],
    ids=str,
)
def test_every_field_is_finite_and_every_answer_quick(asked):
    capacity(3)  # so that imports are not timed
    start = time.process_time()
    found = capacity(10**6, **asked)
    assert time.process_time() - start < 1.0
    for name in NUMBERS:
        assert math.isfinite(getattr(found, name)), name
        assert getattr(found, name) >= 0, name
    assert found.facts > 0
    assert 0 <= found.facts_stderr < 0.1 * found.facts


@pytest.mark.slow
def test_sampled_answers_are_quick_in_a_new_process():
    script = (
        "import time; from simonides import capacity; capacity(3); start = time.process_time(); "
        "capacity(25, tail_fraction=0.1); print(time.process_time() - start)"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert float(found.stdout) < 1.0


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_smallest_matrices_have_answers(dim):
    found = capacity(dim)
    assert 2 - 1e-9 < found.facts < 2 * dim * dim + 1
    assert all(math.isfinite(getattr(found, name)) for name in NUMBERS)


def test_one_weight_stores_two_facts_on_average():
    # p = K = 2: a fact costs half a parameter
    assert capacity(1).facts == pytest.approx(2.0, rel=1e-12)


def test_answers_are_frozen_and_reproducible():
    with pytest.raises(dataclasses.FrozenInstanceError):
        capacity(10).facts = 3
    for sampled in ({"rank": 3}, {"tail_fraction": 0.1}):
        asked = {"candidates": 30, **sampled}
        assert capacity(9, **asked) == capacity(9, **asked)


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.int64, np.uint8, float])
def test_numbers_of_any_type_give_plain_answers(kind):
    dim, rank = kind(200), kind(16)
    found = capacity(dim, rank=rank)
    assert found.facts == capacity(200, rank=16).facts
    assert found.load == pytest.approx(capacity(200, rank=16).load, rel=1e-14)
    assert type(found.parameters) is int
    assert found.parameters == 16 * (400 - 16)


def test_wide_numpy_integers_do_not_overflow():
    assert capacity(np.int32(10**5)).facts == capacity(10**5).facts


def test_more_candidates_than_a_machine_integer():
    found = capacity(100, candidates=10**20)
    assert found.facts == pytest.approx(capacity(100, candidates=10**18).facts, rel=0.15)


def test_wide_margins_of_tail_averages():
    found = capacity(10, tail_fraction=0.5, margin=10.0)
    # barely two facts fit, so two candidates compete, and both scores move: a half-space
    assert found.facts == pytest.approx(100 / (1 + 10**2 / 2), rel=0.1)
    assert 0 <= found.facts_hebbian < found.facts + 1


# Settings and refusals


def test_directions_and_ranks_that_bind():
    shared = Setting(40, 30, candidates=11)
    assert shared.entries == shared.parameters == 1200
    assert shared.output_directions == 10
    assert shared.binding_rank == 10
    assert Setting(40, 30, candidates=11, rank=4).binding_rank == 4
    assert Setting(40, 30, candidates=11, rank=20).binding_rank == 10
    assert Setting(40, 30, candidates=11, outputs="decoupled").output_directions == 30
    assert Setting(40, 30).output_directions == 30
    assert Setting(40, 30, rank=5).parameters == 5 * 65
    assert shared.effective_parameters().value == 400
    assert shared.asymptotic_effective_parameters() == 400


def test_asymptotic_price_with_a_margin():
    price = Setting(9, 9, margin=0.5).asymptotic_price(1e6)
    assert price == pytest.approx((math.sqrt(2 * math.log(1e6)) + 0.5) ** 2, rel=1e-14)


BAD = [
    ("dim_in", 0, "at least 1"),
    ("dim_in", -5, "at least 1"),
    ("dim_in", 2.5, "whole number"),
    ("dim_in", True, "whole number"),
    ("dim_in", "25", "whole number"),
    ("dim_in", math.nan, "whole number"),
    ("dim_in", None, "whole number"),
    ("dim_out", 0, "at least 1"),
    ("dim_out", math.inf, "whole number"),
    ("dim_out", "8", "whole number"),
    ("candidates", 1, "at least 2"),
    ("candidates", 2.5, "whole number"),
    ("candidates", True, "at least 2"),
    ("candidates", "all", "at least 2"),
    ("rank", 0, "at least 1"),
    ("rank", 9, "at most the smaller dimension, 8"),
    ("rank", 1.5, "whole number"),
    ("rank", "full", "whole number"),
    ("margin", -0.1, "at least 0"),
    ("margin", math.nan, "at least 0"),
    ("margin", math.inf, "at least 0"),
    ("margin", "wide", "at least 0"),
    ("margin", True, "at least 0"),
    ("margin", None, "at least 0"),
    ("tail_fraction", 0.0, "above 0 and at most 1"),
    ("tail_fraction", 1.01, "above 0 and at most 1"),
    ("tail_fraction", -0.2, "above 0 and at most 1"),
    ("tail_fraction", math.nan, "above 0 and at most 1"),
    ("tail_fraction", True, "above 0 and at most 1"),
    ("outputs", "coupled", "'shared' or 'decoupled'"),
    ("outputs", None, "'shared' or 'decoupled'"),
]


@pytest.mark.parametrize(("name", "value", "condition"), BAD, ids=str)
def test_bad_input_is_refused_by_name(name, value, condition):
    asked = {"dim_in": 8, "dim_out": 9, name: value}
    for question in (lambda: Setting(**asked), lambda: capacity(asked.pop("dim_in"), **asked)):
        if name == "dim_out" and value is None:
            continue
        with pytest.raises(ValueError, match="must be") as error:
            question()
        message = str(error.value)
        assert message.startswith(f"{name} = {value!r} must be ")
        assert condition in message
        assert message.rpartition(": ")[2]


def test_settings_are_frozen_and_comparable():
    assert Setting(8, 9) == Setting(8, 9)
    assert len({Setting(8, 9), Setting(8, 9), Setting(9, 8)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Setting(8, 9).rank = 2


# A linear program decides


def storable(rows):
    """Whether weights in a box reach a positive least margin, by HiGHS."""
    count, size = rows.shape
    found = optimize.linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.column_stack((-rows, np.ones(count))),
        b_ub=np.zeros(count),
        bounds=[(-1, 1)] * size + [(0, None)],
        method="highs",
    )
    assert found.status == 0
    return found.x[-1] > 1e-7


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


def check_threshold(thresholds, expected, finite_size):
    stderr = np.std(thresholds, ddof=1) / math.sqrt(len(thresholds))
    allowed = 4 * stderr + finite_size * expected
    assert np.mean(thresholds) == pytest.approx(expected, abs=allowed)
    assert allowed < 0.2 * expected


@pytest.mark.slow
def test_linear_program_with_outputs_of_its_own_for_each_input():
    dim, candidates = 7, 20
    expected = capacity(dim, candidates=candidates, outputs="decoupled").facts
    rng = np.random.default_rng(11)
    thresholds = []
    for _ in range(140):
        blocks = []
        for _ in range(int(1.8 * expected)):
            x, y = rng.standard_normal(dim), rng.standard_normal((candidates, dim))
            blocks.append(np.einsum("jk,l->jkl", y[0] - y[1:], x).reshape(candidates - 1, -1))
        thresholds.append(largest_storable(blocks))
    check_threshold(thresholds, expected, finite_size=0.03)


@pytest.mark.slow
def test_linear_program_with_three_shared_outputs():
    dim_in, dim_out = 12, 5
    expected = capacity(dim_in, dim_out, candidates=3).facts
    assert expected == pytest.approx(2 * dim_in / (5 / 6), rel=1e-12)
    rng = np.random.default_rng(12)
    thresholds = []
    for _ in range(120):
        y = rng.standard_normal((3, dim_out))
        blocks = []
        for _ in range(int(2 * expected)):
            x, target = rng.standard_normal(dim_in), rng.integers(3)
            gaps = y[target] - np.delete(y, target, axis=0)
            blocks.append(np.einsum("jk,l->jkl", gaps, x).reshape(2, -1))
        thresholds.append(largest_storable(blocks))
    check_threshold(thresholds, expected, finite_size=0.04)
