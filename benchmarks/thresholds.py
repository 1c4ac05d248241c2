"""Measured thresholds of both problems against the parameter-free theory."""

import math
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from simonides import DecoupledProblem, OriginalProblem, capacity
from simonides.solvers.deciding.threshold import threshold

_INSTANCES = 40


def run() -> list[dict[str, Any]]:
    """Measure forty instances of each problem at dimensions 20 and 40."""
    rows = []
    for kind, name in ((DecoupledProblem, "decoupled"), (OriginalProblem, "original")):
        for dim in (20, 40):
            theory = capacity(dim, problem=name).facts
            jobs = (delayed(_measure)(kind, dim, theory, seed) for seed in range(_INSTANCES))
            found = np.array(Parallel(n_jobs=-1)(jobs))
            rows.append(
                {
                    "problem": "original" if kind is OriginalProblem else "decoupled",
                    "dim": dim,
                    "theory": theory,
                    "mean": float(found.mean()),
                    "stderr": float(found.std(ddof=1) / math.sqrt(_INSTANCES)),
                    "over_theory": float(found.mean() / theory - 1),
                }
            )
    return rows


def _measure(kind: type, dim: int, theory: float, seed: int) -> int:
    def draw(facts: int) -> Any:
        return kind.gaussian(facts, dim, seed=seed)

    return threshold(draw, theory, threads=1).facts
