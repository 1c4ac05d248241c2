"""Certificates: valid ones pass, tampered ones do not, and the rounding bounds hold exactly."""

from __future__ import annotations

import ast
import io
import os
import pickle
import zipfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest

from simonides import certificate as module
from simonides.certificate import Certificate, Claim, verify
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.solvers.decide import decide

KINDS = {"original": OriginalProblem, "decoupled": DecoupledProblem}


def storable(kind="original", seed=0):
    problem = KINDS[kind].gaussian(6, 5, 4, seed=seed)
    found = decide(problem).certificate
    assert found.claim is Claim.STORABLE
    return problem, found


def unstorable(kind="original", seed=0):
    problem = KINDS[kind].gaussian(16, 3, 3, seed=seed)
    found = decide(problem).certificate
    assert found.claim is Claim.NOT_STORABLE
    return problem, found


def claim_storable(problem, weights):
    return Certificate(Claim.STORABLE, problem.fingerprint(), weights=weights)


def claim_not_storable(problem, facts, rivals, values):
    return Certificate(
        Claim.NOT_STORABLE,
        problem.fingerprint(),
        pair_facts=np.array(facts),
        pair_rivals=np.array(rivals),
        multipliers=np.array(values),
    )


def rejected(certificate, problem, reason):
    outcome = verify(certificate, problem)
    assert not outcome.valid
    assert reason in outcome.reason, outcome.reason


# Valid ones.


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_weights_that_store_prove_it(kind):
    problem, found = storable(kind)
    outcome = verify(found, problem)
    assert (outcome.valid, outcome.claim, outcome.reason) == (True, Claim.STORABLE, "")
    gaps = []
    for fact in range(problem.facts):
        difference = problem.target_outputs[fact] - problem.competitors(fact)[1]
        x = problem.inputs[fact]
        spans = np.linalg.norm(difference, axis=1) * np.linalg.norm(x)
        gaps.append((difference @ found.weights @ x / spans).min())
    margin = min(gaps) / np.linalg.norm(found.weights)
    assert margin * (1 - 1e-6) < outcome.margin_bound <= margin


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_multipliers_prove_that_facts_do_not_fit(kind):
    problem, found = unstorable(kind)
    outcome = verify(found, problem)
    assert (outcome.valid, outcome.claim, outcome.reason) == (True, Claim.NOT_STORABLE, "")
    assert 0 <= outcome.margin_bound < 1e-6
    assert "tolerance" in verify(found, problem, tolerance=outcome.margin_bound / 2).reason


@pytest.mark.parametrize("scale", [1e-30, 3.0, 1e30])
def test_the_scale_of_a_proof_does_not_matter(scale):
    problem, found = storable()
    scaled = replace(found, weights=found.weights * scale)
    expected = verify(found, problem).margin_bound
    assert verify(scaled, problem).margin_bound == pytest.approx(expected, rel=1e-9)
    problem, found = unstorable()
    scaled = replace(found, multipliers=found.multipliers * scale)
    expected = verify(found, problem).margin_bound
    assert verify(scaled, problem).margin_bound == pytest.approx(expected, rel=1e-6)


def test_multipliers_may_come_in_any_order():
    problem, found = unstorable()
    order = np.random.default_rng(0).permutation(len(found.multipliers))
    shuffled = claim_not_storable(
        problem, found.pair_facts[order], found.pair_rivals[order], found.multipliers[order]
    )
    assert verify(shuffled, problem).valid


# Tampered ones.


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_tampered_weights_are_rejected(kind):
    problem, found = storable(kind)
    rejected(replace(found, weights=-found.weights), problem, "not recalled")
    rejected(replace(found, weights=np.zeros_like(found.weights)), problem, "zero")
    rejected(replace(found, weights=found.weights.T.copy()), problem, "weights are not float64")
    rejected(replace(found, weights=found.weights[None]), problem, "weights are not float64")
    rejected(replace(found, weights=np.float32(found.weights)), problem, "weights are not float64")
    rejected(replace(found, weights=np.array(1.0)), problem, "weights are not float64")
    rejected(replace(found, weights=found.weights + 0j), problem, "weights are not float64")
    rejected(replace(found, weights=None), problem, "weights are not float64")
    for bad in (np.nan, np.inf, -np.inf):
        weights = found.weights.copy()
        weights[0, 0] = bad
        rejected(replace(found, weights=weights), problem, "not finite")


