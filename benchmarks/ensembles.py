"""What ensembles do to capacity: measured thresholds over those of Gaussian vectors and over theory."""

from typing import Any

import numpy as np

from simonides import Estimate
from simonides.experiments.thresholds import Thresholds, measure_thresholds

INSTANCES = 24
"""For standard errors of about one percent of a ratio."""

VECTORS = (
    "gaussian",
    "unit",
    "rademacher",
    "sparse(fraction=0.5)",
    "sparse(fraction=0.25)",
    "correlated",
    "student(degrees=10)",
    "student(degrees=3)",
)
TARGETS = ("identity", "balanced", "random", "zipf(exponent=0.5)", "zipf(exponent=1)")
LARGER = ("gaussian", "unit", "rademacher", "student(degrees=3)")

PARTS: tuple[tuple[int, int | None, tuple[str, ...]], ...] = (
    (20, None, VECTORS),
    (30, None, LARGER),
    (12, 20, TARGETS),
)
"""Dimension, candidates, ensembles: vectors where all facts compete, targets with several facts per output.

At the larger dimension those whose thresholds take seconds, for how effects change with it.
"""


def run() -> list[dict[str, Any]]:
    """Thresholds of every ensemble, original problem, over the first of the same seeds."""
    rows = []
    for dim, candidates, names in PARTS:
        cells = [measured(dim, name, candidates) for name in names]
        rows += [
            row(cell, dim, name, candidates, cells[0])
            for cell, name in zip(cells, names, strict=True)
        ]
    return rows


def measured(dim: int, name: str, candidates: int | None) -> Thresholds:
    """Measure an ensemble at a dimension, on one process."""
    return measure_thresholds(
        dim, candidates=candidates, ensemble=name, instances=INSTANCES, workers=1
    )


def row(
    cell: Thresholds, dim: int, name: str, candidates: int | None, first: Thresholds
) -> dict[str, Any]:
    """Return a row of the table: the mean, and how far it is above theory and above the first cell."""
    ratio = _ratio(np.array(cell.facts, dtype=float), np.array(first.facts, dtype=float))
    return {
        "dim": dim,
        "candidates": candidates,
        "ensemble": name,
        "theory": cell.theory,
        "mean": cell.mean.value,
        "stderr": cell.mean.stderr,
        "over_theory": cell.mean.value / cell.theory - 1,
        "over_first": ratio.value - 1,
        "over_first_stderr": ratio.stderr,
        "instances": len(cell.facts),
    }


def _ratio(facts: np.ndarray, plain: np.ndarray) -> Estimate:
    """Return the ratio of two means over the same seeds; its error follows from the differences."""
    ratio = facts.mean() / plain.mean()
    residuals = (facts - ratio * plain) / plain.mean()
    return Estimate(float(ratio), Estimate.of_mean(residuals).stderr)
