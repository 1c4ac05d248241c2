"""Where theory is off, by how much, in which direction, and which note says so."""

from typing import Any

from simonides import Setting
from simonides.experiments.thresholds import measure_thresholds
from simonides.theory.capacity import capacity_of

INSTANCES = 8
"""For standard errors of one to four percent at these sizes, which take seconds each."""

CASES: tuple[tuple[int, int, int | None, int | None, str, str], ...] = (
    (10, 10, None, None, "original", "gaussian"),
    (10, 10, None, None, "decoupled", "gaussian"),
    (40, 3, None, None, "original", "gaussian"),
    (40, 4, None, None, "original", "gaussian"),
    (20, 8, None, None, "original", "gaussian"),
    (3, 30, None, None, "original", "gaussian"),
    (4, 40, None, None, "original", "gaussian"),
    (8, 24, None, None, "original", "gaussian"),
    (10, 10, 10, None, "original", "gaussian+balanced"),
    (10, 10, 10, None, "original", "gaussian+random"),
    (10, 10, 10, None, "original", "gaussian+zipf"),
    (8, 30, 14, None, "original", "gaussian+balanced"),
    (8, 30, 14, None, "original", "gaussian+random"),
    (30, 5, 6, None, "original", "gaussian+random"),
    (10, 10, None, None, "original", "unit"),
    (10, 10, None, None, "original", "student(degrees=3)"),
    (8, 8, None, 1, "original", "gaussian"),
    (8, 8, None, 2, "original", "gaussian"),
    (8, 8, None, 3, "original", "gaussian"),
    (8, 8, None, 4, "original", "gaussian"),
    (8, 8, None, 1, "decoupled", "gaussian"),
    (8, 8, None, 2, "decoupled", "gaussian"),
    (8, 8, None, 3, "decoupled", "gaussian"),
    (8, 8, None, 4, "decoupled", "gaussian"),
)
"""Dimensions of inputs and outputs, candidates, rank, problem and ensemble: small, and on every side."""


def run() -> list[dict[str, Any]]:
    """Measured thresholds over theory, case by case."""
    return [_row(*case) for case in CASES]


def _row(
    dim_in: int, dim_out: int, candidates: int | None, rank: int | None, problem: Any, law: str
) -> dict[str, Any]:
    cell = measure_thresholds(
        dim_in,
        dim_out,
        candidates=candidates,
        rank=rank,
        problem=problem,
        ensemble=law,
        instances=INSTANCES,
        workers=1,
    )
    theory = capacity_of(Setting(dim_in, dim_out, candidates, rank, problem=problem)).facts
    return {
        "shape": f"{dim_in} → {dim_out}",
        "candidates": candidates,
        "rank": rank,
        "problem": problem,
        "ensemble": law,
        "theory": theory,
        "mean": cell.mean.value,
        "stderr": cell.mean.stderr,
        "over_theory": cell.mean.value / theory - 1,
        "over_theory_stderr": cell.mean.stderr / theory,
        "instances": INSTANCES,
    }
