"""The Hebbian rule: one matrix product."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from simonides.solvers.solution import Solution, Status

if TYPE_CHECKING:
    from simonides.arrays import Reals
    from simonides.problems.decoupled import DecoupledProblem
    from simonides.problems.original import OriginalProblem


def hebbian_weights(problem: OriginalProblem | DecoupledProblem) -> Reals:
    """Return the mean of target outputs times inputs (eq. D.1, up to scale)."""
    return np.asarray(problem.target_outputs.T @ problem.inputs / problem.facts)


def hebbian(problem: OriginalProblem | DecoupledProblem) -> Solution:
    """Store facts by the Hebbian rule."""
    began = time.perf_counter()
    weights = hebbian_weights(problem)
    scan = problem.scan(problem.inputs @ weights.T, 0.0)
    return Solution(
        weights=weights,
        status=Status.STORED if scan.recalled == problem.facts else Status.STOPPED,
        recalled=scan.recalled,
        smallest_gap=scan.smallest_gap,
        steps=1,
        seconds=time.perf_counter() - began,
    )
