"""The hinge by its definition, over all pairs at once: what solvers are checked against."""

from __future__ import annotations

import numpy as np
import pytest
from definition import KINDS
from scipy.optimize import brentq

from simonides.solvers.hinge.hinge import SLACK_PRICE

CASES = pytest.mark.parametrize(
    ("kind", "facts", "candidates"),
    [
        ("original", 8, None),
        ("original", 12, 3),
        ("original", 3, 9),
        ("decoupled", 8, None),
        ("decoupled", 12, 2),
        ("decoupled", 1, 5),
    ],
)


def rows_of(problem, exact=False):
    """Every constraint (y_i - y_j) x_i' per unit of size and input length, or of its own length."""
    rows = []
    for fact in range(problem.facts):
        target, x = problem.target_outputs[fact], problem.inputs[fact]
        for vector in problem.competitors(fact)[1]:
            unit = target - vector if exact else np.concatenate((target, vector))
            row = np.outer(target - vector, x / np.linalg.norm(x)) / np.linalg.norm(unit)
            rows.append(row.ravel())
    return np.array(rows)


def excess_of(problem, weights, exact=False):
    """How far each pair falls short of a lead of one, one row per fact."""
    leads = rows_of(problem, exact) @ weights.ravel()
    return np.maximum(1 - leads, 0).reshape(problem.facts, -1)


def slacks_of(problem, weights, exact=False):
    """Each fact's slack: where its price has used up what is left of the excesses."""
    return np.array(
        [
            brentq(
                lambda s, row=row: SLACK_PRICE * s - np.maximum(row - s, 0).sum(), 0, 1 + row.max()
            )
            if row.any()
            else 0.0
            for row in excess_of(problem, weights, exact)
        ]
    )


def residuals_of(problem, weights, exact=False):
    slacks = slacks_of(problem, weights, exact)
    return np.maximum(excess_of(problem, weights, exact) - slacks[:, None], 0).ravel()


def objective_of(problem, weights, exact=False):
    residuals = residuals_of(problem, weights, exact)
    slacks = slacks_of(problem, weights, exact)
    return (residuals @ residuals + SLACK_PRICE * slacks @ slacks) / 2


def hessian_of(problem, weights, exact=False):
    """The second derivative on the active pairs, less what the slacks take."""
    residuals = residuals_of(problem, weights, exact)
    active = rows_of(problem, exact)[residuals > 0]
    owners = np.repeat(np.arange(problem.facts), len(residuals) // problem.facts)[residuals > 0]
    counts = np.bincount(owners, minlength=problem.facts)[owners]
    shared = (owners[:, None] == owners) / (counts + SLACK_PRICE)
    return active.T @ (active - shared @ active)


def make(kind, facts, candidates=None, seed=0):
    return KINDS[kind].gaussian(facts, 4, 3, candidates=candidates, seed=seed)


def weights_of(scale, seed=1):
    return scale * np.random.default_rng(seed).standard_normal((3, 4))


EXACT = pytest.mark.parametrize("exact", [False, True], ids=["sizes", "spans"])
