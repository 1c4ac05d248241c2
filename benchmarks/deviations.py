"""Where theory is off, by how much, in which direction, and which note says so."""

from dataclasses import replace
from typing import Any

import numpy as np

from simonides import Setting
from simonides.experiments.thresholds import measure_thresholds
from simonides.problems.ensembles import ensemble
from simonides.theory.capacity import capacity_of
from simonides.theory.lengths import length_notes
from simonides.theory.notes import deviations

INSTANCES = 8
"""For standard errors of one to five percent, seven to thirteen where the outputs' hull decides."""

_MANY = 2000
"""Outputs that show the lengths of a law."""

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
    setting = Setting(dim_in, dim_out, candidates, rank, problem=problem)
    theory = capacity_of(setting).facts
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
        "note": ", ".join(_notes(setting, theory, law)),
        "instances": INSTANCES,
    }


def _notes(setting: Setting, facts: float, law: str) -> list[str]:
    """Return the causes that notes name, given an instance's lengths and, if uneven by law, its targets."""
    if setting.problem == "decoupled":
        return list(deviations(setting, facts))
    shape = setting.dim_in, setting.dim_out
    instance: Any = ensemble(law).draw(round(facts), *shape, candidates=setting.candidates, seed=0)
    if "zipf" in law:
        counts = np.bincount(instance.targets, minlength=instance.candidates)
        setting = replace(setting, target_counts=tuple(counts.tolist()))
    names = list(deviations(setting, facts))
    # Few outputs of one draw have uneven lengths by chance.
    many: Any = ensemble(law.split("+")[0]).draw(_MANY, *shape, seed=0)
    return names + ["lengths"] * bool(length_notes(many.shared_outputs))
