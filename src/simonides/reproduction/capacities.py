"""Tables of Fig. C.1 and of the measured capacity: thresholds, their difference, rank, margin, cost."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from simonides.curves.table import Table, stacked
from simonides.estimate import Estimate
from simonides.experiments.expand import predicted
from simonides.experiments.task import rank_of
from simonides.reproduction.plans import BOTH
from simonides.reproduction.results import groups, mean_of
from simonides.theory.capacity import capacity
from simonides.theory.requirements import largest_margin
from simonides.theory.setting import Setting
from simonides.theory.setting import load as load_of
from simonides.theory.spectrum import critical_load

if TYPE_CHECKING:
    from simonides.reproduction.results import Results, Row

_CURVE_DIMS = tuple(round(dim) for dim in np.geomspace(10, 4000, 24))
_CURVE_SHARES = tuple(np.geomspace(0.15, 0.99, 22))
"""Closer where curves bend more; a point takes a fraction of a second."""


def figure_c1(results: Results) -> dict[str, Table]:
    """Return the measured load at capacity against the dimension, and theory's curve."""
    rows = []
    for (problem, dim), part in groups(results.rows("thresholds"), "problem", "dim").items():
        facts = mean_of(part, "threshold")
        load = threshold_load(part)
        rows.append(
            {
                "decoupled": float(problem == BOTH[1]),
                "dim": float(dim),
                "facts": facts.value,
                "facts_stderr": facts.stderr,
                "facts_theory": predicted(problem, dim, None),
                "load": load.value,
                "load_stderr": load.stderr,
                "instances": float(len(part)),
            }
        )
    return {
        "measured": stacked("measured", "Measured loads at capacity", rows),
        "theory": _load_by_dimension(),
    }


@cache
def _load_by_dimension() -> Table:
    rows = []
    for dim in _CURVE_DIMS:
        answer = capacity(dim, problem="decoupled")
        rows.append({"dim": float(dim), "load": answer.load, "asymptotic": critical_load()})
    return stacked("theory", "Predicted load at capacity", rows)


def difference(results: Results) -> dict[str, Table]:
    """Return by how much the original problem's threshold exceeds the decoupled one's."""
    found = groups(results.rows("thresholds"), "dim", "problem")
    rows = []
    for dim in sorted({dim for dim, _ in found}):
        if any((dim, problem) not in found for problem in BOTH):
            continue
        original, decoupled = (mean_of(found[dim, problem], "threshold") for problem in BOTH)
        excess = relative_difference(original, decoupled)
        theory = predicted("decoupled", dim, None)
        rows.append(
            {
                "dim": float(dim),
                "excess": excess.value,
                "excess_stderr": excess.stderr,
                "original_over_theory": original.value / theory,
                "original_over_theory_stderr": original.stderr / theory,
                "decoupled_over_theory": decoupled.value / theory,
                "decoupled_over_theory_stderr": decoupled.stderr / theory,
            }
        )
    return {"measured": stacked("measured", "Original minus decoupled, over decoupled", rows)}


def facts_per_parameter(results: Results) -> dict[str, Table]:
    """Return measured and predicted facts per free parameter against the rank."""
    found = groups(results.rows("bounded"), "problem", "dim", "rank_fraction")
    rows = []
    for (problem, dim, fraction), part in found.items():
        facts = mean_of(part, "threshold")
        answer = capacity(dim, rank=rank_of(dim, fraction), problem="decoupled")
        rows.append(
            {
                "decoupled": float(problem == BOTH[1]),
                "dim": float(dim),
                "rank": float(part[0]["rank"]),
                "rank_fraction": fraction,
                "facts": facts.value,
                "facts_stderr": facts.stderr,
                "facts_theory": answer.facts,
                "per_parameter": facts.value / answer.parameters,
                "per_parameter_stderr": facts.stderr / answer.parameters,
            }
        )
    curve = []
    for dim in sorted({dim for _, dim, _ in found}):
        for rank in sorted({max(1, round(dim * share)) for share in np.linspace(0.04, 1, 25)}):
            answer = capacity(dim, rank=rank, problem="decoupled")
            curve.append(
                {
                    "dim": float(dim),
                    "rank": float(rank),
                    "rank_fraction": rank / dim,
                    "per_parameter": answer.facts / answer.parameters,
                    "per_parameter_asymptotic": answer.facts_asymptotic / answer.parameters,
                }
            )
    return {
        "measured": stacked("measured", "Measured facts per free parameter", rows),
        "theory": stacked("theory", "Predicted facts per free parameter", curve),
    }


