"""Problems by their definition, over all pairs at once: what solvers and verdicts are checked against."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from simonides.certificate import Claim, verify
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.decide import decide
from simonides.solvers.solution import Verdict

KINDS = {"original": OriginalProblem, "decoupled": DecoupledProblem}
BOTH = pytest.mark.parametrize("kind", sorted(KINDS))


def constraints(problem):
    """One row (y_i - y_j) x_i^T per pair."""
    rows = []
    for fact in range(problem.facts):
        differences = problem.target_outputs[fact] - problem.competitors(fact)[1]
        rows += [np.outer(difference, problem.inputs[fact]).ravel() for difference in differences]
    return np.array(rows)


def leads_of(problem, weights):
    """Each target's leads over its rivals, one row per fact."""
    return (constraints(problem) @ weights.ravel()).reshape(problem.facts, -1)


def linear_program_stores(problem):
    """Whether weights exist that give every target a lead of one, by HiGHS."""
    rows = constraints(problem)
    answer = linprog(
        np.zeros(rows.shape[1]),
        A_ub=-rows,
        b_ub=-np.ones(len(rows)),
        bounds=(None, None),
        method="highs",
    )
    assert answer.status in (0, 2), answer.message
    return answer.status == 0


def assert_recall_is_counted(problem, solution):
    """See that a solution says of its weights what dense arithmetic says."""
    leads = leads_of(problem, solution.weights)
    rounding = (
        8 * np.finfo(float).eps * np.abs(leads).max()
    )  # within which another order of sums decides
    leads = leads.min(axis=1)
    surely, perhaps = (np.count_nonzero(leads > least) for least in (rounding, -rounding))
    assert surely <= solution.recalled <= perhaps
    assert solution.smallest_gap == pytest.approx(leads.min(), rel=1e-9, abs=rounding)


def assert_proved(problem, **options):
    """Decide, see that whatever is said is proved, and return the decision."""
    decision = decide(problem, **options)
    tolerance = options.get("tolerance", 1e-9)
    if decision.verdict is Verdict.STORABLE:
        assert leads_of(problem, decision.solution.weights).min() > 0
        assert 0 < decision.margin_lower < decision.margin_upper
        assert "margin_gap" in options or decision.margin_upper == np.inf
        assert decision.certificate.claim is Claim.STORABLE
    elif decision.verdict is Verdict.NOT_STORABLE:
        assert decision.margin_lower == -np.inf
        assert 0 <= decision.margin_upper < tolerance
        assert decision.certificate.claim is Claim.NOT_STORABLE
    if decision.verdict is not Verdict.UNDECIDED:
        assert verify(decision.certificate, problem, tolerance=tolerance).valid
    return decision


def proved_verdict(problem, **options):
    return assert_proved(problem, **options).verdict