def test_the_fact_that_is_not_recalled_is_named():
    problem = OriginalProblem(np.eye(3), np.eye(3), [0, 1, 2])
    assert verify(claim_storable(problem, np.eye(3)), problem).valid
    rejected(claim_storable(problem, np.diag([1.0, 1.0, 0.0])), problem, "fact 2")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_tampered_multipliers_are_rejected(kind):
    problem, found = unstorable(kind)
    values, facts, rivals = found.multipliers, found.pair_facts, found.pair_rivals

    def changed(array, value):
        copy = array.copy()
        copy[np.argmax(values)] = value
        return copy

    top = int(np.argmax(values))
    sign = "non-negative"
    rejected(replace(found, multipliers=changed(values, -1e-3)), problem, sign)
    rejected(replace(found, multipliers=changed(values, np.nan)), problem, sign)
    rejected(replace(found, multipliers=changed(values, np.inf)), problem, sign)
    rejected(replace(found, multipliers=values * 0), problem, sign)
    rejected(replace(found, multipliers=changed(values, values[top] * 1.01)), problem, "tolerance")
    rejected(replace(found, multipliers=values[:-1]), problem, "differ in number")
    rejected(replace(found, multipliers=values[:, None]), problem, "differ in number")
    rejected(replace(found, pair_facts=facts[:-1]), problem, "differ in number")
    rejected(replace(found, pair_rivals=rivals[:-1]), problem, "differ in number")
    rejected(replace(found, pair_facts=facts.astype(float)), problem, "wrong type")
    rejected(replace(found, pair_rivals=rivals.astype(str)), problem, "wrong type")
    rejected(replace(found, multipliers=values.astype(complex)), problem, "wrong type")
    rejected(replace(found, multipliers=values.astype(object)), problem, "wrong type")
    rejected(replace(found, pair_facts=changed(facts, problem.facts)), problem, "does not exist")
    rejected(replace(found, pair_facts=changed(facts, -1)), problem, "does not exist")
    beyond = problem.candidates
    rejected(replace(found, pair_rivals=changed(rivals, beyond)), problem, "does not exist")
    rejected(replace(found, pair_rivals=changed(rivals, -1)), problem, "does not exist")
    own = facts[top] if kind == "original" else 0
    rejected(replace(found, pair_rivals=changed(rivals, own)), problem, "does not exist")
    other = next(j for j in range(1, beyond) if j not in (rivals[top], own))
    rejected(replace(found, pair_rivals=changed(rivals, other)), problem, "tolerance")
    for name in ("multipliers", "pair_facts", "pair_rivals"):
        rejected(replace(found, **{name: None}), problem, "no multipliers")
    empty = claim_not_storable(problem, facts[:0], rivals[:0], values[:0])
    rejected(empty, problem, "no multipliers")


def test_no_single_multiplier_proves_anything():
    problem, _ = storable()
    for fact in range(problem.facts):
        for rival in problem.competitors(fact)[0]:
            rejected(claim_not_storable(problem, [fact], [rival], [1.0]), problem, "tolerance")


def test_a_shared_target_is_no_rival():
    problem = OriginalProblem(np.eye(3), np.eye(3), [2, 2, 1])
    rejected(claim_not_storable(problem, [1], [2], [1.0]), problem, "fact 1 has no such rival")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_proofs_for_another_problem_are_rejected(kind):
    for make in (storable, unstorable):
        problem, found = make(kind)
        other = make(kind, seed=1)[0]
        rejected(found, other, "another problem")
        rejected(found, problem.prefix(problem.facts - 1), "another problem")
        rejected(replace(found, fingerprint=other.fingerprint()), problem, "another problem")
        # signed with the wrong name, the proof itself does not hold either
        assert not verify(replace(found, fingerprint=other.fingerprint()), other).valid


def test_one_changed_bit_makes_another_problem():
    problem, found = storable()
    outputs = problem.outputs.copy()
    outputs[3, 1] = np.nextafter(outputs[3, 1], 9)
    rejected(found, OriginalProblem(problem.inputs, outputs), "another problem")


def test_the_other_claim_is_not_proved():
    problem, found = storable()
    rejected(replace(found, claim=Claim.NOT_STORABLE), problem, "no multipliers")
    problem, found = unstorable()
    rejected(replace(found, claim=Claim.STORABLE), problem, "weights are not float64")


# What floating point cannot hold proves nothing.


