"""Can these facts be stored? A verdict, and the proof of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from simonides.certificate import Certificate, Claim, verify
from simonides.solvers.feasibility import feasibility
from simonides.solvers.solution import Solution, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals
    from simonides.problems.decoupled import DecoupledProblem
    from simonides.problems.original import OriginalProblem
    from simonides.solvers.solution import Progress


class Verdict(StrEnum):
    """What is known about the facts."""

    STORABLE = "storable"
    NOT_STORABLE = "not-storable"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class Decision:
    r"""A verdict with its proof, and a bracket of the largest normalised margin.

    The margin is that of :math:`\max_{|W|_F = 1} \min_{ij} (y_i - y_j)^T W x_i / (|y_i - y_j| |x_i|)`; a
    bound that nothing was proved about is infinite.
    """

    verdict: Verdict
    margin_lower: float
    margin_upper: float
    certificate: Certificate | None
    solution: Solution


def decide(
    problem: OriginalProblem | DecoupledProblem,
    *,
    start: Reals | None = None,
    tolerance: float = 1e-9,
    max_steps: int = 200,
    watch: Callable[[Progress], None] | None = None,
) -> Decision:
    """Decide whether the facts can be stored, and prove it.

    A verdict is given only if the independent verifier accepts the proof; "not storable" means that no
    weights have a normalised margin above ``tolerance``.

    >>> from simonides.problems.original import OriginalProblem
    >>> str(decide(OriginalProblem.gaussian(20, 10, seed=0)).verdict)
    'storable'
    """
    solution = feasibility(
        problem, start=start, tolerance=tolerance, max_steps=max_steps, watch=watch
    )
    certificate = _certificate(problem, solution)
    undecided = Decision(Verdict.UNDECIDED, -np.inf, np.inf, None, solution)
    if certificate is None:
        return undecided
    checked = verify(certificate, problem, tolerance=tolerance)
    if not checked.valid:
        return undecided
    if certificate.claim is Claim.STORABLE:
        return Decision(Verdict.STORABLE, checked.margin_bound, np.inf, certificate, solution)
    return Decision(Verdict.NOT_STORABLE, -np.inf, checked.margin_bound, certificate, solution)


def _certificate(
    problem: OriginalProblem | DecoupledProblem, solution: Solution
) -> Certificate | None:
    if solution.status is Status.STORED:
        return Certificate(Claim.STORABLE, problem.fingerprint(), weights=solution.weights)
    if solution.multipliers is not None:
        return Certificate(
            Claim.NOT_STORABLE,
            problem.fingerprint(),
            pair_facts=solution.multipliers.facts,
            pair_rivals=solution.multipliers.rivals,
            multipliers=solution.multipliers.values,
        )
    return None
