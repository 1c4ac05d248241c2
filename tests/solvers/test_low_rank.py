"""Storing in factors: what is planted is found, what is found is proved, and failing claims nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from definition import BOTH, KINDS, assert_recall_is_counted, constraints, leads_of

from simonides import capacity
from simonides.certificate import Certificate, Claim, verify
from simonides.failures import BadArgumentError
from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.decide import decide
from simonides.solvers.hinge.low_rank import low_rank
from simonides.solvers.solution import Status, Verdict


def planted(seed, rank, facts=40, dim=8, candidates=10):
    """Facts that some weights of the rank store: targets are what those weights answer."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((dim, rank)) @ rng.standard_normal((rank, dim))
    outputs, inputs = rng.standard_normal((candidates, dim)), rng.standard_normal((facts, dim))
    targets = (inputs @ weights.T @ outputs.T).argmax(axis=1)
    return OriginalProblem(inputs, outputs, targets), weights


def assert_consistent(problem, solution, rank):
    left, right = solution.factors
    assert left.shape == (problem.dim_out, rank)
    assert right.shape == (problem.dim_in, rank)
    np.testing.assert_allclose(left @ right.T, solution.weights, rtol=1e-12, atol=1e-14)
    assert np.linalg.matrix_rank(solution.weights) <= rank
    assert_recall_is_counted(problem, solution)
    assert (solution.status is Status.STORED) == (solution.recalled == problem.facts)
    assert solution.status is not Status.INFEASIBLE
    assert solution.multipliers is None


@pytest.mark.parametrize("rank", [1, 2, 4, 8])
def test_planted_facts_are_found_more_often_than_not(rank):
    shares = []
    for seed in range(8):
        problem, weights = planted(seed, rank)
        assert leads_of(problem, weights).min() > 0
        solution = low_rank(problem, rank)
        assert_consistent(problem, solution, rank)
        shares.append(solution.status is Status.STORED)
    assert sum(shares) >= 6, shares


@BOTH
@pytest.mark.parametrize("rank", [1, 3, 5])
def test_easy_facts_are_stored_at_any_rank(kind, rank):
    for seed in range(3):
        problem = KINDS[kind].gaussian(2, 5, 7, candidates=2, seed=seed)
        solution = low_rank(problem, rank)
        assert_consistent(problem, solution, rank)
        if kind == "decoupled" or rank > 1:
            assert solution.status is Status.STORED


@BOTH
def test_the_full_rank_is_no_bound(kind):
    for facts in (8, 12):
        problem = KINDS[kind].gaussian(facts, 6, seed=1)
        solution = low_rank(problem, 6)
        assert_consistent(problem, solution, 6)
        assert solution.status is Status.STORED


@BOTH
@pytest.mark.parametrize("rank", [1, 2, 5])
def test_facts_that_do_not_fit_are_never_called_infeasible(kind, rank):
    problem = KINDS[kind].gaussian(40, 5, seed=0)
    solution = low_rank(problem, rank, max_steps=80)
    assert_consistent(problem, solution, rank)
    assert solution.status in (Status.CONVERGED, Status.STOPPED)
    assert solution.margin_upper == np.inf


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_the_step_limit_stops(steps):
    problem = OriginalProblem.gaussian(40, 5, seed=0)
    solution = low_rank(problem, 2, max_steps=steps)
    assert_consistent(problem, solution, 2)
    assert (solution.status, solution.steps) == (Status.STOPPED, steps)


def test_every_step_is_watched_and_any_can_be_the_last():
    problem, seen = OriginalProblem.gaussian(40, 5, seed=0), []
    whole = low_rank(problem, 2, max_steps=12, watch=seen.append)
    assert tuple(seen) == whole.history
    assert [progress.step for progress in seen] == list(range(whole.steps + 1))
    for stop in range(whole.steps):

        def watch(progress, stop=stop):
            if progress.step == stop:
                raise KeyboardInterrupt

        solution = low_rank(problem, 2, watch=watch)
        assert (solution.status, solution.steps) == (Status.STOPPED, stop)
        assert_consistent(problem, solution, 2)


@pytest.mark.parametrize("rank", [0, -1, 5, 1.5, True])
def test_impossible_ranks_are_named(rank):
    with pytest.raises(BadArgumentError, match="rank = "):
        low_rank(OriginalProblem.gaussian(6, 4, 7, seed=0), rank)


