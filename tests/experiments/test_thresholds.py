"""Thresholds of many instances: the same whoever measures them, with the error of their mean."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from simonides import OriginalProblem, capacity
from simonides.experiments.thresholds import Thresholds, measure_thresholds
from simonides.failures import BadArgumentError
from simonides.solvers.deciding.threshold import threshold


@pytest.mark.slow
def test_each_instance_follows_from_its_seed():
    expected = [
        threshold(lambda facts: OriginalProblem.gaussian(facts, 6, seed=seed), guess=14).facts  # noqa: B023
        for seed in (3, 4, 5)
    ]
    told = []
    measured = measure_thresholds(6, instances=3, seed=3, workers=2, watch=told.append)
    assert list(measured.facts) == expected
    assert measured.theory == capacity(6).facts
    assert [len(part.facts) for part in told] == [1, 2, 3]
    assert told[-1].facts == measured.facts
    assert measure_thresholds(6, instances=1, seed=5, workers=1).facts == measured.facts[2:]


def test_the_mean_has_its_standard_error():
    measured = measure_thresholds(5, instances=4, workers=1)
    assert measured.mean.value == np.mean(measured.facts)
    assert measured.mean.stderr == pytest.approx(np.std(measured.facts, ddof=1) / 2)
    assert math.isinf(Thresholds(measured.measured[:1], measured.theory).mean.stderr)


@pytest.mark.slow
def test_invertible_maps_and_lengths_of_keys_change_nothing():
    plain = measure_thresholds(5, instances=3, workers=1)
    assert measure_thresholds(5, ensemble="correlated", instances=3, workers=1).facts == plain.facts


@pytest.mark.slow
def test_the_problem_the_rank_and_the_candidates_are_heeded():
    plain = measure_thresholds(5, instances=2, workers=1)
    for options in (
        {"problem": "decoupled"},
        {"rank": 1},
        {"candidates": 30},
        {"dim_out": 4},
        {"ensemble": "balanced", "candidates": 5},
    ):
        other = measure_thresholds(5, **options, instances=2, workers=1)
        assert other.facts != plain.facts, options


@pytest.mark.slow
def test_an_interrupt_leaves_what_was_measured_with_the_watcher():
    told = []

    def watch(measured):
        told.append(measured)
        if len(told) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_thresholds(6, instances=50, workers=1, watch=watch)
    assert [len(part.facts) for part in told] == [1, 2]


@pytest.mark.slow
def test_out_of_time_the_first_instances_are_the_answer():
    measured = measure_thresholds(5, instances=3, workers=1, time_limit=0)
    assert (measured.facts, measured.timed_out) == ((), True)
    assert math.isnan(measured.mean.value)
    whole = measure_thresholds(5, instances=2, workers=1, time_limit=600)
    assert whole.facts == measure_thresholds(5, instances=2, workers=1).facts
    assert not whole.timed_out


def test_any_thread_may_measure():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(measure_thresholds, 5, instances=1, workers=1).result().facts


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"instances": 0}, "instances = 0"),
        ({"workers": 0}, "workers = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"time_limit": -1}, "time_limit = -1"),
        ({"rank": 9}, "rank = 9"),
        ({"ensemble": "zipf"}, "candidates = None"),
        ({"dim_in": 10**12}, "memory"),
    ],
)
def test_what_cannot_be_measured_is_refused(options, said):
    with pytest.raises(BadArgumentError, match=said):
        measure_thresholds(**{"dim_in": 5, **options})
