"""Measured capacity: bisection against a count one by one, and against theory."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from definition import BOTH, KINDS
from keyboard import interrupt

from simonides import OriginalProblem, capacity, decide
from simonides.failures import BadArgumentError
from simonides.problems.scan import Screen
from simonides.solvers.deciding.threshold import threshold


def drawn(kind, dim, seed, candidates=None):
    return lambda facts: KINDS[kind].gaussian(facts, dim, candidates=candidates, seed=seed)


@cache
def one_by_one(kind):
    """Return how many facts fit, none left out."""
    draw, facts = drawn(kind, 4, seed=1), 1
    while str(decide(draw(facts + 1)).verdict) == "storable":
        facts += 1
    return facts


@BOTH
@pytest.mark.parametrize("guess", [1, 5, 11, 60])
def test_any_guess_leads_to_the_last_number_that_fits(kind, guess):
    limit = threshold(drawn(kind, 4, seed=1), guess)
    assert (limit.facts, limit.open) == (one_by_one(kind), 0)


@BOTH
def test_a_drawn_problem_is_a_prefix_of_a_larger_one(kind):
    # This is what makes bisection over freshly drawn problems one over nested facts.
    small, large = drawn(kind, 4, seed=3)(6), drawn(kind, 4, seed=3)(20)
    assert small.fingerprint() == large.prefix(6).fingerprint()
    np.testing.assert_array_equal(small.inputs, large.inputs[:6])


@pytest.mark.parametrize("guess", [1, 2, 9])
def test_nothing_fits(guess):
    # Every fact wants the output that lies between the two others: none can be stored, not even one.
    def draw(facts):
        return OriginalProblem(np.ones((facts, 1)), [[1.0], [2.0], [3.0]], [1] * facts)

    limit = threshold(draw, guess)
    assert (limit.facts, limit.open) == (0, 0)


@pytest.mark.slow
def test_a_failed_search_at_bounded_rank_is_left_open():
    limit = threshold(drawn("original", 8, seed=0), 8, rank=1)
    assert 0 < limit.facts < threshold(drawn("original", 8, seed=0), 20).facts
    assert limit.open >= 1


def test_every_number_tried_is_reported():
    seen = []
    limit = threshold(
        drawn("original", 5, seed=0), 9, watch=lambda facts, verdict: seen.append((facts, verdict))
    )
    assert len(seen) == limit.decisions
    assert (limit.facts, "storable") in seen
    assert (limit.facts + 1, "not-storable") in seen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "rank"), [("original", None), ("decoupled", None), ("original", 2)]
)
def test_an_interruption_at_any_pass_ends_the_search(kind, rank, monkeypatch):
    # A decision ends in order where it is interrupted, and must not be taken for a number that fails.
    draw, finish, passes = drawn(kind, 4, seed=1), Screen.finish, []

    def interrupted_at(number):
        def counting(*arguments):
            passes.append(number)
            if len(passes) == number:
                raise KeyboardInterrupt
            return finish(*arguments)

        passes.clear()
        monkeypatch.setattr(Screen, "finish", counting)

    interrupted_at(None)
    whole, tried = threshold(draw, 4, rank=rank), []
    assert whole.decisions > 3
    for number in np.linspace(1, len(passes), 5).astype(int).tolist():
        interrupted_at(number)
        tried.clear()
        with pytest.raises(KeyboardInterrupt):
            threshold(draw, 4, rank=rank, watch=lambda facts, verdict: tried.append(facts))
        assert len(passes) <= number + 1  # one more at most, for the best so far
        assert len(tried) < whole.decisions


def test_an_interruption_of_the_watcher_is_passed_on():
    def watch(facts, verdict):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        threshold(drawn("original", 4, seed=0), 5, watch=watch)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_a_signal_from_the_keyboard_ends_the_search_at_once(threads):
    code = f"""
        from simonides.problems.original import OriginalProblem
        from simonides.solvers.deciding.threshold import threshold
        def draw(facts):
            print(facts, flush=True)
            return OriginalProblem.gaussian(facts, 100, seed=0)
        try:
            threshold(draw, 1300, threads={threads})
        except KeyboardInterrupt:
            print("interrupted", threading.active_count())
        else:
            print("found")
    """
    printed = interrupt(code, after=2).splitlines()
    assert printed[-1] == "interrupted 1"
    assert len(printed) <= 5  # at most two numbers later, were one decided meanwhile


@pytest.mark.parametrize("guess", [0, -3, np.nan, "many"])
def test_a_bad_guess_is_refused(guess):
    with pytest.raises(BadArgumentError, match="guess"):
        threshold(drawn("original", 4, seed=0), guess)


@pytest.mark.slow
def test_decoupled_thresholds_follow_theory():
    theory = capacity(20, problem="decoupled").facts
    facts = np.array([threshold(drawn("decoupled", 20, seed), theory).facts for seed in range(12)])
    error = facts.std(ddof=1) / np.sqrt(len(facts))
    assert abs(facts.mean() - theory) < 3 * error + 0.01 * theory


@pytest.mark.slow
def test_original_thresholds_lie_a_little_above_theory():
    theory = capacity(20).facts
    facts = np.array([threshold(drawn("original", 20, seed), theory).facts for seed in range(10)])
    error = facts.std(ddof=1) / np.sqrt(len(facts))
    assert 1.01 * theory - 3 * error < facts.mean() < 1.03 * theory + 3 * error


@pytest.mark.parametrize("guess", [4, 9])
def test_a_search_that_runs_out_of_facts_says_what_to_pass(guess):
    few = OriginalProblem.gaussian(8, 6, seed=0)
    with pytest.raises(BadArgumentError, match=r"most = None .* most=problem\.facts"):
        threshold(few.prefix, guess)
    with pytest.raises(BadArgumentError, match="facts = 9 must be at most 8"):
        threshold(few.prefix, 9, most=20)


@pytest.mark.slow
@pytest.mark.parametrize("guess", [1, 6, 500])
def test_a_limited_number_of_facts(guess):
    """All of a problem's facts may be too few to find the threshold in."""
    whole = OriginalProblem.gaussian(40, 5, seed=0)
    expected = threshold(lambda facts: OriginalProblem.gaussian(facts, 5, seed=0), 9).facts
    assert threshold(whole.prefix, guess, most=40).facts == expected < 40
    few = whole.prefix(8)
    assert threshold(few.prefix, guess, most=8).facts == 8