def test_without_a_rank_it_is_the_largest_there_is():
    problem = OriginalProblem.gaussian(6, 4, 7, seed=0)
    np.testing.assert_array_equal(low_rank(problem).weights, low_rank(problem, 4).weights)


@pytest.mark.parametrize(
    ("inputs", "outputs", "targets"),
    [
        pytest.param(np.zeros((2, 3)), np.eye(2), [0, 1], id="zero-inputs"),
        pytest.param(np.eye(2, 3), np.zeros((2, 2)), [0, 1], id="zero-outputs"),
        pytest.param(np.eye(2), np.ones((2, 2)), [0, 1], id="equal-outputs"),
        pytest.param(np.array([[0.0, 0.0], [1.0, 0.0]]), np.eye(2), [0, 1], id="a-zero-input"),
        pytest.param(np.array([[1.0, 2], [1, 2]]), np.eye(2), [0, 1], id="an-input-twice"),
    ],
)
@pytest.mark.parametrize("rank", [1, 2])
def test_impossible_facts_end_without_a_claim_and_then_with_a_proof(inputs, outputs, targets, rank):
    problem = OriginalProblem(inputs, outputs, targets)
    solution = low_rank(problem, rank, max_steps=30)
    assert solution.status in (Status.CONVERGED, Status.STOPPED)
    assert np.isfinite(solution.weights).all()
    assert decide(problem, rank=rank, max_steps=60).verdict is Verdict.NOT_STORABLE


def test_a_start_of_zero_is_left():
    # The mean of output times input vanishes, though the weight one stores these facts.
    problem = OriginalProblem([[1.0], [-1.0], [-1.0]], [[2.0], [1.0]], [0, 1, 1])
    solution = low_rank(problem, 1)
    assert_consistent(problem, solution, 1)
    assert solution.status is Status.STORED


@pytest.mark.parametrize("dims", [(1, 1), (1, 5), (5, 1)])
@BOTH
def test_one_dimension(kind, dims):
    for seed in range(4):
        problem = KINDS[kind].gaussian(2, *dims, candidates=3, seed=seed)
        assert_consistent(problem, low_rank(problem, 1, max_steps=60), 1)
        expected = decide(problem).verdict
        assert decide(problem, rank=1).verdict is expected  # every matrix is of rank one


# Verdicts.


def factored(kind="original"):
    problem = KINDS[kind].gaussian(10, 7, 6, seed=0)
    decision = decide(problem, rank=3)
    assert decision.verdict is Verdict.STORABLE
    return problem, decision.certificate, decision


@BOTH
def test_factors_prove_that_facts_fit(kind):
    problem, proof, decision = factored(kind)
    assert proof.claim is Claim.STORABLE
    assert proof.weights is None
    assert proof.left.shape == (6, 3)
    assert proof.right.shape == (7, 3)
    outcome = verify(proof, problem)
    assert outcome.valid
    assert outcome.margin_bound == decision.margin_lower > 0
    weights = proof.left @ proof.right.T
    rows = constraints(problem)
    leads = rows @ weights.ravel() / np.linalg.norm(rows, axis=1)
    margin = leads.min() / np.linalg.norm(weights)
    assert margin * (1 - 1e-6) < outcome.margin_bound <= margin
    plain = Certificate(Claim.STORABLE, proof.fingerprint, weights=weights)
    assert verify(plain, problem).margin_bound == pytest.approx(outcome.margin_bound, rel=1e-9)


