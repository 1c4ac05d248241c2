"""The search for the largest number of facts that is learnt, with learners made up."""

import pytest

from examples.learning import LEARNT, Effort, Lesson, most_learnt


class MadeUp:
    """Learns so many facts and not more, and remembers what it was asked."""

    def __init__(self, able):
        self.able, self.asked_for = able, []

    def __call__(self, facts):
        self.asked_for.append(facts)
        recalled = facts if facts <= self.able else int(0.9 * LEARNT * facts)
        return Lesson(facts, recalled, steps=10, cycles=1)


@pytest.mark.parametrize("able", [1, 2, 7, 100, 1234])
@pytest.mark.parametrize("guess", [1, 5, 90, 1234, 5000])
def test_the_largest_number_is_met_within_the_precision(able, guess):
    learner = MadeUp(able)
    best = most_learnt(learner, guess, 8000)
    assert best.facts <= able <= max(best.facts, 1.05 * best.facts)
    assert best.facts in learner.asked_for
    assert len(set(learner.asked_for)) == len(learner.asked_for)


@pytest.mark.parametrize("precision", [0.01, 0.2])
def test_a_coarser_search_asks_less(precision):
    learner = MadeUp(1000)
    best = most_learnt(learner, 900, 8000, precision=precision)
    assert best.facts <= 1000 <= (1 + precision) * best.facts
    assert len(learner.asked_for) <= {0.01: 7, 0.2: 3}[precision]


def test_who_learns_nothing_has_learnt_none():
    learner = MadeUp(0)
    assert most_learnt(learner, 300, 8000) is None
    assert learner.asked_for[-1] == 1
    assert most_learnt(MadeUp(4), 300, 8000, least=5) is None
    assert most_learnt(MadeUp(5), 300, 8000, least=5).facts == 5
    assert most_learnt(MadeUp(5), 2, 3, least=5).facts == 3


@pytest.mark.parametrize("guess", [1, 30, 40, 900])
def test_who_learns_all_is_asked_no_more_than_there_is(guess):
    learner = MadeUp(10**9)
    assert most_learnt(learner, guess, 40).facts == 40
    assert max(learner.asked_for) == 40


def test_a_share_of_the_facts_is_enough():
    assert Lesson(200, 198, 1, 1).learnt
    assert not Lesson(200, 197, 1, 1).learnt


def test_a_cycle_has_steps_for_every_fact_and_some_at_least():
    effort = Effort(batch=64, visits=100, steps=500)
    assert effort.cycle_steps(10) == 500
    assert effort.cycle_steps(641) == 1100
