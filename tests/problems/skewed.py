"""Problems in bad coordinates, and their leads."""

from __future__ import annotations

import numpy as np

from simonides.problems.original import OriginalProblem


def bent(rng, dim, spread):
    """An invertible matrix of the given condition number."""
    left, right = (np.linalg.qr(rng.standard_normal((dim, dim)))[0] for _ in range(2))
    return (left * np.geomspace(1, 1 / spread, dim)) @ right


def skewed(facts, dim_in, dim_out=None, *, spread, seed, candidates=None):
    """A Gaussian problem, and the same after a bad change of coordinates."""
    straight = OriginalProblem.gaussian(facts, dim_in, dim_out, candidates=candidates, seed=seed)
    rng = np.random.default_rng([seed, 1])
    inputs = straight.inputs @ bent(rng, straight.dim_in, spread)
    outputs = straight.outputs @ bent(rng, straight.dim_out, spread) + rng.standard_normal(
        straight.dim_out
    )
    targets = None if straight.all_compete else straight.targets
    return straight, OriginalProblem(inputs, outputs, targets)


def all_gaps(problem, weights):
    """The lead of every target over every output, shape (facts, candidates)."""
    scores = problem.inputs @ weights.T @ problem.outputs.T
    return scores[np.arange(problem.facts), problem.targets][:, None] - scores
