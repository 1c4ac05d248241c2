"""The screened pass: no close pair is ever missed, whatever the sizes, and leads are exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simonides import threads
from simonides.problems import original as original_module
from simonides.problems import scan as scan_module
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.problems.scan import Pairs, Recall, Screen, pointers, row_blocks
from simonides.threads import crew


@dataclass(frozen=True, eq=False)
class Given(DecoupledProblem):
    """A decoupled problem with given rivals, (facts, candidates - 1, dim_out)."""

    given: object = None

    def rivals_of(self, rows):
        return self.given[rows]


def as_decoupled(problem, dtype):
    """The same contests, each fact with its own copy of the outputs."""
    rivals = np.array([problem.competitors(i)[1] for i in range(problem.facts)]).astype(dtype)
    made = Given(
        problem.facts, problem.dim_in, problem.dim_out, problem.candidates, 0, given=rivals
    )
    made.__dict__["target_outputs"] = problem.target_outputs
    return made


def dense(problem, images):
    """Gaps of all pairs, and their sizes, in double precision, by the definition."""
    gaps, sizes = {}, {}
    for fact in range(problem.facts):
        own = problem.target_outputs[fact]
        numbers, vectors = problem.competitors(fact)
        for number, vector in zip(numbers.tolist(), vectors, strict=True):
            gaps[fact, number] = float((own - vector) @ images[fact])
            sizes[fact, number] = float(np.sqrt(own @ own + vector @ vector))
    return gaps, sizes


def assert_agrees_with_dense(problem, images, threshold):
    """Compare a scan with dense arithmetic; pairs that rounding cannot tell may go either way."""
    scan = problem.scan(images, threshold)
    gaps, sizes = dense(problem, images)
    pairs = list(zip(scan.pairs.facts.tolist(), scan.pairs.rivals.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    # A gap is a sum of dim_out products: off by so much per unit of size, at most.
    blur = 4 * (problem.dim_out + 4) * 2.0**-53
    unsure = {
        pair: size * (blur * float(np.linalg.norm(images[pair[0]])) + 1e-15 * threshold)
        for pair, size in sizes.items()
    }
    certain = {p for p, gap in gaps.items() if gap < threshold * sizes[p] - unsure[p]}
    possible = {p for p, gap in gaps.items() if gap <= threshold * sizes[p] + unsure[p]}
    assert certain <= set(pairs) <= possible
    for pair, gap, size in zip(pairs, scan.gaps, scan.sizes, strict=True):
        assert abs(gap - gaps[pair]) <= unsure[pair]
        assert size == pytest.approx(sizes[pair], rel=1e-13)
    losers = {fact for (fact, _), gap in gaps.items() if gap <= 0}
    ties = {pair[0] for pair, gap in gaps.items() if abs(gap) <= unsure[pair]}
    lost = problem.facts - scan.recalled
    assert len(losers - ties) <= lost <= len(losers | ties)
    return scan


THRESHOLDS = [1e-6, 0.01, 1.0, 30.0]


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("size", [1e-8, 1e-2, 1.0, 1e3, 1e6, 1e12])
def test_images_of_any_size(size, threshold):
    problem = OriginalProblem.gaussian(20, 6, 5, seed=0)
    images = size * np.random.default_rng(1).standard_normal((20, 5))
    assert_agrees_with_dense(problem, images, threshold)
    assert_agrees_with_dense(as_decoupled(problem, np.float64), images, threshold)
    assert_agrees_with_dense(DecoupledProblem.gaussian(20, 6, 5, seed=0), images, threshold)


@pytest.mark.parametrize("decades", [2, 10, 16, 40, 69])
def test_outputs_of_very_different_lengths(decades):
    rng = np.random.default_rng(decades)
    problem = OriginalProblem.gaussian(20, 6, 5, seed=0)
    lengths = 10 ** rng.uniform(-decades, decades, (20, 1))
    lengths[:2, 0] = 10.0**-decades, 10.0**decades
    wide = OriginalProblem(problem.inputs, problem.outputs * lengths / 10)
    for threshold in THRESHOLDS:
        assert_agrees_with_dense(wide, rng.standard_normal((20, 5)), threshold)
        # The sizes at which leads are about the threshold, and single precision still sharp.
        assert_agrees_with_dense(wide, threshold * rng.standard_normal((20, 5)), threshold)


@pytest.mark.parametrize("closeness", [1e-3, 1e-6, 1e-8, 1e-12, 1e-15])
def test_outputs_that_nearly_agree(closeness):
    rng = np.random.default_rng(3)
    centre = rng.standard_normal(5)
    outputs = centre + closeness * rng.standard_normal((12, 5))
    outputs[6:] = rng.standard_normal((6, 5))
    problem = OriginalProblem(rng.standard_normal((12, 4)), outputs)
    for threshold in THRESHOLDS:
        for size in (threshold, 1.0, 1e3):
            assert_agrees_with_dense(problem, size * rng.standard_normal((12, 5)), threshold)


@pytest.mark.parametrize("dim", [1, 2, 7, 40, 1000])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_a_pair_at_the_very_threshold_is_found_by_the_screen(precision, dim, monkeypatch):
    # Opposite outputs of equal length are the worst case: no image can be shorter for its gap.
    rng = np.random.default_rng(dim)
    if precision is np.float64:
        monkeypatch.setattr(scan_module, "_TOLERABLE_BLUR", 0.0)
    trials = 200 if dim < 100 else 20
    outputs = rng.standard_normal((trials, dim)) * 10 ** rng.uniform(-3, 3, (trials, 1))
    rivals = -outputs * 10 ** (rng.uniform(-2, 2, (trials, 1)) * rng.integers(0, 2, (trials, 1)))
    differences = outputs - rivals
    sizes = np.sqrt(np.sum(outputs**2 + rivals**2, axis=1, keepdims=True))
    images = differences * sizes / np.sum(differences**2, axis=1, keepdims=True)
    finish, screened = Screen.finish, []

    def counting(screen, images, targets, pairs, *rest):
        screened.append((screen.precision, len(pairs)))
        return finish(screen, images, targets, pairs, *rest)

    monkeypatch.setattr(Screen, "finish", counting)
    for k in range(trials):
        problem = OriginalProblem(np.ones((1, 1)), [outputs[k], rivals[k]], [0])
        problem_of_its_own = as_decoupled(problem, np.float64)
        for each in (problem, problem_of_its_own):
            screened.clear()
            each.scan(images[k : k + 1], 1.0)
            assert screened == [(precision, 1)]


def test_both_precisions_find_the_same(monkeypatch):
    problem = OriginalProblem.gaussian(60, 8, 7, seed=5)
    images = np.random.default_rng(5).standard_normal((60, 7))
    lengths = problem._length_range
    assert Screen.of(images, 1.0, lengths).precision is np.float32
    single = problem.scan(images, 1.0)
    monkeypatch.setattr(scan_module, "_TOLERABLE_BLUR", 0.0)
    assert Screen.of(images, 1.0, lengths).precision is np.float64
    double = problem.scan(images, 1.0)
    np.testing.assert_array_equal(single.pairs.rivals, double.pairs.rivals)
    np.testing.assert_array_equal(single.pairs.pointer, double.pairs.pointer)
    np.testing.assert_array_equal(single.gaps, double.gaps)
    assert single.recalled == double.recalled


def test_single_precision_is_left_where_it_cannot_hold_the_scores():
    images = np.ones((1, 3))
    assert Screen.of(images, 1.0, (1e-3, 1e3)).precision is np.float32
    assert Screen.of(images, 1.0, (1e-30, 1e3)).precision is np.float64
    assert Screen.of(images, 1.0, (1e-3, 1e30)).precision is np.float64
    assert Screen.of(images, 1e-7, (1.0, 1.0)).precision is np.float64
    assert Screen.of(1e9 * images, 1.0, (1.0, 1.0)).precision is np.float64


def test_ties_are_close_and_lost():
    # Whole numbers: scores are exact in either precision, and equal.
    outputs = np.array([[3.0, 4.0], [4.0, 3.0], [5.0, 0.0], [-5.0, 0.0]])
    problem = OriginalProblem(np.ones((4, 1)), outputs)
    images = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0], [-1.0, 0.0]])
    scan = assert_agrees_with_dense(problem, images, 1e-3)
    pairs = set(zip(scan.pairs.facts.tolist(), scan.pairs.rivals.tolist(), strict=True))
    assert {(0, 1), (1, 0)} <= pairs
    assert scan.recalled == problem.recall(images).recalled == 2
    assert problem.recall(images).smallest_gap == 0.0


@pytest.mark.parametrize("threshold", [1e-23, 1e-22, 1e-21, 1e-15, 1e12, 1e18, 1e25])
def test_thresholds_far_from_one(threshold):
    # Squares of them underflow and overflow in single precision.
    problem = OriginalProblem.gaussian(20, 6, 5, seed=0)
    images = threshold * np.random.default_rng(1).standard_normal((20, 5))
    assert_agrees_with_dense(problem, images, threshold)
    assert_agrees_with_dense(problem, images / 3, threshold)
    assert_agrees_with_dense(DecoupledProblem.gaussian(20, 6, 5, seed=0), images, threshold)


def test_a_target_is_never_its_own_rival():
    # However low all scores are.
    problem = OriginalProblem([[1.0]], [[-1e60], [-2e60]], [0])
    for size in (1.0, 1e50, 1e100):
        recall = problem.recall(np.array([[size]]))
        assert recall.recalled == 1
        assert recall.smallest_gap == pytest.approx(1e60 * size)
        scan = problem.scan(np.array([[size]]), 1.0)
        assert scan.recalled == 1
        assert scan.pairs.rivals.tolist() in ([], [1])


def test_equal_outputs_are_close_and_lost():
    problem = OriginalProblem(np.ones((2, 1)), np.ones((2, 3)))
    scan = problem.scan(np.full((2, 3), 0.1), 1e-3)
    assert (scan.recalled, len(scan.pairs)) == (0, 2)
    assert scan.spans.tolist() == scan.gaps.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("kind", [OriginalProblem, DecoupledProblem])
def test_the_smallest_gap_is_exact(kind):
    # Single precision would do for screening alone, not for what is told.
    for seed in range(10):
        problem = kind.gaussian(20, 6, 5, seed=seed)
        images = 10 * problem.target_outputs
        smallest = min(dense(problem, images)[0].values())
        assert problem.recall(images).smallest_gap == pytest.approx(smallest, rel=1e-12)
        # So wide a threshold collects every pair, screened in single precision.
        assert Screen.of(images, 1e3, (1.0, 1.0)).precision is np.float32
        scan = problem.scan(images, 1e3)
        assert len(scan.pairs) == 20 * 19
        assert scan.gaps.min() == pytest.approx(smallest, rel=1e-12)


@pytest.mark.parametrize("kind", [OriginalProblem, DecoupledProblem])
def test_who_maps_does_not_matter(kind):
    problem = kind.gaussian(700, 6, 5, candidates=30, seed=1)
    images = np.random.default_rng(0).standard_normal((700, 5))
    plain = problem.scan(images, 0.5)
    for count in (1, 2, 3):
        with threads.crew(count) as each:
            other = problem.scan(images, 0.5, each)
            assert problem.recall(images, each) == problem.recall(images)
        np.testing.assert_array_equal(other.gaps, plain.gaps)
        np.testing.assert_array_equal(other.pairs.rivals, plain.pairs.rivals)
        assert other.recalled == plain.recalled


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(2, 9),
    st.integers(1, 9),
    st.sampled_from([1e-4, 0.1, 1.0, 10.0]),
    st.sampled_from(["gaussian", "grid", "wide", "twins", "line"]),
    st.sampled_from([0.0, 1e-5, 1e-3, 1e-1, 1.0, 1e2, 1e5]),
)
def test_no_close_pair_is_missed(seed, dim, candidates, facts, threshold, shape, size):
    rng = np.random.default_rng(seed)
    outputs = rng.standard_normal((candidates, dim))
    if shape == "grid":
        outputs = np.round(2 * outputs) + np.eye(candidates, dim)
    elif shape == "wide":
        outputs *= 10 ** rng.uniform(-20, 20, (candidates, 1))
    elif shape == "twins":
        outputs[1] = outputs[0] * (1 + 1e-7 * rng.standard_normal(dim))
    elif shape == "line":
        outputs = np.outer(rng.standard_normal(candidates), outputs[0])
    problem = OriginalProblem(np.ones((facts, 1)), outputs, rng.integers(0, candidates, facts))
    images = size * rng.standard_normal((facts, dim))
    if shape == "grid":
        images = np.round(images)
    assert_agrees_with_dense(problem, images, threshold)
    if shape == "wide":
        return  # outputs drawn for a fact of its own are of moderate lengths
    assert_agrees_with_dense(as_decoupled(problem, np.float64), images, threshold)
    single = OriginalProblem(
        problem.inputs, outputs.astype(np.float32).astype(float), problem.targets
    )
    assert_agrees_with_dense(as_decoupled(single, np.float32), images, threshold)


def test_pairs_are_grouped_by_fact():
    pairs = Pairs(np.array([0, 2, 2, 5]), np.arange(5), np.arange(5), np.eye(5))
    assert pairs.facts.tolist() == [0, 0, 2, 2, 2]
    kept = pairs.where(np.array([False, True, True, False, True]))
    assert (kept.pointer.tolist(), kept.rivals.tolist()) == ([0, 1, 1, 3], [1, 2, 4])
    assert kept.facts.tolist() == [0, 2, 2]
    assert len(kept) == 3
    none = pairs.where(np.zeros(5, dtype=bool))
    assert (len(none), none.pointer.tolist()) == (0, [0, 0, 0, 0])


def test_pointers_and_blocks():
    assert pointers([np.array([2, 0]), np.array([3])]).tolist() == [0, 2, 2, 5]
    for rows, row_bytes in ((1, 1), (10, 2**23), (10, 2**30), (1000, 2**20)):
        parts = row_blocks(rows, row_bytes)
        covered = [row for part in parts for row in range(part.start, part.stop)]
        assert covered == list(range(rows))
    assert len(row_blocks(10, 2**30)) == 10


def test_recall_counts_what_leads():
    assert Recall.of(np.array([1.0, 0.0, -2.0, 1e-300])) == Recall(2, -2.0)


@pytest.mark.parametrize("kind", [OriginalProblem, DecoupledProblem])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_limited_scan_gives_up_exactly_above_its_limit(kind, threads, monkeypatch):
    monkeypatch.setattr(scan_module, "_BLOCK_BYTES", 4096)
    monkeypatch.setattr(original_module, "_LEAST_ROWS", 4)
    problem = kind.gaussian(60, 5, seed=2)
    images = np.random.default_rng(0).standard_normal((60, 5))
    with crew(threads) as each:
        whole = problem.scan(images, 1.0, each)
        screened = len(whole.pairs)
        same = problem.scan_within(screened, images, 1.0, each)
        np.testing.assert_array_equal(same.gaps, whole.gaps)
        assert problem.scan_within(screened - 1, images, 1.0, each) is None
        assert problem.scan_within(0, images, 1.0, each) is None