def margins(results: Results) -> dict[str, Table]:
    """Return the certified largest margin against the facts over capacity, and theory's."""
    found = groups(results.rows("margin"), "problem", "dim", "facts")
    rows = []
    for (problem, dim, facts), part in found.items():
        # Over |y_i - y_j| |x_i|, whose typical size is sqrt(2) d: back to off-target deviations.
        unit = math.sqrt(2) * dim
        middle = [unit * (row["margin_lower"] + row["margin_upper"]) / 2 for row in part]
        margin = Estimate.of_mean(np.array(middle))
        width = max(unit * (row["margin_upper"] - row["margin_lower"]) for row in part)
        rows.append(
            {
                "decoupled": float(problem == BOTH[1]),
                "dim": float(dim),
                "facts": float(facts),
                "share_of_capacity": facts / predicted(problem, dim, None),
                "margin": margin.value,
                "margin_stderr": margin.stderr,
                "widest_bracket": width,
            }
        )
    curve = []
    for dim in sorted({dim for _, dim, _ in found}):
        full = predicted("decoupled", dim, None)
        setting = Setting(dim, dim, problem="decoupled")
        for facts in sorted({int(share * full) for share in _CURVE_SHARES}):
            kept = largest_margin(setting, facts)
            curve.append({"dim": float(dim), "share_of_capacity": facts / full, "margin": kept})
    return {
        "measured": stacked("measured", "Certified largest margin", rows),
        "theory": stacked("theory", "Predicted largest margin", curve),
    }


def cost(results: Results) -> dict[str, Table]:
    """Return seconds of one thread against the dimension: of training, and of one decision."""
    rows = []
    above = [row for row in results.rows("accuracy") if _beyond(row)]
    for (problem, dim), part in groups(above, "problem", "dim").items():
        rows.append(_seconds(problem, dim, 0.0, [row["solver_seconds"] for row in part]))
    for (problem, dim), part in groups(results.rows("thresholds"), "problem", "dim").items():
        each = [row["solver_seconds"] / row["decisions"] for row in part]
        rows.append(_seconds(problem, dim, 1.0, each))
    return {"measured": stacked("measured", "Median seconds on one thread", rows)}


def threshold_load(part: list[Row]) -> Estimate:
    """Return the mean of p log p / d^2 at the measured thresholds."""
    return Estimate.of_mean(np.array([load_of(row["threshold"], row["dim"]) for row in part]))


def relative_difference(one: Estimate, other: Estimate) -> Estimate:
    """Return (one - other) / other with its standard error.

    >>> print(relative_difference(Estimate(103.0, 1.0), Estimate(100.0, 1.0)))
    0.030 ± 0.014
    """
    ratio = one.value / other.value
    error = ratio * math.hypot(one.stderr / one.value, other.stderr / other.value)
    return Estimate(ratio - 1, error)


def _beyond(row: Row) -> bool:
    """Return whether a row lies 1.1 to 1.4 times beyond capacity, where every run has work to do."""
    return bool(1.1 < row["facts"] / predicted(row["problem"], row["dim"], None) < 1.4)


def _seconds(problem: str, dim: int, decision: float, each: list[float]) -> dict[str, float]:
    return {
        "decoupled": float(problem == BOTH[1]),
        "dim": float(dim),
        "decision": decision,
        "seconds": float(np.median(each)),
        "seconds_lower": float(np.quantile(each, 0.25)),
        "seconds_upper": float(np.quantile(each, 0.75)),
    }
