"""Threads: one pool at a time, blocks by size alone, and the same bits whatever their number."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from program import PATIENCE
from threadpoolctl import threadpool_info, threadpool_limits

from simonides.failures import BadArgumentError
from simonides.problems import kernels as problem_kernels
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.problems.scan import Screen
from simonides.solvers.deciding.decide import decide
from simonides.solvers.hinge import kernels as solver_kernels
from simonides.solvers.hinge.feasibility import feasibility
from simonides.solvers.hinge.low_rank import low_rank
from simonides.solvers.hinge.margin import maximum_margin
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.solvers.training.gradient import gradient
from simonides.threads import available_threads, blocks, crew, in_turn

KINDS = {"original": OriginalProblem, "decoupled": DecoupledProblem}


def matrix_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two():
    """The matrix library set to two threads, whatever the environment says."""
    with threadpool_limits(2, user_api="blas"):
        if matrix_threads() != {2}:
            pytest.skip("the matrix library has no threads to set")
        yield


@pytest.mark.parametrize("count", [None, 1, 2, 5])
def test_a_crew_maps_in_order(count):
    with crew(count) as each:
        assert list(each(lambda value: value**2, range(50))) == [k**2 for k in range(50)]


def _meet(barrier, _):
    barrier.wait()
    return threading.get_ident()


def test_a_crew_has_as_many_threads_as_asked_for():
    # Each worker waits for the others: too few, and the barrier breaks.
    for count in (2, 4):
        barrier = threading.Barrier(count, timeout=PATIENCE)
        meet = partial(_meet, barrier)
        with crew(count) as each:
            seen = set(each(meet, range(count)))
        assert len(seen) == count
        assert threading.get_ident() in seen  # who asks works too
    with crew(1) as each:
        assert set(each(lambda _: threading.get_ident(), range(9))) == {threading.get_ident()}


@pytest.mark.parametrize("count", [1, 2])
def test_the_matrix_library_keeps_to_one_thread(two, count):
    with crew(count) as each:
        assert matrix_threads() == {1}
        assert list(each(lambda _: matrix_threads(), range(3))) == [{1}] * 3
    assert matrix_threads() == {2}


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_the_matrix_library_is_restored_after_an_error(two, count, error):
    with pytest.raises(error), crew(count):
        raise error
    assert matrix_threads() == {2}

    def fail(_):
        raise error

    with pytest.raises(error), crew(count) as each:
        list(each(fail, range(3)))
    assert matrix_threads() == {2}


def test_no_thread_outlives_its_crew():
    before = threading.active_count()
    with crew(3) as each:
        list(each(abs, range(9)))
    assert threading.active_count() == before


def test_crews_may_be_nested(two):
    with crew(2) as outer:
        with crew(2) as inner:
            assert list(inner(abs, [-1])) == list(outer(abs, [-1])) == [1]
            assert matrix_threads() == {1}
        assert matrix_threads() == {1}
    assert matrix_threads() == {2}


def test_threads_by_default_are_those_of_the_matrix_library(two):
    assert available_threads() == 2
    with threadpool_limits(1, user_api="blas"):
        assert available_threads() == 1
    with crew() as each:
        assert each is not map
        assert available_threads() == 1


def test_long_work_is_done_two_at_a_time_and_answers_keep_their_order(two):
    meeting = threading.Barrier(2, timeout=PATIENCE)

    def work(item):
        meeting.wait()  # alone it would wait in vain
        return item, matrix_threads()

    assert in_turn(work, range(6)) == [(item, {1}) for item in range(6)]
    assert matrix_threads() == {2}


def test_an_error_drops_long_work_not_begun(two, monkeypatch):
    begun, closing, shutdown = [], threading.Event(), ThreadPoolExecutor.shutdown

    def close(pool, *arguments, **options):
        closing.set()
        shutdown(pool, *arguments, **options)

    def work(item):
        begun.append(item)
        if item > 0:
            assert closing.wait(timeout=PATIENCE)
        raise ValueError(f"item {item}")

    monkeypatch.setattr(ThreadPoolExecutor, "shutdown", close)
    with pytest.raises(ValueError, match="item 0"):
        in_turn(work, range(100))
    assert len(begun) <= 3  # the first, and one more on each of two threads
    assert matrix_threads() == {2}


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", True, np.nan])
def test_impossible_numbers_of_threads_are_named(two, count):
    with pytest.raises(BadArgumentError, match="threads = "), crew(count):
        pass
    with pytest.raises(BadArgumentError, match="threads = "):
        feasibility(OriginalProblem.gaussian(4, 3, seed=0), threads=count)
    assert matrix_threads() == {2}


@pytest.mark.parametrize("rows", [1, 2, 255, 256, 511, 512, 513, 1000, 4096, 8191, 8192, 100_003])
def test_blocks_partition_the_rows(rows):
    parts = blocks(rows)
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(rows))
    sizes = [part.stop - part.start for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert len(parts) in {1, 2, 4, 8, 16}
    assert len(parts) == 1 or min(sizes) >= 256


def test_blocks_depend_on_the_size_alone(two):
    expected = blocks(5000)
    for count in (1, 2, 3):
        with crew(count):
            assert blocks(5000) == expected


@pytest.mark.parametrize(
    "name",
    ["close", "gaps_and_spans", "share_slack", "pull", "curve"],
    ids=lambda name: name,
)
def test_compiled_loops_have_no_threads_of_their_own(name):
    loop = getattr(problem_kernels, name, None) or getattr(solver_kernels, name)
    assert not loop.targetoptions.get("parallel", False)
    assert loop.targetoptions["nogil"]


SOLVERS = {
    "feasibility": feasibility,
    "low_rank": partial(low_rank, rank=3, max_steps=20),
    "margin": partial(maximum_margin, gap=0.1),
    "decide": decide,
    "cross_entropy": partial(cross_entropy, max_steps=5),
    "gradient": partial(gradient, max_steps=5),
}


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_two_pools_never_fight(two, kind, solver):
    """While a solver works, the matrix library has one thread, and afterwards its own again."""
    problem, seen = KINDS[kind].gaussian(20, 6, candidates=20, seed=0), []
    SOLVERS[solver](problem, threads=2, watch=lambda _: seen.append(matrix_threads()))
    assert seen
    assert all(pools == {1} for pools in seen)
    assert matrix_threads() == {2}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_a_solver_that_ends_early_leaves_no_threads_and_no_limit(two, solver, error, monkeypatch):
    monkeypatch.setattr("simonides.threads._LEAST_ROWS", 4)  # something for both threads to do
    problem, before = OriginalProblem.gaussian(20, 6, seed=0), threading.active_count()

    def watch(_):
        raise error

    with pytest.raises(RuntimeError) if error is RuntimeError else nullcontext():
        SOLVERS[solver](problem, threads=2, watch=watch)
    assert matrix_threads() == {2}
    assert threading.active_count() == before


def test_every_pass_of_a_solver_keeps_to_one_pool(two, monkeypatch):
    # Not only where it is watched: what workers see while they pass over rivals.
    seen, close = [], Screen.close

    def looking(*arguments):
        seen.append((matrix_threads() == {1}, threading.get_ident()))
        return close(*arguments)

    monkeypatch.setattr(Screen, "close", looking)
    monkeypatch.setattr("simonides.problems.scan._BLOCK_BYTES", 2**10)
    problem = DecoupledProblem.gaussian(60, 6, candidates=20, seed=0)
    feasibility(problem, threads=2, max_steps=5)
    assert all(single for single, _ in seen)
    assert len({worker for _, worker in seen}) == 2


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("facts", [1100, 1700])
def test_the_number_of_threads_changes_no_bit(kind, facts, monkeypatch):
    # Several blocks, both verdicts; in the passes, in the gradient and in the curvature.
    problem = KINDS[kind].gaussian(facts, 16, candidates=8, seed=2)
    monkeypatch.setattr("simonides.threads._LEAST_ROWS", 256)
    assert len(blocks(facts)) > 3
    alone, *others = (feasibility(problem, threads=count, max_steps=30) for count in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(other.weights, alone.weights)
        assert (other.status, other.steps, other.recalled) == (
            alone.status,
            alone.steps,
            alone.recalled,
        )
        assert other.smallest_gap == alone.smallest_gap
        assert [step.objective for step in other.history] == [s.objective for s in alone.history]
        if alone.multipliers is not None:
            np.testing.assert_array_equal(other.multipliers.values, alone.multipliers.values)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_number_of_threads_changes_no_bit_of_factors_and_margins(kind):
    problem = KINDS[kind].gaussian(600, 12, candidates=3, seed=2)
    alone, *others = (low_rank(problem, 6, threads=count, max_steps=6) for count in (1, 2, 3))
    for other in others:
        for left, right in zip(alone.factors, other.factors, strict=True):
            np.testing.assert_array_equal(left, right)
        assert other.status is alone.status
    few = problem.prefix(520 if kind == "original" else 60)
    alone, *others = (maximum_margin(few, threads=count, max_steps=8) for count in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(other.weights, alone.weights)
        assert (other.margin_lower, other.margin_upper) == (alone.margin_lower, alone.margin_upper)
