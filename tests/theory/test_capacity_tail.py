"""How many facts fit where a target need only beat the mean of its closest rivals."""

from __future__ import annotations

import pytest
from scipy import integrate, stats

from simonides import capacity


@pytest.mark.parametrize("fraction", [0.05, 0.02, 1e-6])
def test_averaging_a_single_rival_is_the_usual_criterion(fraction):
    tail = capacity(25, candidates=20, tail_fraction=fraction)
    top = capacity(25, candidates=20)
    assert tail.facts == pytest.approx(top.facts, abs=4 * tail.facts_stderr + 1e-9)
    assert tail.facts_stderr < 0.2 * top.facts


@pytest.mark.parametrize(("dim_in", "dim_out"), [(100, 100), (60, 200), (10**6, 10**6)])
def test_averaging_all_rivals_is_a_half_space(dim_in, dim_out):
    answer = capacity(dim_in, dim_out, tail_fraction=1.0)
    assert answer.facts == pytest.approx(2 * dim_in * dim_out, rel=1e-12)


def test_averaging_all_of_a_few_rivals_is_a_half_space_too():
    answer = capacity(12, candidates=30, tail_fraction=1.0)
    assert answer.facts == pytest.approx(288, abs=4 * answer.facts_stderr)


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
    answer = capacity(dim, tail_fraction=fraction)
    paid = answer.facts * answer.statistical_dimension
    # the number of rivals is whole, and the price of each number is sampled anew
    slack = 4 * answer.facts_stderr / answer.facts + 1 / answer.facts
    assert paid == pytest.approx(answer.effective_parameters, rel=slack)
    if fraction * answer.facts <= 1:
        top = capacity(dim).facts
        assert answer.facts == pytest.approx(top, abs=4 * answer.facts_stderr + 0.5)


@pytest.mark.parametrize(("dim", "fraction"), [(2, 0.01), (2, 0.001), (3, 0.01)])
def test_the_smallest_matrices_average_a_single_rival(dim, fraction):
    # fewer than 1/fraction facts compete, so the criterion is the usual one
    assert capacity(dim, tail_fraction=fraction).facts == pytest.approx(
        capacity(dim).facts, rel=0.1
    )
