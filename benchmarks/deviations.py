"""Where theory is off, by how much, in which direction, and which note says so."""

from dataclasses import replace
from typing import Any

import numpy as np

from simonides import Setting
from simonides.experiments.thresholds import measure_thresholds
from simonides.problems.ensembles import ensemble
from simonides.theory.capacity import capacity_of
from simonides.theory.lengths import length_change
from simonides.theory.notes import deviation_sizes

INSTANCES = 8
"""For standard errors of one to five percent, seven to thirteen where the outputs' hull decides."""

Case = tuple[int, int, int | None, str, str]

FIRST: tuple[Case, ...] = (
    (10, 10, None, "original", "gaussian"),
    (10, 10, None, "decoupled", "gaussian"),
    (40, 3, None, "original", "gaussian"),
    (40, 4, None, "original", "gaussian"),
    (20, 8, None, "original", "gaussian"),
    (3, 30, None, "original", "gaussian"),
    (4, 40, None, "original", "gaussian"),
    (8, 24, None, "original", "gaussian"),
    (10, 10, 10, "original", "gaussian+balanced"),
    (10, 10, 10, "original", "gaussian+random"),
    (10, 10, 10, "original", "gaussian+zipf"),
    (8, 30, 14, "original", "gaussian+balanced"),
    (8, 30, 14, "original", "gaussian+random"),
    (30, 5, 6, "original", "gaussian+random"),
    (10, 10, None, "original", "unit"),
    (10, 10, None, "original", "student(degrees=3)"),
)
"""Dimensions of inputs and outputs, candidates, problem and ensemble: small, and on every side.

With these in sight the limits of notes were set.
"""

FRESH: tuple[Case, ...] = (
    (14, 14, None, "original", "gaussian"),
    (13, 13, None, "decoupled", "gaussian"),
    (24, 12, None, "original", "gaussian"),
    (30, 3, None, "original", "gaussian"),
    (16, 6, None, "original", "gaussian"),
    (16, 8, None, "original", "gaussian"),
    (14, 7, None, "decoupled", "gaussian"),
    (3, 20, None, "original", "gaussian"),
    (5, 30, None, "original", "gaussian"),
    (6, 18, None, "original", "gaussian"),
    (10, 25, None, "original", "gaussian"),
    (9, 12, 9, "original", "gaussian+balanced"),
    (9, 12, 9, "original", "gaussian+random"),
    (7, 24, 18, "original", "gaussian+random"),
    (20, 4, 5, "original", "gaussian+random"),
    (9, 9, 14, "original", "gaussian+random"),
    (12, 9, 8, "original", "gaussian+zipf"),
    (9, 9, 14, "original", "gaussian+zipf"),
    (13, 13, None, "original", "rademacher"),
    (13, 13, None, "original", "student(degrees=5)"),
    (11, 30, 12, "original", "student(degrees=3)+balanced"),
    (2, 50, None, "original", "gaussian"),
    (3, 100, None, "original", "gaussian"),
)
"""Drawn up after that, at other sizes and with other seeds."""

_SEEDS = {"first": 0, "fresh": 500}


def run() -> list[dict[str, Any]]:
    """Measured thresholds over theory, case by case."""
    return [
        {"cells": name, **_row(*case, seed=_SEEDS[name])}
        for name, cases in (("first", FIRST), ("fresh", FRESH))
        for case in cases
    ]


def _row(
    dim_in: int, dim_out: int, candidates: int | None, problem: Any, law: str, *, seed: int
) -> dict[str, Any]:
    cell = measure_thresholds(
        dim_in,
        dim_out,
        candidates=candidates,
        problem=problem,
        ensemble=law,
        instances=INSTANCES,
        seed=seed,
        workers=1,
    )
    setting = Setting(dim_in, dim_out, candidates, problem=problem)
    instances = [
        ensemble(law).draw(
            facts, dim_in, dim_out, candidates=candidates, problem=problem, seed=seed + number
        )
        for number, facts in enumerate(cell.facts)
    ]
    if "zipf" in law:  # what a memory says of these facts
        settings = [replace(setting, target_counts=_counts(instance)) for instance in instances]
        theory = float(np.mean([capacity_of(each).facts for each in settings]))
        setting = settings[0]
    else:
        theory = cell.theory
    sizes = _sizes(setting, theory, law, instances)
    return {
        "shape": f"{dim_in} → {dim_out}",
        "candidates": candidates,
        "problem": problem,
        "ensemble": law,
        "theory": theory,
        "mean": cell.mean.value,
        "stderr": cell.mean.stderr,
        "over_theory": cell.mean.value / theory - 1,
        "over_theory_stderr": cell.mean.stderr / theory,
        "note": ", ".join(sizes),
        "said": sum(size for size in sizes.values() if size is not None) if sizes else None,
        "sized": all(size is not None for size in sizes.values()),
        "instances": INSTANCES,
    }


def _counts(instance: Any) -> tuple[int, ...]:
    return tuple(np.bincount(instance.targets, minlength=instance.candidates).tolist())


def _sizes(
    setting: Setting, facts: float, law: str, instances: list[Any]
) -> dict[str, float | None]:
    """Return what notes say of these facts, given the lengths of outputs and, if balanced, targets."""
    sizes = deviation_sizes(setting, facts)
    if "balanced" in law:
        sizes.pop("random", None)
    if setting.problem == "original":
        change = float(np.mean([length_change(instance.shared_outputs) for instance in instances]))
        sizes |= {"lengths": change} if not law.startswith("gaussian") and change else {}
    return sizes
