"""Certificates of either claim, true or made up, and how a refusal is seen."""

from __future__ import annotations

import numpy as np

from simonides.certificate import Certificate, Claim, verify
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.decide import decide

KINDS = {"original": OriginalProblem, "decoupled": DecoupledProblem}


def storable(kind="original", seed=0):
    problem = KINDS[kind].gaussian(6, 5, 4, seed=seed)
    proof = decide(problem).certificate
    assert proof.claim is Claim.STORABLE
    return problem, proof


def unstorable(kind="original", seed=0):
    problem = KINDS[kind].gaussian(16, 3, 3, seed=seed)
    proof = decide(problem).certificate
    assert proof.claim is Claim.NOT_STORABLE
    return problem, proof


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


def assert_rejected(certificate, problem, reason):
    outcome = verify(certificate, problem)
    assert not outcome.valid
    assert reason in outcome.reason, outcome.reason