def test_tampered_factors_are_rejected():
    problem, proof, _ = factored()
    square = OriginalProblem.gaussian(10, 6, seed=0)
    turned = decide(square, rank=3).certificate
    assert verify(turned, square).valid
    left, right = turned.left, turned.right

    def assert_rejected(certificate, about=problem, reason=""):
        outcome = verify(certificate, about)
        assert not outcome.valid
        assert reason in outcome.reason

    assert_rejected(replace(turned, left=right, right=left), square, "not recalled")
    assert_rejected(replace(turned, left=-left), square, "not recalled")
    assert_rejected(replace(proof, left=proof.right, right=proof.left), reason="not float64")
    shape = "not float64"
    assert_rejected(replace(proof, left=proof.left[:, :2]), reason=shape)  # inner dimensions differ
    assert_rejected(replace(proof, right=proof.right[:, :2]), reason=shape)
    assert_rejected(replace(proof, left=proof.left[:5]), reason=shape)
    assert_rejected(replace(proof, right=proof.right[:5]), reason=shape)
    assert_rejected(replace(proof, left=proof.left.T.copy()), reason=shape)
    assert_rejected(replace(proof, left=np.float32(proof.left)), reason=shape)
    assert_rejected(replace(proof, left=proof.left + 0j), reason=shape)
    assert_rejected(replace(proof, left=proof.left[:, 0]), reason=shape)
    assert_rejected(replace(proof, left=proof.left[:, :0], right=proof.right[:, :0]), reason=shape)
    assert_rejected(replace(proof, left=None), reason=shape)
    assert_rejected(replace(proof, right=None), reason=shape)
    assert_rejected(replace(proof, left=0 * proof.left), reason="zero")
    for bad in (np.nan, np.inf):
        broken = proof.right.copy()
        broken[0, 0] = bad
        assert_rejected(replace(proof, right=broken), reason="not finite")
    # One changed entry: what the verifier says is what dense arithmetic says.
    agreed = {True: 0, False: 0}
    for place in np.ndindex(proof.left.shape):
        for factor in (-1, -10, 1.001):
            changed = proof.left.copy()
            changed[place] *= factor
            gaps = leads_of(problem, changed @ proof.right.T)
            valid = verify(replace(proof, left=changed), problem).valid
            assert valid == (gaps.min() > 0)
            agreed[valid] += 1
    assert min(agreed.values()) > 5, agreed


def test_factors_come_back_from_a_file(tmp_path):
    problem, proof, _ = factored()
    back = Certificate.load(proof.save(tmp_path / "proof.npz"))
    np.testing.assert_array_equal(back.left, proof.left)
    np.testing.assert_array_equal(back.right, proof.right)
    assert verify(back, problem) == verify(proof, problem)


def test_a_rank_too_small_is_not_found_but_nothing_is_proved():
    # More facts than any rank-one weights hold, fewer than full weights do.
    problem = OriginalProblem.gaussian(12, 6, seed=0)
    assert decide(problem).verdict is Verdict.STORABLE
    decision = decide(problem, rank=1, max_steps=100)
    assert decision.verdict is Verdict.NOT_FOUND
    assert decision.certificate is None
    assert (decision.margin_lower, decision.margin_upper) == (-np.inf, np.inf)
    assert decision.solution.factors[0].shape == (6, 1)


@BOTH
def test_what_no_weights_store_no_factors_do(kind):
    problem = KINDS[kind].gaussian(40, 5, seed=0)
    decision = decide(problem, rank=2, max_steps=60)
    assert decision.verdict is Verdict.NOT_STORABLE
    assert verify(decision.certificate, problem).valid


def test_an_interruption_ends_the_whole_decision():
    problem, calls = OriginalProblem.gaussian(40, 5, seed=0), []

    def watch(progress):
        calls.append(progress)
        if len(calls) == 2:
            raise KeyboardInterrupt

    decision = decide(problem, rank=2, watch=watch)
    assert len(calls) == 2
    assert decision.verdict is Verdict.UNDECIDED
    assert (decision.solution.status, decision.solution.interrupted) == (Status.STOPPED, True)
    assert decision.solution.steps == 1
    assert decision.certificate is None


@pytest.mark.parametrize("options", [{"margin_gap": 0.1}, {"start": np.zeros((5, 5))}], ids=str)
def test_what_a_rank_does_not_go_with_is_named(options):
    with pytest.raises(BadArgumentError, match="rank = 2"):
        decide(OriginalProblem.gaussian(4, 5, seed=0), rank=2, **options)


@pytest.mark.slow
def test_close_to_the_capacity_of_a_rank_facts_are_found():
    facts = round(0.95 * float(capacity(50, rank=25).facts))
    shares = []
    for seed in range(5):
        problem = OriginalProblem.gaussian(facts, 50, seed=seed)
        decision = decide(problem, rank=25, threads=1)
        shares.append(decision.verdict)
        if decision.verdict is Verdict.STORABLE:
            assert verify(decision.certificate, problem).valid
    assert shares.count(Verdict.STORABLE) >= 3, shares
    assert set(shares) <= {Verdict.STORABLE, Verdict.NOT_FOUND}
