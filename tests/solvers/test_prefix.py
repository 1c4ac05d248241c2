"""Far beyond capacity: a proof from the first facts, and memory that does not follow all pairs."""

import tracemalloc

import numpy as np
import pytest

from simonides import DecoupledProblem, OriginalProblem, decide
from simonides.certificate import verify
from simonides.failures import BadArgumentError
from simonides.solvers.deciding.prefix import telling_prefix
from simonides.solvers.solution import Verdict

BOTH = pytest.mark.parametrize("kind", [OriginalProblem, DecoupledProblem])


@BOTH
@pytest.mark.parametrize("candidates", [None, 2, 40])
def test_the_load_of_a_telling_prefix(kind, candidates):
    problem = kind.gaussian(3000, 9, 7, candidates=candidates, seed=0)
    few = telling_prefix(problem)
    load = few.facts * np.log(few.candidates) / (9 * 7)
    assert load == pytest.approx(2, rel=1.5 / few.facts)
    assert few.candidates == (few.facts if candidates is None else candidates)


@BOTH
def test_near_capacity_there_is_none(kind):
    assert telling_prefix(kind.gaussian(120, 20, seed=0)) is None


@BOTH
def test_the_proof_is_about_all_facts(kind):
    problem = kind.gaussian(700, 8, seed=3)
    decision = decide(problem)
    assert decision.verdict is Verdict.NOT_STORABLE
    assert decision.certificate.fingerprint == problem.fingerprint()
    assert verify(decision.certificate, problem).valid
    assert decision.certificate.pair_facts.max() < telling_prefix(problem).facts
    assert decision.told_by == telling_prefix(problem).facts
    # The solution speaks of all facts, though its weights come from the first.
    recall = problem.recall(problem.images(decision.solution.weights))
    assert decision.solution.recalled == recall.recalled
    assert decision.solution.smallest_gap == recall.smallest_gap


def test_structure_is_still_found():
    """Facts that one matrix made can be stored however many they are."""
    rng = np.random.default_rng(4)
    outputs = rng.standard_normal((12, 6))
    outputs /= np.linalg.norm(outputs, axis=1)[:, None]
    inputs = rng.standard_normal((900, 6))
    scores = np.sort(inputs @ outputs.T, axis=1)
    clear = scores[:, -1] - scores[:, -2] > 0.2
    inputs = inputs[clear]
    problem = OriginalProblem(inputs, outputs, (inputs @ outputs.T).argmax(axis=1))
    assert telling_prefix(problem) is not None
    assert decide(problem).verdict is Verdict.STORABLE


def test_memory_does_not_follow_all_pairs():
    problem = OriginalProblem.gaussian(6000, 10, seed=0)
    decide(problem.prefix(50))
    tracemalloc.start()
    assert decide(problem, threads=1).verdict is Verdict.NOT_STORABLE
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000**2 * 8  # one number for every pair; most pairs are broken


def test_a_rank_bound_asks_the_first_facts_too():
    problem = OriginalProblem.gaussian(6000, 10, seed=0)
    tracemalloc.start()
    decision = decide(problem, rank=3, threads=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert decision.verdict is Verdict.NOT_STORABLE
    assert verify(decision.certificate, problem).valid
    assert peak < 6000**2 * 8


@pytest.mark.parametrize("gap", [0.0, -1.0, 2.0])
def test_a_gap_is_refused_also_where_it_is_not_needed(gap):
    with pytest.raises(BadArgumentError, match="margin_gap"):
        decide(OriginalProblem.gaussian(300, 5, seed=0), margin_gap=gap)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, 1.0, 2.0])
def test_a_tolerance_that_means_nothing_is_refused(tolerance):
    for rank in (None, 2):
        with pytest.raises(BadArgumentError, match="tolerance"):
            decide(OriginalProblem.gaussian(30, 5, seed=0), rank, tolerance=tolerance)
