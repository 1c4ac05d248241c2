"""Measured capacity against theory: shared outputs, few and many, and outputs of one's own."""

import math

import numpy as np

from simonides import DecoupledProblem, OriginalProblem, capacity
from simonides.solvers.deciding.threshold import threshold

_INSTANCES = 40


def run() -> list[dict[str, object]]:
    """Return one row per kind of problem; ``candidates`` is None where all facts compete."""
    settings = [(OriginalProblem, 15, k) for k in (3, 15, 60)]
    settings += [(OriginalProblem, 15, None), (DecoupledProblem, 15, None)]
    rows = []
    for kind, dim, candidates in settings:
        problem = "original" if kind is OriginalProblem else "decoupled"
        theory = capacity(dim, candidates=candidates, problem=problem).facts
        found = [_threshold(kind, dim, candidates, theory, seed) for seed in range(_INSTANCES)]
        mean, error = np.mean(found), np.std(found, ddof=1) / math.sqrt(_INSTANCES)
        rows.append(
            {
                "problem": problem,
                "dimension": dim,
                "candidates": candidates,
                "theory": theory,
                "measured": float(mean),
                "stderr": float(error),
                "over_theory": float(mean / theory - 1),
            }
        )
    return rows


def _threshold(kind: type, dim: int, candidates: int | None, theory: float, seed: int) -> int:
    """Return how many facts of one instance can be stored."""
    return threshold(
        lambda facts: kind.gaussian(facts, dim, candidates=candidates, seed=seed), theory
    ).facts
