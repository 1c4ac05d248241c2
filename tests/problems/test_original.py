"""The original problem: what it refuses, what it keeps, and its scan against dense arithmetic."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from simonides.failures import BadArgumentError
from simonides.problems import original as original_module
from simonides.problems import scan as scan_module
from simonides.problems.original import OriginalProblem

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((5, 3)), RNG.standard_normal((5, 4))


def changed(array, place, value):
    copy = np.array(array)
    copy[place] = value
    return copy


def naive(problem, images, threshold):
    """Every pair one by one: gaps of those within the threshold, recall, the smallest gap."""
    close, recalled, smallest = {}, 0, np.inf
    for fact in range(problem.facts):
        own = problem.outputs[problem.targets[fact]]
        gaps = []
        for rival in range(problem.candidates):
            if rival != problem.targets[fact]:
                other = problem.outputs[rival]
                gaps.append(float((own - other) @ images[fact]))
                if gaps[-1] <= threshold * np.sqrt(own @ own + other @ other):
                    close[fact, rival] = gaps[-1]
        recalled += min(gaps) > 0
        smallest = min(smallest, *gaps)
    return close, recalled, smallest


@pytest.mark.parametrize(
    ("inputs", "outputs", "targets", "words"),
    [
        pytest.param(changed(X, (2, 1), np.nan), Y, None, ["inputs[2, 1]", "nan"], id="nan"),
        pytest.param(X, changed(Y, (4, 0), np.inf), None, ["outputs[4, 0]", "inf"], id="inf"),
        pytest.param(X.astype(object), Y, None, ["inputs", "dtype('O')"], id="objects"),
        pytest.param(X, Y + 1j, None, ["outputs", "complex"], id="complex"),
        pytest.param(
            np.full((5, 3), 2**53 + 1),
            Y,
            None,
            ["inputs[0, 0] = 9007199254740993"],
            id="long-integers",
        ),
        pytest.param(X, np.longdouble(Y) / 3, None, ["outputs[0, ", "double"], id="long-doubles"),
        pytest.param(X, Y > 0, None, ["outputs", "bool"], id="truth-values"),
        pytest.param(X[0], Y, None, ["inputs.shape", "(3,)"], id="one-dimension"),
        pytest.param(X, Y[None], None, ["outputs.shape", "(1, 5, 4)"], id="three-dimensions"),
        pytest.param(X[:0], Y, None, ["inputs.shape", "(0, 3)"], id="no-rows"),
        pytest.param(X, Y[:, :0], None, ["outputs.shape", "(5, 0)"], id="no-columns"),
        pytest.param(X[:1], Y[:1], None, ["outputs.shape", "(1, 4)"], id="no-rival"),
        pytest.param(X, Y[:4], None, ["targets", "None"], id="fewer-outputs"),
        pytest.param(X, Y, [0, 1, 2, 3, 5], ["targets[4]", "5"], id="target-too-large"),
        pytest.param(X, Y, [0, -1, 2, 3, 4], ["targets[1]", "-1"], id="target-negative"),
        pytest.param(X, Y, [0.0, 1, 2, 3, 4], ["targets", "float64"], id="target-fractional"),
        pytest.param(X, Y, [True] * 5, ["targets", "bool"], id="target-truth-value"),
        pytest.param(X, Y, [0, 1], ["targets.shape", "(2,)"], id="too-few-targets"),
        pytest.param(X, Y, np.zeros((5, 1), int), ["targets.shape", "(5, 1)"], id="target-matrix"),
    ],
)
def test_what_is_wrong_is_named(inputs, outputs, targets, words):
    with pytest.raises(BadArgumentError) as caught:
        OriginalProblem(inputs, outputs, targets)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_ragged_rows_are_named():
    with pytest.raises(BadArgumentError, match="inputs"):
        OriginalProblem([[1.0, 2.0], [3.0]], Y)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"facts": 0}, "facts = 0"),
        ({"facts": 2.5}, "facts = 2.5"),
        ({"dim_in": 0}, "dim_in = 0"),
        ({"dim_out": -1}, "dim_out = -1"),
        ({"candidates": 1}, "candidates = 1"),
        ({"seed": -1}, "seed = -1"),
        ({"seed": None}, "seed = None"),
    ],
)
def test_gaussian_names_what_is_wrong(changes, word):
    with pytest.raises(BadArgumentError) as caught:
        OriginalProblem.gaussian(**{"facts": 5, "dim_in": 3, "seed": 0} | changes)
    assert word in str(caught.value)


def test_what_is_kept_is_a_copy_that_cannot_change():
    inputs, outputs, targets = X.copy(), Y.copy(), np.arange(5)
    problem = OriginalProblem(inputs, outputs, targets)
    before = problem.fingerprint()
    inputs[0], outputs[0], targets[0] = 7, 7, 3
    assert problem.fingerprint() == before
    np.testing.assert_array_equal(problem.inputs, X)
    np.testing.assert_array_equal(problem.outputs, Y)
    np.testing.assert_array_equal(problem.targets, np.arange(5))
    for array in (problem.inputs, problem.outputs, problem.targets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_target_outputs_cannot_change():
    assert not OriginalProblem(X, Y).target_outputs.flags.writeable


def test_integers_and_other_layouts_become_the_same_problem():
    whole = np.array([[1, -2, 3], [0, 5, -1]])
    reference = OriginalProblem(whole.astype(float), Y)
    assert OriginalProblem(whole, Y).fingerprint() == reference.fingerprint()
    assert OriginalProblem(np.asfortranarray(whole), Y).fingerprint() == reference.fingerprint()
    assert OriginalProblem(whole.tolist(), Y.tolist()).fingerprint() == reference.fingerprint()
    assert OriginalProblem(whole, Y, [0, 1]).fingerprint() == reference.fingerprint()


def test_the_fingerprint_is_stable_and_moves_with_every_entry():
    def digest(inputs=X, outputs=Y, targets=(0, 1, 2, 3, 4)):
        return OriginalProblem(inputs, outputs, list(targets)).fingerprint()

    assert digest() == digest()
    seen = {digest()}
    for place in np.ndindex(X.shape):
        seen.add(digest(inputs=changed(X, place, np.nextafter(X[place], 9))))
    for place in np.ndindex(Y.shape):
        seen.add(digest(outputs=changed(Y, place, np.nextafter(Y[place], 9))))
    for fact in range(5):
        seen.add(digest(targets=changed(np.arange(5), fact, (fact + 1) % 5)))
    assert len(seen) == 1 + X.size + Y.size + 5


def test_the_fingerprint_sees_shapes():
    flat = np.arange(1.0, 13.0)
    digests = {
        OriginalProblem(flat.reshape(rows, -1), np.eye(6)).fingerprint() for rows in (2, 3, 4, 6)
    }
    assert len(digests) == 4


def test_the_fingerprint_of_a_known_problem_never_moves():
    # Certificates on disk refer to it.
    problem = OriginalProblem([[1.0, 2.0]], [[3.0], [4.0]], [1])
    assert problem.fingerprint() == (
        "5274636f9c9f764455a92c4f3b642b668bd97694140d7beaf2e261e70b7708c4"
    )


def test_seeds_reproduce():
    one = OriginalProblem.gaussian(30, 4, 6, candidates=7, seed=3)
    same = OriginalProblem.gaussian(30, 4, 6, candidates=7, seed=3)
    other = OriginalProblem.gaussian(30, 4, 6, candidates=7, seed=4)
    assert one.fingerprint() == same.fingerprint() != other.fingerprint()
    assert (one.facts, one.dim_in, one.dim_out, one.candidates) == (30, 4, 6, 7)
    assert set(one.targets) <= set(range(7))
    assert len(set(one.targets)) > 1


def test_gaussian_moments():
    problem = OriginalProblem.gaussian(400, 50, 60, candidates=500, seed=5)
    for array in (problem.inputs, problem.outputs):
        count = array.size
        assert abs(array.mean()) < 5 / np.sqrt(count)
        assert abs(array.var() - 1) < 5 * np.sqrt(2 / count)
    mixed = np.corrcoef(problem.inputs[:, :50].ravel(), problem.outputs[:400, :50].ravel())[0, 1]
    assert abs(mixed) < 5 / np.sqrt(problem.inputs.size)


def test_prefixes_are_nested():
    problem = OriginalProblem.gaussian(9, 4, seed=1)
    for facts in (9, 6, 2):
        part = problem.prefix(facts)
        np.testing.assert_array_equal(part.inputs, problem.inputs[:facts])
        np.testing.assert_array_equal(part.outputs, problem.outputs[:facts])
        np.testing.assert_array_equal(part.targets, np.arange(facts))
        assert part.fingerprint() == problem.prefix(9).prefix(facts).fingerprint()
    assert problem.prefix(6).prefix(3).fingerprint() == problem.prefix(3).fingerprint()
    assert problem.prefix(9).fingerprint() == problem.fingerprint()


def test_a_prefix_of_one_fact_keeps_a_rival():
    part = OriginalProblem.gaussian(9, 4, seed=1).prefix(1)
    assert (part.facts, part.candidates) == (1, 2)


@pytest.mark.parametrize("candidates", [3, 20])
def test_a_prefix_with_other_outputs_keeps_them_all(candidates):
    problem = OriginalProblem.gaussian(9, 4, candidates=candidates, seed=1)
    part = problem.prefix(5)
    np.testing.assert_array_equal(part.outputs, problem.outputs)
    np.testing.assert_array_equal(part.targets, problem.targets[:5])
    np.testing.assert_array_equal(part.inputs, problem.inputs[:5])


def test_prefixes_with_fixed_outputs_are_nested():
    problem = OriginalProblem(X, Y[:4], [0, 1, 2, 3, 0])
    assert problem.prefix(4).prefix(3).fingerprint() == problem.prefix(3).fingerprint()


@pytest.mark.parametrize("facts", [0, 10, -1, 2.5, True])
def test_impossible_prefixes_are_refused(facts):
    with pytest.raises(BadArgumentError, match=f"facts = {facts}"):
        OriginalProblem.gaussian(9, 4, seed=1).prefix(facts)


@pytest.mark.parametrize(
    ("facts", "candidates"), [(12, 12), (12, 4), (5, 30), (1, 2), (1, 9), (40, 2)]
)
@pytest.mark.parametrize("threshold", [1e-3, 0.1, 1.0, 100.0])
def test_scan_against_dense_arithmetic(facts, candidates, threshold):
    problem = OriginalProblem.gaussian(facts, 4, 3, candidates=candidates, seed=facts)
    images = problem.inputs @ np.random.default_rng(8).standard_normal((3, 4)).T
    scan = problem.scan(images, threshold)
    close, recalled, smallest = naive(problem, images, threshold)
    pairs = list(zip(scan.pairs.facts.tolist(), scan.pairs.rivals.tolist(), strict=True))
    assert len(pairs) == len(set(pairs)) == len(scan.pairs)
    assert pairs == sorted(pairs)
    assert set(pairs) == set(close)
    np.testing.assert_allclose(scan.gaps, [close[pair] for pair in pairs], rtol=1e-12, atol=1e-13)
    assert scan.recalled == recalled
    np.testing.assert_array_equal(
        scan.pairs.table[scan.pairs.index], problem.outputs[scan.pairs.rivals]
    )
    own, others = problem.target_outputs[scan.pairs.facts], problem.outputs[scan.pairs.rivals]
    np.testing.assert_allclose(scan.spans, np.linalg.norm(own - others, axis=1), rtol=1e-14)
    sizes = np.linalg.norm(np.hstack((own, others)), axis=1)
    np.testing.assert_allclose(scan.sizes, sizes, rtol=1e-14)
    assert scan.pairs.pointer[0] == 0
    assert scan.pairs.pointer[-1] == len(scan.pairs)
    recall = problem.recall(images)
    assert recall.recalled == recalled
    assert recall.smallest_gap == pytest.approx(smallest, rel=1e-12, abs=1e-12)


def test_scan_does_not_depend_on_blocks(monkeypatch):
    problem = OriginalProblem.gaussian(23, 5, candidates=11, seed=2)
    images = problem.inputs @ np.random.default_rng(1).standard_normal((5, 5)).T
    whole = problem.scan(images, 0.7)
    everyone = problem.recall(images)
    monkeypatch.setattr(scan_module, "_BLOCK_BYTES", 8 * 11 * 3)
    monkeypatch.setattr(original_module, "_LEAST_ROWS", 1)
    assert len(list(problem.contests(23))) == 8
    blocks = problem.scan(images, 0.7)
    np.testing.assert_array_equal(blocks.pairs.pointer, whole.pairs.pointer)
    np.testing.assert_array_equal(blocks.pairs.rivals, whole.pairs.rivals)
    np.testing.assert_array_equal(blocks.gaps, whole.gaps)
    assert blocks.recalled == whole.recalled
    assert everyone.recalled == whole.recalled
    assert problem.recall(images) == everyone
    some = np.array([20, 3, 9, 4, 11])
    parts = [problem.recall(images[[one]], facts=np.array([one])) for one in some]
    of_some = problem.recall(images[some], facts=some)
    assert of_some.recalled == sum(part.recalled for part in parts)
    assert of_some.smallest_gap == min(part.smallest_gap for part in parts)


def test_a_tie_is_not_recalled():
    problem = OriginalProblem(np.eye(2), np.eye(2))
    scan = problem.scan(np.zeros((2, 2)), 1.0)
    assert (scan.recalled, len(scan.pairs)) == (0, 2)
    assert scan.gaps.tolist() == [0.0, 0.0]
    recall = problem.recall(np.zeros((2, 2)))
    assert (recall.recalled, recall.smallest_gap) == (0, 0.0)


@pytest.mark.parametrize("candidates", [3, 8, 20])
def test_competitors_are_all_outputs_but_the_target(candidates):
    problem = OriginalProblem.gaussian(8, 3, candidates=candidates, seed=0)
    for fact in range(8):
        numbers, vectors = problem.competitors(fact)
        assert sorted([*numbers, problem.targets[fact]]) == list(range(candidates))
        np.testing.assert_array_equal(vectors, problem.outputs[numbers])
        np.testing.assert_array_equal(
            problem.target_outputs[fact], problem.outputs[problem.targets[fact]]
        )


def test_the_setting_asks_theory_the_right_question():
    assert OriginalProblem.gaussian(8, 3, 5, seed=0).setting.candidates is None
    shared = OriginalProblem.gaussian(8, 3, 5, candidates=4, seed=0).setting
    assert (shared.dim_in, shared.dim_out, shared.candidates) == (3, 5, 4)
    permuted = OriginalProblem(X, Y, [1, 0, 2, 3, 4])
    assert not permuted.all_compete
    assert OriginalProblem(X, Y).all_compete


def test_scan_needs_far_less_memory_than_all_scores(monkeypatch):
    facts = 2000
    drawn = OriginalProblem.gaussian(facts, 4, seed=0)
    outputs = drawn.outputs / np.linalg.norm(drawn.outputs, axis=1, keepdims=True)
    problem = OriginalProblem(drawn.inputs, outputs)
    monkeypatch.setattr(scan_module, "_BLOCK_BYTES", 2**20)
    monkeypatch.setattr(original_module, "_LEAST_ROWS", 1)
    problem.scan(outputs, 1e-3)  # caches
    tracemalloc.start()
    scan, recall = problem.scan(outputs, 1e-3), problem.recall(outputs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert scan.recalled == recall.recalled == facts  # outputs of one length: each its own best
    assert peak < 8 * facts**2 / 8


def test_contests_hold_every_fact_and_candidate(monkeypatch):
    problem = OriginalProblem.gaussian(23, 5, candidates=11, seed=2)
    monkeypatch.setattr(scan_module, "_BLOCK_BYTES", 8 * 11 * 3)
    seen = []
    for rows, outputs in problem.contests(problem.facts):
        seen += range(rows.start, rows.stop)
        np.testing.assert_array_equal(outputs, problem.outputs)
        np.testing.assert_array_equal(outputs[problem.targets[rows]], problem.target_outputs[rows])
    assert seen == list(range(23))


@pytest.mark.parametrize("candidates", [None, 2, 12, 30, 90])
def test_more_facts_of_a_seed_are_the_same_facts_and_further_ones(candidates):
    """Across the number of candidates too: there, facts begin to share outputs."""
    largest = OriginalProblem.gaussian(60, 4, 3, candidates=candidates, seed=7)
    for facts in (2, 11, 12, 13, 30, 31, 60):
        part = largest.prefix(facts)
        drawn = OriginalProblem.gaussian(facts, 4, 3, candidates=candidates, seed=7)
        assert drawn.all_compete == part.all_compete == (candidates is None)
        for name in ("inputs", "outputs", "targets"):
            np.testing.assert_array_equal(getattr(part, name), getattr(drawn, name))
        assert part.setting == drawn.setting


def test_contests_of_the_first_facts():
    problem = OriginalProblem.gaussian(23, 5, seed=2)
    assert [(rows.start, rows.stop) for rows, _ in problem.contests(9)] == [(0, 9)]
    assert not list(problem.contests(0))
