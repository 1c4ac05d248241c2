"""From a solution to a proof: a certificate that the independent verifier has accepted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.certificate import Certificate, Claim, margin_upper, verify
from simonides.solvers.solution import Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.certificate import Instance
    from simonides.solvers.solution import Solution


def unproved(solution: Solution) -> Solution:
    """Return the solution without anything proved about the facts."""
    return replace(
        solution,
        verdict=Verdict.UNDECIDED,
        certificate=None,
        margin_lower=-np.inf,
        margin_upper=np.inf,
    )


def proved(
    problem: Instance,
    solution: Solution,
    tolerance: float = 1e-9,
    note: Callable[[Solution], None] = lambda _: None,
) -> Solution:
    """Return the solution with the verdict that the verifier grants it, and its certificate.

    One that stores all facts proves them storable, and one with multipliers that they are not; margins
    become the proved ones. ``note`` is told what is known on the way, in case the rest is interrupted.
    """
    undecided = unproved(solution)
    note(undecided)
    certificate = _certificate(problem, solution)
    if certificate is None:
        return undecided
    verification = verify(certificate, problem, tolerance=tolerance)
    if not verification.valid:
        return undecided
    bound = verification.margin_bound
    if certificate.claim is Claim.NOT_STORABLE:
        return replace(
            undecided,
            verdict=Verdict.NOT_STORABLE,
            certificate=certificate,
            margin_upper=bound,
        )
    storable = replace(
        undecided, verdict=Verdict.STORABLE, certificate=certificate, margin_lower=bound
    )
    note(storable)
    return replace(storable, margin_upper=margin_upper(certificate, problem))


def _certificate(problem: Instance, solution: Solution) -> Certificate | None:
    """Return what a solution claims, with the arrays that would prove it."""
    stored = solution.status is Status.STORED
    arrays: dict[str, Any] = {}
    if stored and solution.factors is not None:
        arrays["left"], arrays["right"] = solution.factors
    elif stored:
        arrays["weights"] = solution.weights
    if solution.multipliers is not None:
        arrays["pair_facts"] = solution.multipliers.facts
        arrays["pair_rivals"] = solution.multipliers.rivals
        arrays["multipliers"] = solution.multipliers.values
    if not arrays:
        return None
    claim = Claim.STORABLE if stored else Claim.NOT_STORABLE
    return Certificate(claim, problem.fingerprint(), **arrays)
