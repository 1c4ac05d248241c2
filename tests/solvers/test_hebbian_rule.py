"""The Hebbian rule as a solver."""

from __future__ import annotations

import numpy as np
import pytest
from definition import BOTH, KINDS, assert_recall_is_counted

from simonides.problems.original import OriginalProblem
from simonides.solvers.rules.hebbian import hebbian, hebbian_weights
from simonides.solvers.solution import Status
from simonides.theory.hebbian import recall_probability


@BOTH
@pytest.mark.parametrize(("facts", "candidates"), [(7, 7), (9, 3), (4, 12), (1, 2)])
def test_weights_are_the_mean_of_outer_products(kind, facts, candidates):
    problem = KINDS[kind].gaussian(facts, 5, 3, candidates=candidates, seed=1)
    expected = np.mean(
        [np.outer(y, x) for y, x in zip(problem.target_outputs, problem.inputs, strict=True)],
        axis=0,
    )
    np.testing.assert_allclose(hebbian_weights(problem), expected, rtol=1e-12, atol=1e-15)
    assert hebbian(problem).weights.shape == (3, 5)


@BOTH
def test_what_is_recalled_is_counted(kind):
    problem = KINDS[kind].gaussian(25, 6, seed=2)
    solution = hebbian(problem)
    assert_recall_is_counted(problem, solution)
    assert 0 < solution.recalled < 25
    assert solution.status is Status.STOPPED
    assert solution.multipliers is None
    assert solution.seconds >= 0


def test_orthogonal_facts_are_stored():
    solution = hebbian(OriginalProblem(np.eye(6), np.eye(6)))
    assert (solution.status, solution.recalled) == (Status.STORED, 6)
    assert solution.smallest_gap == pytest.approx(1 / 6)


@BOTH
def test_recall_against_theory(kind):
    problems = [KINDS[kind].gaussian(60, 24, candidates=60, seed=seed) for seed in range(40)]
    shares = np.array([hebbian(problem).recalled / 60 for problem in problems])
    expected = recall_probability(problems[0].setting, 60)
    error = shares.std(ddof=1) / np.sqrt(len(shares))
    assert abs(shares.mean() - expected) < 4 * error + 0.03  # finite size