def test_weights_that_overflow_prove_nothing():
    # Two outputs are the same, so nothing can be stored.
    outputs = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    problem = OriginalProblem(np.array([[1.0, 1.0], [1.0, -1.0], [2.0, 1.0]]), outputs)
    signs = np.array([[1.0, -1.0], [1.0, 1.0]])
    with np.errstate(all="ignore"):
        outcomes = [
            verify(claim_storable(problem, 1.7e308 * signs * flip), problem)
            for flip in ([[1, 1], [1, 1]], [[1, -1], [1, 1]], [[1, 1], [1, -1]], [[1, -1], [1, -1]])
        ]
    assert not any(outcome.valid for outcome in outcomes)


def test_weights_that_underflow_prove_nothing():
    tiny = 5e-324
    inputs = np.array([[1.0, 0, 0, 0, 0], [0, 0.6, 0.3, 0.3, 0.3]])
    problem = OriginalProblem(inputs, np.array([[1.0], [0.0]]), [0, 0])
    weights = np.array([[1.0, tiny, -tiny, -tiny, -tiny]])
    exact = sum(Fraction(w) * Fraction(x) for w, x in zip(weights[0], inputs[1], strict=True))
    assert exact < 0
    assert not verify(claim_storable(problem, weights), problem).valid


@pytest.mark.parametrize("value", [5e-324, 1e-320, 1e-310])
def test_multipliers_that_underflow_prove_nothing(value):
    problem, found = storable()
    assert verify(found, problem).valid
    assert not verify(claim_not_storable(problem, [0], [1], [value]), problem).valid


@pytest.mark.parametrize(
    ("of_inputs", "of_outputs"),
    [
        pytest.param(1e-69, 1.0, id="short-inputs"),
        pytest.param(1.0, 1e-69, id="short-outputs"),
        pytest.param(1e-69, 1e69, id="long-outputs"),
        pytest.param(1e69, 1e-69, id="long-inputs"),
        pytest.param(1e-69, 1e-69, id="both-short"),
        pytest.param(1e69, 1e69, id="both-long"),
    ],
)
def test_extreme_lengths_prove_nothing_wrong(of_inputs, of_outputs):
    # Two facts on orthogonal vectors: the identity stores them.
    problem = OriginalProblem(np.eye(2) * of_inputs, np.eye(2) * of_outputs)
    assert not verify(claim_not_storable(problem, [0], [1], [1.0]), problem).valid


def test_multipliers_that_overflow_prove_nothing():
    problem, _ = storable()
    with np.errstate(all="ignore"):
        for facts, rivals in (([0], [1]), ([0, 0], [1, 2])):
            values = [1.7e308] * len(facts)
            assert not verify(claim_not_storable(problem, facts, rivals, values), problem).valid


def test_a_constraint_that_is_exactly_zero_is_a_proof():
    zero_input = OriginalProblem(np.array([[0.0, 0.0], [1.0, 0.0]]), np.eye(2))
    same_outputs = OriginalProblem(np.eye(2), np.ones((2, 2)))
    for problem in (zero_input, same_outputs):
        outcome = verify(claim_not_storable(problem, [0], [1], [1.0]), problem)
        assert (outcome.valid, outcome.margin_bound) == (True, 0.0)


def test_multipliers_without_dimensions_are_rejected():
    problem, _ = storable()
    rejected(claim_not_storable(problem, 0, 1, 1.0), problem, "")


# The rounding bound against exact arithmetic.


def exact_gaps(problem, weights):
    """Return each pair's lead, in rational numbers."""
    exact = [[Fraction(w) for w in row] for row in weights.tolist()]
    gaps = {}
    for fact in range(problem.facts):
        x = [Fraction(v) for v in problem.inputs[fact].tolist()]
        image = [sum(w * v for w, v in zip(row, x, strict=True)) for row in exact]
        target = problem.target_outputs[fact].tolist()
        numbers, rivals = problem.competitors(fact)
        for number, rival in zip(numbers.tolist(), rivals.tolist(), strict=True):
            gaps[fact, number] = sum(
                (Fraction(t) - Fraction(r)) * i
                for t, r, i in zip(target, rival, image, strict=True)
            )
    return gaps


def hair_thin(rng, lead):
    """A fact whose rivals trail by about ``lead``, of either sign through rounding."""
    weights, x = rng.standard_normal((3, 4)), rng.standard_normal((1, 4))
    target = rng.standard_normal(3)
    image = weights @ x[0]
    rivals = []
    for _ in range(2):
        along = rng.standard_normal(3)
        along -= image * (along @ image) / (image @ image)
        rivals.append(target + along - lead * image / (image @ image))
    return OriginalProblem(x, np.array([target, *rivals]), [0]), weights


