"""Measured thresholds of both problems against the parameter-free theory."""

import math
from typing import Any, Literal, TypeAlias

import numpy as np
from joblib import Parallel, delayed

from simonides import DecoupledProblem, OriginalProblem, capacity
from simonides.solvers.deciding.threshold import threshold

_INSTANCES = 40
"""For standard errors below one percent."""

Kind: TypeAlias = OriginalProblem | DecoupledProblem
KINDS: dict[Literal["original", "decoupled"], type[Kind]] = {
    "decoupled": DecoupledProblem,
    "original": OriginalProblem,
}


def run() -> list[dict[str, Any]]:
    """Measure forty instances of each problem at dimensions 20 and 40."""
    rows = []
    for name, kind in KINDS.items():
        for dim in (20, 40):
            theory = capacity(dim, problem=name).facts
            jobs = (delayed(_measure)(kind, dim, theory, seed) for seed in range(_INSTANCES))
            thresholds = np.array(Parallel(n_jobs=-1)(jobs))
            rows.append(
                {
                    "problem": name,
                    "dim": dim,
                    "theory": theory,
                    "mean": float(thresholds.mean()),
                    "stderr": float(thresholds.std(ddof=1) / math.sqrt(_INSTANCES)),
                    "over_theory": float(thresholds.mean() / theory - 1),
                }
            )
    return rows


def _measure(kind: type[Kind], dim: int, theory: float, seed: int) -> int:
    def draw(facts: int) -> Any:
        return kind.gaussian(facts, dim, seed=seed)

    return threshold(draw, theory, threads=1).facts
