"""Thresholds under small rank bounds against theory, of both problems."""

from typing import Any

from simonides.experiments.thresholds import measure_thresholds

INSTANCES = {8: 12, 16: 8, 25: 4}
"""By dimension, for standard errors of about two percent."""

RANKS = 1, 2, 3, 4, 8


def run() -> list[dict[str, Any]]:
    """Measure ranks 1, 2, 3, 4 and 8; a search that fails proves nothing, so these are lower bounds."""
    return [
        _row(problem, dim, rank)
        for problem in ("original", "decoupled")
        for dim in INSTANCES
        for rank in RANKS
    ]


def _row(problem: str, dim: int, rank: int) -> dict[str, Any]:
    cell = measure_thresholds(
        dim, rank=rank, problem=problem, instances=INSTANCES[dim], workers=1, seed=100
    )
    return {
        "problem": problem,
        "dim": dim,
        "rank": rank,
        "theory": cell.theory,
        "mean": cell.mean.value,
        "stderr": cell.mean.stderr,
        "over_theory": cell.mean.value / cell.theory - 1,
        "over_theory_stderr": cell.mean.stderr / cell.theory,
        "instances": INSTANCES[dim],
    }