def test_leads_of_rounding_size_against_rational_numbers():
    rng = np.random.default_rng(0)
    tally = {"valid": 0, "negative": 0, "unsure": 0}
    for lead in (0.0, 1e-16, 1e-15, 3e-15, 1e-14, 3e-14, 1e-13):
        for _ in range(60):
            problem, weights = hair_thin(rng, lead)
            outcome = verify(claim_storable(problem, weights), problem)
            gaps = exact_gaps(problem, weights)
            smallest = min(gaps.values())
            if outcome.valid:
                tally["valid"] += 1
                assert smallest > 0
                with mpmath.workdps(40):
                    margin = exact_margin(problem, weights, gaps)
                    assert outcome.margin_bound <= margin
            else:
                tally["negative" if smallest <= 0 else "unsure"] += 1
                assert smallest < 1e-12  # what is refused is of the size of rounding
    assert min(tally.values()) > 30, tally


def length(vector):
    return mpmath.sqrt(sum(mpmath.mpf(value) ** 2 for value in np.ravel(vector).tolist()))


def difference_length(one, other):
    pairs = zip(one.tolist(), other.tolist(), strict=True)
    return mpmath.sqrt(sum((mpmath.mpf(a) - mpmath.mpf(b)) ** 2 for a, b in pairs))


def exact_margin(problem, weights, gaps):
    """Return the normalised margin of weights to many digits."""
    margins = []
    for (fact, rival), gap in gaps.items():
        span = difference_length(problem.target_outputs[fact], problem.outputs[rival])
        lead = mpmath.mpf(gap.numerator) / gap.denominator
        margins.append(lead / (span * length(problem.inputs[fact])))
    return min(margins) / length(weights)


def exact_bound(problem, facts, rivals, values):
    """Return what multipliers bound the margin by, to many digits."""
    total = mpmath.zeros(problem.dim_out, problem.dim_in)
    weight = mpmath.mpf(0)
    for fact, rival, value in zip(facts, rivals, values, strict=True):
        x, target = problem.inputs[fact], problem.target_outputs[fact]
        other = problem.outputs[rival]
        for row in range(problem.dim_out):
            step = value * (mpmath.mpf(target[row]) - mpmath.mpf(other[row]))
            for column in range(problem.dim_in):
                total[row, column] += step * mpmath.mpf(x[column])
        weight += value * difference_length(target, other) * length(x)
    squares = sum(entry**2 for entry in total)
    return mpmath.sqrt(squares) / weight


def test_the_bound_of_multipliers_against_many_digits():
    rng = np.random.default_rng(1)
    with mpmath.workdps(50):
        for trial in range(40):
            x, y = rng.standard_normal((3, 3)), rng.standard_normal((3, 2))
            if trial % 2:  # opposite facts whose sum cancels up to rounding
                x[1] = x[0] * (1 + 1e-15 * rng.integers(-3, 4))
            problem = OriginalProblem(x, y)
            facts, rivals = [0, 1, 2, 2], [1, 0, 0, 1]
            values = np.array([1.0, 1.0, 0.0, 0.0]) if trial % 2 else rng.exponential(size=4)
            outcome = verify(claim_not_storable(problem, facts, rivals, values), problem)
            exact = exact_bound(problem, facts, rivals, [mpmath.mpf(value) for value in values])
            assert outcome.margin_bound >= exact
            assert outcome.margin_bound <= exact * (1 + 1e-9) + 1e-13
            assert outcome.valid == bool(trial % 2)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_weights_beat_the_bound(kind):
    problem, _ = storable(kind)
    rng = np.random.default_rng(2)
    best = verify(decide(problem).certificate, problem).margin_bound
    for _ in range(30):
        facts = np.repeat(np.arange(problem.facts), 2)
        rivals = np.concatenate(
            [rng.choice(problem.competitors(i)[0], 2, replace=False) for i in range(problem.facts)]
        )
        made = claim_not_storable(problem, facts, rivals, rng.exponential(size=len(facts)))
        outcome = verify(made, problem)
        assert not outcome.valid
        assert outcome.margin_bound > best


# Files.


