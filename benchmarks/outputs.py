"""Measured capacity against theory: shared outputs, few and many, and outputs of one's own."""

import math
from typing import Literal

import numpy as np

from benchmarks.thresholds import KINDS
from simonides import capacity
from simonides.solvers.deciding.threshold import threshold

_DIM, _INSTANCES = 15, 40


def run() -> list[dict[str, object]]:
    """Return one row per kind of problem; ``candidates`` is None where all facts compete."""
    cases: list[tuple[Literal["original", "decoupled"], int | None]] = [
        *(("original", candidates) for candidates in (3, 15, 60, None)),
        ("decoupled", None),
    ]
    rows: list[dict[str, object]] = []
    for problem, candidates in cases:
        theory = capacity(_DIM, candidates=candidates, problem=problem).facts
        thresholds = [_threshold(problem, candidates, theory, seed) for seed in range(_INSTANCES)]
        mean, error = np.mean(thresholds), np.std(thresholds, ddof=1) / math.sqrt(_INSTANCES)
        rows.append(
            {
                "problem": problem,
                "dimension": _DIM,
                "candidates": candidates,
                "theory": theory,
                "measured": float(mean),
                "stderr": float(error),
                "over_theory": float(mean / theory - 1),
            }
        )
    return rows


def _threshold(
    problem: Literal["original", "decoupled"], candidates: int | None, theory: float, seed: int
) -> int:
    """Return how many facts of one instance can be stored."""
    return threshold(
        lambda facts: KINDS[problem].gaussian(facts, _DIM, candidates=candidates, seed=seed), theory
    ).facts
