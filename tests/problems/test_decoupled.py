"""The decoupled problem: the same vectors whether kept or drawn anew, and little memory."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from simonides.failures import BadArgumentError
from simonides.problems import scan as scan_module
from simonides.problems.decoupled import DecoupledProblem


def drawn_anew(problem):
    return replace(problem, in_memory_bytes=0)


def weights_for(problem, seed=0):
    return np.random.default_rng(seed).standard_normal((problem.dim_out, problem.dim_in))


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"facts": 0}, "facts = 0"),
        ({"facts": 1.5}, "facts = 1.5"),
        ({"facts": np.nan}, "facts = nan"),
        ({"dim_in": 0}, "dim_in = 0"),
        ({"dim_out": "3"}, "dim_out = '3'"),
        ({"candidates": 1}, "candidates = 1"),
        ({"seed": -1}, "seed = -1"),
        ({"seed": None}, "seed = None"),
    ],
)
def test_what_is_wrong_is_named(changes, word):
    with pytest.raises(BadArgumentError) as caught:
        DecoupledProblem.gaussian(**{"facts": 5, "dim_in": 3, "seed": 0} | changes)
    assert word in str(caught.value)


def test_a_negative_budget_is_refused():
    with pytest.raises(BadArgumentError, match="in_memory_bytes = -1"):
        DecoupledProblem(2, 2, 2, 2, 0, in_memory_bytes=-1)


def test_one_fact_alone_still_has_a_rival():
    assert DecoupledProblem.gaussian(1, 3, seed=0).candidates == 2
    with pytest.raises(BadArgumentError, match="candidates = 1"):
        DecoupledProblem.gaussian(1, 3, candidates=1, seed=0)


def test_defaults_are_square():
    problem = DecoupledProblem.gaussian(7, 3, seed=0)
    assert (problem.dim_out, problem.candidates) == (3, 7)
    setting = problem.setting
    assert (setting.dim_in, setting.dim_out, setting.candidates) == (3, 3, None)
    fixed = DecoupledProblem.gaussian(7, 3, candidates=7, seed=0).setting
    assert fixed.candidates == 7
    assert setting.problem == "decoupled"


@pytest.mark.parametrize("threshold", [1e-3, 0.1, 1.0, 50.0])
@pytest.mark.parametrize(("facts", "candidates"), [(9, 9), (20, 3), (4, 40), (1, 2)])
def test_kept_or_drawn_anew_and_against_dense_arithmetic(facts, candidates, threshold):
    problem = DecoupledProblem.gaussian(facts, 4, 3, candidates=candidates, seed=6)
    images = problem.inputs @ weights_for(problem).T
    kept, anew = problem.scan(images, threshold), drawn_anew(problem).scan(images, threshold)
    for name in ("pointer", "rivals", "index", "table"):
        np.testing.assert_array_equal(getattr(kept.pairs, name), getattr(anew.pairs, name))
    for name in ("gaps", "sizes", "spans"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(anew, name))
    assert kept.recalled == anew.recalled

    differences = np.array([problem.target_outputs[i] - problem.rivals(i) for i in range(facts)])
    gaps = np.einsum("ijk,ik->ij", differences, images)
    rivals = np.array([problem.rivals(i) for i in range(facts)])
    sizes = np.sqrt(np.sum(problem.target_outputs**2, axis=1)[:, None] + np.sum(rivals**2, axis=2))
    expected = {(int(i), int(j) + 1) for i, j in np.argwhere(gaps <= threshold * sizes)}
    pairs = list(zip(kept.pairs.facts.tolist(), kept.pairs.rivals.tolist(), strict=True))
    assert len(pairs) == len(expected)
    assert set(pairs) == expected
    for measured, exact in ((kept.gaps, gaps), (kept.sizes, sizes)):
        there = [exact[fact, rival - 1] for fact, rival in pairs]
        np.testing.assert_allclose(measured, there, rtol=1e-12, atol=1e-13)
    assert kept.recalled == np.count_nonzero((gaps > 0).all(axis=1))
    recall = drawn_anew(problem).recall(images)
    assert recall.recalled == kept.recalled
    assert recall.smallest_gap == pytest.approx(gaps.min(), rel=1e-12)
    some = np.arange(facts)[::-2]
    for one in (problem, drawn_anew(problem)):
        recall = one.recall(images[some], facts=some)
        assert recall.recalled == np.count_nonzero((gaps[some] > 0).all(axis=1))
        assert recall.smallest_gap == pytest.approx(gaps[some].min(), rel=1e-12)
    for (fact, rival), vector in zip(pairs, kept.pairs.table[kept.pairs.index], strict=True):
        np.testing.assert_array_equal(vector, problem.rivals(fact)[rival - 1])


def test_vectors_do_not_depend_on_the_budget():
    problem = DecoupledProblem.gaussian(6, 3, 5, seed=2)
    anew = drawn_anew(problem)
    assert problem.fingerprint() == anew.fingerprint()
    np.testing.assert_array_equal(problem.inputs, anew.inputs)
    np.testing.assert_array_equal(problem.target_outputs, anew.target_outputs)
    for row in range(6):
        np.testing.assert_array_equal(problem.rivals(row), anew.rivals(row))
        numbers, vectors = anew.competitors(row)
        np.testing.assert_array_equal(numbers, np.arange(1, 6))
        np.testing.assert_array_equal(vectors, anew.rivals(row))


@pytest.mark.parametrize("budget", [0, 2**29])
def test_fewer_facts_and_candidates_are_a_prefix(budget):
    whole = DecoupledProblem(9, 4, 3, 9, 5, all_compete=True, in_memory_bytes=budget)
    for facts in (9, 5, 2):
        part = whole.prefix(facts)
        assert (part.facts, part.candidates, part.in_memory_bytes) == (facts, facts, budget)
        np.testing.assert_array_equal(part.inputs, whole.inputs[:facts])
        np.testing.assert_array_equal(part.target_outputs, whole.target_outputs[:facts])
        for row in range(facts):
            np.testing.assert_array_equal(part.rivals(row), whole.rivals(row)[: facts - 1])
    assert whole.prefix(6).prefix(3).fingerprint() == whole.prefix(3).fingerprint()
    assert whole.prefix(1).candidates == 2


def test_a_prefix_keeps_a_number_of_candidates_of_its_own():
    part = DecoupledProblem.gaussian(9, 4, candidates=20, seed=0).prefix(4)
    assert (part.facts, part.candidates) == (4, 20)


def test_prefixes_with_fixed_candidates_are_nested():
    problem = DecoupledProblem.gaussian(20, 3, candidates=10, seed=0)
    assert problem.prefix(10).prefix(5).candidates == problem.prefix(5).candidates


@pytest.mark.parametrize("facts", [0, 10, 2.5])
def test_impossible_prefixes_are_refused(facts):
    with pytest.raises(BadArgumentError, match=f"facts = {facts}"):
        DecoupledProblem.gaussian(9, 4, seed=1).prefix(facts)


def test_the_fingerprint_moves_with_everything_that_defines_the_problem():
    problem = DecoupledProblem(5, 4, 3, 6, 0)
    assert problem.fingerprint() == DecoupledProblem(5, 4, 3, 6, 0).fingerprint()
    others = [
        replace(problem, **{name: getattr(problem, name) + 1})
        for name in ("facts", "dim_in", "dim_out", "candidates", "seed")
    ]
    assert len({problem.fingerprint(), *(other.fingerprint() for other in others)}) == 6


def test_a_known_problem_never_moves():
    # Certificates on disk refer to it, and hold no vectors of their own.
    problem = DecoupledProblem(2, 2, 2, 3, 7)
    assert problem.fingerprint() == (
        "e5f0bebba6ec9ef716be1ee5802c85dd4f3590088a7d46d776f43c9646f07818"
    )
    np.testing.assert_allclose(
        problem.inputs[1], [0.952017167076829, -0.3955736569163015], rtol=1e-12
    )
    np.testing.assert_allclose(
        problem.target_outputs[1], [0.3051561889707436, 0.8958743519531401], rtol=1e-12
    )
    # Single precision: to the last bit, as proofs need, or not the same problem.
    np.testing.assert_array_equal(problem.rivals(1)[1], [-0.7725809216499329, 0.4453136920928955])


def test_seeds_and_rows_are_independent():
    problem = DecoupledProblem.gaussian(40, 30, 30, candidates=5, seed=1)
    other = DecoupledProblem.gaussian(40, 30, 30, candidates=5, seed=2)
    blocks = [problem.inputs, problem.target_outputs, other.inputs, other.target_outputs]
    blocks += [
        np.array([p.rivals(row)[k] for row in range(40)]) for p in (problem, other) for k in (0, 3)
    ]
    blocks += [np.roll(problem.inputs, 1, axis=0), np.roll(problem.target_outputs, 1, axis=0)]
    correlations = np.corrcoef([block.ravel() for block in blocks])
    off = correlations[np.triu_indices(len(blocks), 1)]
    assert np.abs(off).max() < 5 / np.sqrt(40 * 30)


def test_gaussian_moments():
    problem = DecoupledProblem.gaussian(60, 40, 40, seed=3)
    rivals = np.array([problem.rivals(row) for row in range(60)])
    for array in (problem.inputs, problem.target_outputs, rivals):
        count = array.size
        assert abs(array.mean()) < 5 / np.sqrt(count)
        assert abs(array.var() - 1) < 5 * np.sqrt(2 / count)
        assert abs((array**4).mean() - 3) < 5 * np.sqrt(96 / count)


def test_a_large_instance_never_holds_all_its_outputs(monkeypatch):
    facts, candidates, dim = 150, 500, 40
    problem = DecoupledProblem(facts, dim, dim, candidates, 0, in_memory_bytes=2**18)
    monkeypatch.setattr(scan_module, "_BLOCK_BYTES", 2**18)
    images = problem.target_outputs
    problem.scan(images, 1e-3)  # imports and caches
    tracemalloc.start()
    scan, recall = problem.scan(images, 1e-3), problem.recall(images)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert scan.recalled == recall.recalled > 0.9 * facts
    assert peak < 4 * facts * candidates * dim / 10  # a few rows of a hundred and fifty


def test_scan_does_not_depend_on_blocks(monkeypatch):
    problem = DecoupledProblem.gaussian(23, 5, candidates=11, seed=2)
    images = problem.inputs @ weights_for(problem).T
    whole = problem.scan(images, 0.7)
    monkeypatch.setattr(scan_module, "_BLOCK_BYTES", 8 * 10 * 5 * 3)
    assert len(problem._row_blocks) > 5
    for part in (problem.scan(images, 0.7), drawn_anew(problem).scan(images, 0.7)):
        np.testing.assert_array_equal(part.pairs.pointer, whole.pairs.pointer)
        np.testing.assert_array_equal(part.pairs.rivals, whole.pairs.rivals)
        np.testing.assert_array_equal(part.gaps, whole.gaps)
        assert part.recalled == whole.recalled


def test_rivals_are_single_precision_numbers_held_exactly():
    problem = DecoupledProblem.gaussian(4, 3, seed=0)
    drawn = problem.rivals_of(slice(1, 3))
    assert (drawn.dtype, drawn.shape) == (np.float32, (2, 3, 3))
    for row in (1, 2):
        assert problem.rivals(row).dtype == np.float64
        np.testing.assert_array_equal(problem.rivals(row), drawn[row - 1])


def test_contests_hold_every_fact_and_candidate():
    problem = DecoupledProblem.gaussian(4, 3, candidates=6, seed=0)
    assert problem.targets.tolist() == [0] * 4
    for fact, (rows, outputs) in enumerate(problem.contests(problem.facts)):
        assert (rows.start, rows.stop) == (fact, fact + 1)
        np.testing.assert_array_equal(outputs[0], problem.target_outputs[fact])
        np.testing.assert_array_equal(outputs[1:], problem.competitors(fact)[1])
    assert fact == 3


def test_inputs_and_targets_cannot_change():
    problem = DecoupledProblem.gaussian(4, 3, seed=0)
    assert not problem.inputs.flags.writeable
    assert not problem.target_outputs.flags.writeable


def test_rivals_cannot_change():
    problem = DecoupledProblem.gaussian(4, 3, seed=0)
    before = problem.rivals(0).copy()
    assert not problem.rivals_of(slice(0, 4)).flags.writeable
    handed_out = problem.rivals(0)
    if handed_out.flags.writeable:  # a copy
        handed_out[:] = 7
    np.testing.assert_array_equal(problem.rivals(0), before)


def test_all_can_compete_only_if_there_are_as_many_candidates():
    with pytest.raises(BadArgumentError, match="candidates = 3"):
        DecoupledProblem(400, 5, 5, 3, 0, all_compete=True)
    assert DecoupledProblem(1, 5, 5, 2, 0, all_compete=True).facts == 1
