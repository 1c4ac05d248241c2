"""How many facts fit as sizes grow: limits, and what stores more than what."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, special

from simonides import capacity

few = settings(max_examples=3, deadline=None, derandomize=True)


# Limits


def test_load_tends_to_one_half_as_slowly_as_a_logarithm():
    dims = [25, 100, 400, 1024, 4096, 10**6]
    answers = [capacity(dim) for dim in dims]
    loads = np.array([c.load for c in answers])
    logs = np.log([c.facts for c in answers])
    assert np.all(np.diff(loads) < 0)
    assert np.all(loads > 0.5)
    for c in answers:
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
    answer = capacity(300, candidates=1000)
    assert answer.facts_asymptotic == pytest.approx(300**2 / (2 * math.log(1000)), rel=1e-12)


def test_finite_size_excess_over_the_asymptotic_law_shrinks():
    ratios = [c.facts / c.facts_asymptotic for c in map(capacity, (50, 400, 4096, 10**6))]
    assert np.all(np.diff(ratios) < 0)
    assert ratios[-1] > 1


def test_low_rank_stores_twice_as_many_facts_per_parameter():
    dim, rank = 10**6, 4
    # Shared outputs fit in two directions as long as they are independent, whatever they cost.
    assert capacity(dim, rank=rank).facts == dim
    low, full = capacity(dim, rank=rank, problem="decoupled"), capacity(dim)
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
        capacity(30, candidates=candidates, margin=c, problem="decoupled").facts
        for c in (margin, margin + more)
    )
    assert wide < narrow


@pytest.mark.slow
@given(st.integers(20, 400), st.floats(0.02, 0.9), st.floats(0.05, 0.1))
@settings(max_examples=6, deadline=None, derandomize=True)
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
        capacity(20, candidates=k, problem="decoupled").facts for k in (candidates, candidates + 1)
    )
    assert many < few_
