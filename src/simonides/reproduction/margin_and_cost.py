"""The largest margin against the load, and what solvers cost against the dimension."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from simonides.curves.table import stacked, with_error
from simonides.experiments.expand import predicted
from simonides.figures.marks import BARS, CURVE, PROBLEMS, grid, panels_by_dim, part_of
from simonides.reproduction.figure import PaperFigure
from simonides.reproduction.results import groups, problem_code
from simonides.reproduction.statistics import mean
from simonides.theory.requirements import largest_margin
from simonides.theory.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table
    from simonides.reproduction.results import Results, Row

_CURVE_SHARES = tuple(np.geomspace(0.15, 0.99, 22))
"""Closer where the curve bends more; a point takes a fraction of a second."""

_BEYOND = 1.1, 1.4
"""Facts over capacity between which training is timed: every run has work to do there."""

_TIMED = ((0.0, "training", "-"), (1.0, "one decision", "--"))
"""Value in the column ``decision``, name, and dash."""


def _margins(results: Results) -> dict[str, Table]:
    """Return the certified largest margin against the facts over capacity, and theory's."""
    parts = groups(results.rows("margin"), "problem", "dim", "facts")
    rows = []
    for (problem, dim, facts), part in parts.items():
        # Over |y_i - y_j| |x_i|, whose typical size is sqrt(2) d: back to off-target deviations.
        unit = math.sqrt(2) * dim
        margin = mean(unit * (row["margin_lower"] + row["margin_upper"]) / 2 for row in part)
        rows.append(
            {
                "decoupled": problem_code(problem),
                "dim": float(dim),
                "facts": float(facts),
                "share_of_capacity": facts / predicted(problem, dim, None),
                **with_error("margin", margin),
                "widest_bracket": max(
                    unit * (row["margin_upper"] - row["margin_lower"]) for row in part
                ),
            }
        )
    curve = []
    for dim in sorted({dim for _, dim, _ in parts}):
        full = predicted("decoupled", dim, None)
        setting = Setting(dim, dim, problem="decoupled")
        for facts in sorted({int(share * full) for share in _CURVE_SHARES}):
            place = {"dim": float(dim), "share_of_capacity": facts / full}
            curve.append({**place, "margin": largest_margin(setting, facts)})
    return {
        "measured": stacked("measured", "Certified largest margin", rows),
        "theory": stacked("theory", "Predicted largest margin", curve),
    }


def _draw_margins(tables: Mapping[str, Table]) -> Figure:
    """Draw certified margins and theory, one panel per dimension."""
    measured, theory = tables["measured"], tables["theory"]
    figure, panels = panels_by_dim(measured)
    for axes, dim in panels:
        curve = part_of(theory, dim=dim)
        axes.plot(curve["share_of_capacity"], curve["margin"], label="finite-size theory", **CURVE)
        for code, name, mark in PROBLEMS:
            part = part_of(measured, dim=dim, decoupled=code)
            axes.errorbar(
                part["share_of_capacity"], part["margin"], part["margin_stderr"],
                label=name, **{**BARS, **mark},
            )  # fmt: skip
        axes.set(
            title=f"$d$ = {dim:g}",
            xlabel="facts / capacity",
            ylabel="margin, off-target deviations",
            ylim=(0, None),
        )
    panels[0][0].legend()
    return figure


MARGINS = PaperFigure(
    "margin",
    "Largest margin against the load",
    "Middle of the certified bracket, in units of the off-target deviation (√2 d times the "
    "normalised margin). The theory treats the d² products of inputs and outputs as independent "
    "features; small matrices keep less. Not in the paper.",
    needs=("margin",),
    tables=_margins,
    picture=_draw_margins,
)


def _costs(results: Results) -> dict[str, Table]:
    """Return seconds of one thread against the dimension: of training, and of one decision."""
    trained = [row for row in results.rows("accuracy") if _is_timed(row)]
    rows = [
        _seconds(problem, dim, 0.0, [row["solver_seconds"] for row in part])
        for (problem, dim), part in groups(trained, "problem", "dim").items()
    ]
    rows += [
        _seconds(problem, dim, 1.0, [row["solver_seconds"] / row["decisions"] for row in part])
        for (problem, dim), part in groups(results.rows("thresholds"), "problem", "dim").items()
    ]
    return {"measured": stacked("measured", "Median seconds on one thread", rows)}


def _is_timed(row: Row) -> bool:
    low, high = _BEYOND
    return bool(low < row["facts"] / predicted(row["problem"], row["dim"], None) < high)


def _seconds(problem: str, dim: int, decision: float, seconds: list[float]) -> dict[str, float]:
    return {
        "decoupled": problem_code(problem),
        "dim": float(dim),
        "decision": decision,
        "seconds": float(np.median(seconds)),
        "seconds_lower": float(np.quantile(seconds, 0.25)),
        "seconds_upper": float(np.quantile(seconds, 0.75)),
    }


def _draw_costs(tables: Mapping[str, Table]) -> Figure:
    """Draw medians and quartiles on logarithmic axes."""
    table = tables["measured"]
    figure, (axes,) = grid(1, width=4.4, height=3.2)
    for decision, timed, dash in _TIMED:
        for code, name, mark in PROBLEMS:
            part = part_of(table, decision=decision, decoupled=code)
            quartiles = [
                part["seconds"] - part["seconds_lower"],
                part["seconds_upper"] - part["seconds"],
            ]
            axes.errorbar(
                part["dim"], part["seconds"], np.array(quartiles), label=f"{timed}, {name}",
                capsize=2.0, elinewidth=0.9, linestyle=dash, linewidth=1.3, **mark,
            )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel="seconds, one thread")
    axes.set_title("Median and quartiles")
    dims = sorted(table.distinct("dim"))
    axes.set_xticks(dims, [f"{dim:g}" for dim in dims])
    axes.minorticks_off()
    axes.legend(fontsize=7.5)
    return figure


COSTS = PaperFigure(
    "cost",
    "Cost against the dimension",
    "Median seconds on one thread, with quartiles: training at 1.1 to 1.4 times capacity, and one "
    "decision with its proof near capacity. Not in the paper.",
    needs=("accuracy", "thresholds"),
    tables=_costs,
    picture=_draw_costs,
)
