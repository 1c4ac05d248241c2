"""Measured capacity: bisection against a count one by one, and against theory."""

from __future__ import annotations

import numpy as np
import pytest

from simonides import DecoupledProblem, OriginalProblem, capacity, decide
from simonides.failures import BadArgumentError
from simonides.solvers.threshold import threshold

KINDS = {"original": OriginalProblem, "decoupled": DecoupledProblem}


def drawn(kind, dim, seed, candidates=None):
    return lambda facts: KINDS[kind].gaussian(facts, dim, candidates=candidates, seed=seed)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("guess", [1, 5, 11, 60])
def test_any_guess_leads_to_the_last_number_that_fits(kind, guess):
    draw = drawn(kind, 5, seed=1)
    one_by_one = 1
    while str(decide(draw(one_by_one + 1)).verdict) == "storable":
        one_by_one += 1
    found = threshold(draw, guess)
    assert (found.facts, found.open) == (one_by_one, 0)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_drawn_problem_is_a_prefix_of_a_larger_one(kind):
    # This is what makes bisection over freshly drawn problems one over nested facts.
    small, large = drawn(kind, 4, seed=3)(6), drawn(kind, 4, seed=3)(20)
    assert small.fingerprint() == large.prefix(6).fingerprint()
    np.testing.assert_array_equal(small.inputs, large.inputs[:6])


def test_nothing_fits():
    # Two facts with the same input and different outputs; the first alone fits.
    def draw(facts):
        return OriginalProblem(
            np.ones((max(facts, 2), 1))[:facts], [[1.0], [2.0], [3.0]], [1] * facts
        )

    assert threshold(draw, 2).facts == 0


def test_a_failed_search_at_bounded_rank_is_left_open():
    found = threshold(drawn("original", 8, seed=0), 8, rank=1)
    assert 0 < found.facts < threshold(drawn("original", 8, seed=0), 20).facts
    assert found.open >= 1


def test_every_number_tried_is_reported():
    seen = []
    found = threshold(
        drawn("original", 6, seed=0), 12, watch=lambda facts, verdict: seen.append((facts, verdict))
    )
    assert len(seen) == found.decisions
    assert (found.facts, "storable") in seen
    assert (found.facts + 1, "not-storable") in seen


@pytest.mark.parametrize("guess", [0, -3, np.nan, "many"])
def test_a_bad_guess_is_refused(guess):
    with pytest.raises(BadArgumentError, match="guess"):
        threshold(drawn("original", 4, seed=0), guess)


@pytest.mark.slow
def test_decoupled_thresholds_follow_theory():
    theory = capacity(20, outputs="decoupled").facts
    found = np.array([threshold(drawn("decoupled", 20, seed), theory).facts for seed in range(40)])
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - theory) < 3 * error + 0.01 * theory


@pytest.mark.slow
def test_original_thresholds_lie_a_little_above_theory():
    theory = capacity(20).facts
    found = np.array([threshold(drawn("original", 20, seed), theory).facts for seed in range(40)])
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert 1.01 * theory - 3 * error < found.mean() < 1.03 * theory + 3 * error
