"""The price of facts whose outputs differ in length."""

from types import SimpleNamespace

import numpy as np
import pytest

from simonides.theory.capacity import capacity
from simonides.theory.cone import statistical_dimension
from simonides.theory.lengths import _costs, facts_that_fit, price

# Four standard errors: one false alarm in 16,000 checks, and seeds are fixed.
SIGMAS = 4


@pytest.mark.parametrize("candidates", [2, 3, 30, 300])
def test_equal_lengths_cost_what_theory_says(candidates):
    cost = price(np.full(5, 2.5), candidates, np.random.default_rng(0), samples=4000)
    assert abs(cost.value - statistical_dimension(candidates)) < SIGMAS * cost.stderr


def test_two_candidates_cost_half_a_parameter_whatever_their_lengths():
    # The cone is a half-space.
    cost = price(np.array([0.1, 1.0, 30.0]), 2, np.random.default_rng(1), samples=4000)
    assert abs(cost.value - 0.5) < SIGMAS * cost.stderr


def test_a_target_of_no_length_has_to_keep_every_rival_low():
    # Each of 40 rivals has to score below zero: half of them do not, at a mean square of one half each.
    drawn = iter((np.full((2000, 1), 1e-9), np.ones((2000, 40))))
    rng = SimpleNamespace(
        choice=lambda _lengths, _shape: next(drawn),
        standard_normal=np.random.default_rng(2).standard_normal,
    )
    cost = _costs(np.ones(1), 41, rng, 2000)
    assert abs(cost.mean() - 20) < SIGMAS * cost.std() / np.sqrt(len(cost))


@pytest.mark.slow
def test_a_crowd_of_short_ones_leaves_room_for_fewer_facts():
    even, uneven = np.ones(100), np.array([1.0] * 80 + [0.3] * 20)
    whole, less = (facts_that_fit(lengths, 30) for lengths in (even, uneven))
    assert abs(whole.value - capacity(30).facts) < SIGMAS * whole.stderr
    assert less.value < whole.value - 2 * SIGMAS * whole.stderr