@pytest.mark.parametrize("make", [storable, unstorable], ids=["storable", "not-storable"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_is_saved_comes_back(make, kind, tmp_path):
    problem, found = make(kind)
    path = found.save(tmp_path / "proof.npz")
    assert path == tmp_path / "proof.npz"
    back = Certificate.load(str(path))
    assert (back.claim, back.fingerprint) == (found.claim, found.fingerprint)
    for name in ("weights", "pair_facts", "pair_rivals", "multipliers"):
        one, other = getattr(found, name), getattr(back, name)
        if one is None:
            assert other is None
        else:
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype
    assert verify(back, problem).valid
    again = back.save(tmp_path / "again.npz")
    assert verify(Certificate.load(again), problem) == verify(found, problem)


def test_the_name_of_the_file_is_kept(tmp_path):
    _, found = storable()
    assert found.save(tmp_path / "proof").exists()


def written(path, **fields):
    with path.open("wb") as file:
        np.savez(file, **fields)
    return path


GOOD = {"claim": "storable", "fingerprint": "0", "format": 1}


class Trap:
    """What executes code when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("field", ["weights", "claim", "extra"])
def test_pickled_objects_are_refused_and_never_loaded(field, tmp_path):
    sprung = tmp_path / "sprung"
    array = np.empty((1,), dtype=object)
    array[0] = Trap(sprung)
    path = written(tmp_path / "bad.npz", **(GOOD | {field: array}))
    with pytest.raises(ValueError, match=r"bad\.npz.*written by"):
        Certificate.load(path)
    assert not sprung.exists()


def test_a_plain_pickle_is_refused_and_never_loaded(tmp_path):
    sprung, path = tmp_path / "sprung", tmp_path / "bad.npz"
    path.write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(ValueError, match=r"bad\.npz"):
        Certificate.load(path)
    assert not sprung.exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"nothing", b"PK\x03\x04", b"\x93NUMPY\x01\x00"],
    ids=["empty", "text", "zip", "npy"],
)
def test_other_files_are_refused(content, tmp_path):
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.npz"):
        Certificate.load(path)


@pytest.mark.parametrize("missing", sorted(GOOD))
def test_a_missing_header_is_refused(missing, tmp_path):
    fields = {name: value for name, value in GOOD.items() if name != missing}
    with pytest.raises(ValueError, match=missing):
        Certificate.load(written(tmp_path / "bad.npz", **fields))


def test_an_unknown_claim_or_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match="perhaps"):
        Certificate.load(written(tmp_path / "bad.npz", **(GOOD | {"claim": "perhaps"})))
    with pytest.raises(ValueError, match="format = 2"):
        Certificate.load(written(tmp_path / "bad.npz", **(GOOD | {"format": 2})))


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        Certificate.load(tmp_path / "nothing.npz")


def test_a_truncated_file_is_refused(tmp_path):
    _, found = storable()
    path = found.save(tmp_path / "proof.npz")
    content = path.read_bytes()
    for length_kept in range(0, len(content), 7):
        path.write_bytes(content[:length_kept])
        with pytest.raises(ValueError, match=r"proof\.npz"):
            Certificate.load(path)


def test_flipped_bits_never_crash_and_never_prove_anything_new(tmp_path):
    problem, found = storable()
    path = found.save(tmp_path / "proof.npz")
    content = path.read_bytes()
    for place in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            back = Certificate.load(path)
        except ValueError:
            continue
        if verify(back, problem).valid:
            np.testing.assert_array_equal(back.weights, found.weights)


def damaged_deflate(path):
    _, found = storable()
    found.save(path)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as archive:
        start = archive.getinfo("weights.npy").header_offset
    content[start + 60 : start + 90] = b"\xff" * 30
    path.write_bytes(content)


def lone_array(path):
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def vector_format(path):
    written(path, **(GOOD | {"format": np.array([1, 1])}))


@pytest.mark.parametrize("damage", [damaged_deflate, lone_array, vector_format])
def test_damaged_files_are_refused(damage, tmp_path):
    path = tmp_path / "bad.npz"
    damage(path)
    with pytest.raises(ValueError, match=r"bad\.npz|format"):
        Certificate.load(path)


def test_the_verifier_shares_no_code_with_the_solvers():
    names = set()
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    ours = {name for name in names if name.split(".")[0] == "simonides"}
    assert ours <= {
        "simonides.arguments",
        "simonides.arrays.Integers",
        "simonides.arrays.Reals",
    }
    assert not {name for name in names if "numba" in name or "solvers" in name}
