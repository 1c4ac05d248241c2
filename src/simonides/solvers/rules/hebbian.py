"""The Hebbian rule: one matrix product."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from simonides.problems import checked
from simonides.solvers.solution import Solution, Status

if TYPE_CHECKING:
    from simonides.arrays import Reals
    from simonides.problems.problem import Problem


def hebbian_weights(problem: Problem) -> Reals:
    """Return the mean of target outputs times inputs (eq. D.1, up to scale)."""
    return np.asarray(problem.target_outputs.T @ problem.inputs / problem.facts)


def hebbian(problem: Problem) -> Solution:
    """Store facts by the Hebbian rule, in one matrix product (eq. D.1).

    Parameters
    ----------
    problem : Problem
        The facts.

    Returns
    -------
    Solution
        The weights, the mean over facts of target times input, and what they recall.

    Raises
    ------
    BadArgumentError
        For what is no problem.

    Examples
    --------
    >>> from simonides import OriginalProblem
    >>> hebbian(OriginalProblem.gaussian(10, 40, seed=0)).recalled
    10
    """
    checked.problem(problem)
    began = time.perf_counter()
    solution = Solution.of_weights(problem, hebbian_weights(problem), Status.STOPPED)
    return replace(solution, steps=1, seconds=time.perf_counter() - began)
