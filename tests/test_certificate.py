"""Certificates: valid ones pass, tampered ones do not, and no code is shared with solvers."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from proofs import KINDS, assert_rejected, claim_not_storable, claim_storable, storable, unstorable

from simonides.certificate import Claim, margin_upper, recomputed, rounding, verify
from simonides.certificate import verifier as module
from simonides.problems import original as original_module
from simonides.problems import scan as scan_module
from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.decide import decide

# Valid ones.


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_weights_that_store_prove_it(kind):
    problem, proof = storable(kind)
    outcome = verify(proof, problem)
    assert (outcome.valid, outcome.claim, outcome.reason) == (True, Claim.STORABLE, "")
    gaps = []
    for fact in range(problem.facts):
        difference = problem.target_outputs[fact] - problem.competitors(fact)[1]
        x = problem.inputs[fact]
        spans = np.linalg.norm(difference, axis=1) * np.linalg.norm(x)
        gaps.append((difference @ proof.weights @ x / spans).min())
    margin = min(gaps) / np.linalg.norm(proof.weights)
    assert margin * (1 - 1e-6) < outcome.margin_bound <= margin


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_multipliers_prove_that_facts_do_not_fit(kind):
    problem, proof = unstorable(kind)
    outcome = verify(proof, problem)
    assert (outcome.valid, outcome.claim, outcome.reason) == (True, Claim.NOT_STORABLE, "")
    assert 0 <= outcome.margin_bound < 1e-6
    assert "tolerance" in verify(proof, problem, tolerance=outcome.margin_bound / 2).reason


@pytest.mark.parametrize("scale", [1e-30, 3.0, 1e30])
def test_the_scale_of_a_proof_does_not_matter(scale):
    problem, proof = storable()
    scaled = replace(proof, weights=proof.weights * scale)
    expected = verify(proof, problem).margin_bound
    assert verify(scaled, problem).margin_bound == pytest.approx(expected, rel=1e-9)
    problem, proof = unstorable()
    scaled = replace(proof, multipliers=proof.multipliers * scale)
    expected = verify(proof, problem).margin_bound
    assert verify(scaled, problem).margin_bound == pytest.approx(expected, rel=1e-6)


def test_multipliers_may_come_in_any_order():
    problem, proof = unstorable()
    order = np.random.default_rng(0).permutation(len(proof.multipliers))
    shuffled = claim_not_storable(
        problem, proof.pair_facts[order], proof.pair_rivals[order], proof.multipliers[order]
    )
    assert verify(shuffled, problem).valid


# Tampered ones.


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_tampered_weights_are_rejected(kind):
    problem, proof = storable(kind)
    assert_rejected(replace(proof, weights=-proof.weights), problem, "not recalled")
    assert_rejected(replace(proof, weights=np.zeros_like(proof.weights)), problem, "zero")
    assert_rejected(
        replace(proof, weights=proof.weights.T.copy()), problem, "weights are not float64"
    )
    assert_rejected(replace(proof, weights=proof.weights[None]), problem, "weights are not float64")
    assert_rejected(
        replace(proof, weights=np.float32(proof.weights)), problem, "weights are not float64"
    )
    assert_rejected(replace(proof, weights=np.array(1.0)), problem, "weights are not float64")
    assert_rejected(replace(proof, weights=proof.weights + 0j), problem, "weights are not float64")
    assert_rejected(replace(proof, weights=None), problem, "weights are not float64")
    for bad in (np.nan, np.inf, -np.inf):
        weights = proof.weights.copy()
        weights[0, 0] = bad
        assert_rejected(replace(proof, weights=weights), problem, "not finite")


def test_the_fact_that_is_not_recalled_is_named():
    problem = OriginalProblem(np.eye(3), np.eye(3), [0, 1, 2])
    assert verify(claim_storable(problem, np.eye(3)), problem).valid
    assert_rejected(claim_storable(problem, np.diag([1.0, 1.0, 0.0])), problem, "fact 2")


def test_a_fact_is_named_and_the_smallest_lead_found_in_whichever_block(monkeypatch):
    monkeypatch.setattr(scan_module, "_BLOCK_BYTES", 1)
    monkeypatch.setattr(original_module, "_LEAST_ROWS", 3)
    problem = OriginalProblem(np.eye(9), np.eye(9), np.arange(9))
    for worst in range(9):
        leads = np.linspace(2.0, 1.0, 9)
        leads[worst] = 0.5
        outcome = verify(claim_storable(problem, np.diag(leads)), problem)
        expected = 0.5 / 2**0.5 / np.linalg.norm(leads)
        assert outcome.margin_bound == pytest.approx(expected, rel=1e-9)
        leads[worst] = 0.0
        assert_rejected(claim_storable(problem, np.diag(leads)), problem, f"fact {worst} ")


@dataclass(frozen=True)
class TwoFacts:
    """Two facts, each with its own candidates: those of the second are much longer."""

    facts: int = 2
    candidates: int = 2
    inputs = target_outputs = np.eye(2)
    targets = np.zeros(2, int)

    def fingerprint(self):
        return "two facts"

    def contests(self, facts):
        for fact, rival in enumerate([(0.999, 0.1), (100.0, 0.9)][:facts]):
            yield slice(fact, fact + 1), np.array([self.target_outputs[fact], rival])


def test_candidates_that_are_not_shared_are_measured_for_each_fact():
    outcome = verify(claim_storable(TwoFacts(), np.eye(2)), TwoFacts())
    expected = 0.1 / np.hypot(100.0, 0.1) / 2**0.5
    assert outcome.margin_bound == pytest.approx(expected, rel=1e-9)


class Refilled(TwoFacts):
    """The same, in one array that is filled anew for each fact."""

    def contests(self, facts):
        one = np.empty((2, 2))
        for rows, outputs in super().contests(facts):
            one[:] = outputs
            yield rows, one


def test_candidates_in_an_array_that_is_filled_anew_are_measured_anew():
    certificate = claim_storable(TwoFacts(), np.eye(2))
    assert verify(certificate, Refilled()) == verify(certificate, TwoFacts())


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_tampered_multipliers_are_rejected(kind):
    problem, proof = unstorable(kind)
    values, facts, rivals = proof.multipliers, proof.pair_facts, proof.pair_rivals

    def changed(array, value):
        copy = array.copy()
        copy[np.argmax(values)] = value
        return copy

    top = int(np.argmax(values))
    sign = "non-negative"
    assert_rejected(replace(proof, multipliers=changed(values, -1e-3)), problem, sign)
    assert_rejected(replace(proof, multipliers=changed(values, np.nan)), problem, sign)
    assert_rejected(replace(proof, multipliers=changed(values, np.inf)), problem, sign)
    assert_rejected(replace(proof, multipliers=values * 0), problem, sign)
    assert_rejected(
        replace(proof, multipliers=changed(values, values[top] * 1.01)), problem, "tolerance"
    )
    assert_rejected(replace(proof, multipliers=values[:-1]), problem, "differ in number")
    assert_rejected(replace(proof, multipliers=values[:, None]), problem, "differ in number")
    assert_rejected(replace(proof, pair_facts=facts[:-1]), problem, "differ in number")
    assert_rejected(replace(proof, pair_rivals=rivals[:-1]), problem, "differ in number")
    assert_rejected(replace(proof, pair_facts=facts.astype(float)), problem, "wrong type")
    assert_rejected(replace(proof, pair_rivals=rivals.astype(str)), problem, "wrong type")
    assert_rejected(replace(proof, multipliers=values.astype(complex)), problem, "wrong type")
    assert_rejected(replace(proof, multipliers=values.astype(object)), problem, "wrong type")
    assert_rejected(
        replace(proof, pair_facts=changed(facts, problem.facts)), problem, "does not exist"
    )
    assert_rejected(replace(proof, pair_facts=changed(facts, -1)), problem, "does not exist")
    beyond = problem.candidates
    assert_rejected(replace(proof, pair_rivals=changed(rivals, beyond)), problem, "does not exist")
    assert_rejected(replace(proof, pair_rivals=changed(rivals, -1)), problem, "does not exist")
    own = facts[top] if kind == "original" else 0
    assert_rejected(replace(proof, pair_rivals=changed(rivals, own)), problem, "not its own rival")
    other = next(j for j in range(1, beyond) if j not in (rivals[top], own))
    assert_rejected(replace(proof, pair_rivals=changed(rivals, other)), problem, "tolerance")
    for name in ("multipliers", "pair_facts", "pair_rivals"):
        assert_rejected(replace(proof, **{name: None}), problem, "no multipliers")
    empty = claim_not_storable(problem, facts[:0], rivals[:0], values[:0])
    assert_rejected(empty, problem, "no multipliers")


def test_no_single_multiplier_proves_anything():
    problem, _ = storable()
    for fact in range(problem.facts):
        for rival in problem.competitors(fact)[0]:
            assert_rejected(
                claim_not_storable(problem, [fact], [rival], [1.0]), problem, "tolerance"
            )


def test_a_shared_target_is_no_rival():
    problem = OriginalProblem(np.eye(3), np.eye(3), [2, 2, 1])
    assert_rejected(
        claim_not_storable(problem, [1], [2], [1.0]), problem, "fact 1 is not its own rival"
    )


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_proofs_for_another_problem_are_rejected(kind):
    for make in (storable, unstorable):
        problem, proof = make(kind)
        other = make(kind, seed=1)[0]
        assert_rejected(proof, other, "another problem")
        assert_rejected(proof, problem.prefix(problem.facts - 1), "another problem")
        assert_rejected(replace(proof, fingerprint=other.fingerprint()), problem, "another problem")
        # signed with the wrong name, the proof itself does not hold either
        assert not verify(replace(proof, fingerprint=other.fingerprint()), other).valid


def test_one_changed_bit_makes_another_problem():
    problem, proof = storable()
    outputs = problem.outputs.copy()
    outputs[3, 1] = np.nextafter(outputs[3, 1], 9)
    assert_rejected(proof, OriginalProblem(problem.inputs, outputs), "another problem")


def test_the_other_claim_is_not_proved():
    problem, proof = storable()
    assert_rejected(replace(proof, claim=Claim.NOT_STORABLE), problem, "no multipliers")
    problem, proof = unstorable()
    assert_rejected(replace(proof, claim=Claim.STORABLE), problem, "weights are not float64")


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


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_upper_bound_of_a_certificate(kind):
    problem, proof = unstorable(kind)
    assert margin_upper(proof, problem) == verify(proof, problem).margin_bound
    # Whatever else is claimed, multipliers bound the margin; without any there is no bound.
    both = replace(proof, claim=Claim.STORABLE, weights=np.ones((3, 3)))
    assert margin_upper(both, problem) == margin_upper(proof, problem)
    assert not verify(both, problem).valid
    problem, proof = storable(kind)
    assert margin_upper(proof, problem) == np.inf
    flawed = claim_not_storable(problem, [0], [1], [-1.0])
    assert margin_upper(flawed, problem) == np.inf


def test_doubled_pairs_count_twice():
    problem, proof = unstorable()
    twice = claim_not_storable(
        problem,
        np.tile(proof.pair_facts, 2),
        np.tile(proof.pair_rivals, 2),
        np.tile(proof.multipliers, 2),
    )
    assert verify(twice, problem).margin_bound == pytest.approx(
        verify(proof, problem).margin_bound, rel=1e-4, abs=1e-13
    )


def test_verification_does_not_depend_on_blocks(monkeypatch):
    for make in (storable, unstorable):
        problem, proof = make()
        whole = verify(proof, problem)
        monkeypatch.setattr(scan_module, "_BLOCK_BYTES", 8 * problem.candidates * 2)
        monkeypatch.setattr(original_module, "_LEAST_ROWS", 1)
        assert len(list(problem.contests(problem.facts))) == -(-problem.facts // 2)
        monkeypatch.setattr(module, "CHUNK", 3)
        monkeypatch.setattr(recomputed, "CHUNK", 3)
        parts = verify(proof, problem)
        assert (parts.valid, parts.reason) == (whole.valid, whole.reason)
        assert parts.margin_bound == pytest.approx(whole.margin_bound, rel=1e-4, abs=1e-13)
        monkeypatch.undo()


def test_the_verifier_shares_no_code_with_the_solvers():
    names = set()
    for part in (module, recomputed, rounding):
        for node in ast.walk(ast.parse(Path(part.__file__).read_text())):
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
        "simonides.certificate.recomputed.CHUNK",
        "simonides.certificate.recomputed.Instance",
        "simonides.certificate.recomputed.fields",
        "simonides.reading.expecting",
        "simonides.reading.read_arrays",
        "simonides.writing.write_arrays",
        *(
            f"simonides.certificate.rounding.{name}"
            for name in ("UNDERFLOW", "gamma", "length", "lengths")
        ),
    }
    assert not {name for name in names if "numba" in name or "solvers" in name}
