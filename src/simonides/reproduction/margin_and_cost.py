"""The largest margin against the load, and what solvers cost against the dimension."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from simonides.arrays import Reals
from simonides.curves.table import Table, stacked, with_error
from simonides.experiments.expand import predicted
from simonides.figures import marks
from simonides.figures.style import canvas, plot_columns, words
from simonides.reproduction.figure import PaperFigure
from simonides.reproduction.results import Results, Row, groups, share_of_capacity, summarised
from simonides.reproduction.statistics import mean
from simonides.theory.requirements import largest_margin
from simonides.theory.setting import Setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CURVE_SHARES = tuple(np.geomspace(0.15, 0.99, 22))
"""Closer where the curve bends more; a point takes a fraction of a second."""

_BEYOND = 1.1, 1.4
"""Facts over capacity between which training is timed: every run has work to do there."""

_TIMED = ((0.0, "training", "-"), (1.0, "one decision", "--"))
"""Value in the column ``decision``, name, and dash."""


def _margins(results: Results) -> dict[str, Table]:
    """Return the certified largest margin against the facts over capacity, and theory's."""
    measured = results.rows("margin")
    dims = [dim for (dim,) in groups(measured, "dim")]
    title = "Certified largest margin"
    return {
        "measured": summarised("measured", title, measured, "problem", "dim", "facts", of=_margin),
        "theory": stacked("theory", "Predicted largest margin", list(map(_margin_curve, dims))),
    }


def _margin(part: list[Row]) -> dict[str, float]:
    # Over |y_i - y_j| |x_i|, whose typical size is sqrt(2) d: back to off-target deviations.
    unit = math.sqrt(2) * part[0]["dim"]
    margin = mean(unit * (row["margin_lower"] + row["margin_upper"]) / 2 for row in part)
    return {
        "share_of_capacity": share_of_capacity(part[0]),
        **with_error("margin", margin),
        "widest_bracket": max(unit * (row["margin_upper"] - row["margin_lower"]) for row in part),
    }


def _margin_curve(dim: int) -> dict[str, float | Reals]:
    full, setting = predicted("decoupled", dim, None), Setting(dim, dim, problem="decoupled")
    facts = np.unique([int(share * full) for share in _CURVE_SHARES])
    margins = np.array([largest_margin(setting, int(number)) for number in facts])
    return {"dim": dim, "share_of_capacity": facts / full, "margin": margins}


def _draw_margins(tables: Mapping[str, Table]) -> Figure:
    """Draw certified margins and theory, one panel per dimension."""
    figure, panels = marks.panels_by(tables, "dim", height=3.0)
    for axes, dim, parts in panels:
        theory = ("margin", "finite-size theory", marks.CURVE)
        plot_columns(axes, parts["theory"], "share_of_capacity", theory)
        marks.with_problems(axes, parts["measured"], "share_of_capacity", "margin")
        words(axes, f"$d$ = {dim:g}", "facts / capacity", "margin, off-target deviations")
        axes.set_ylim(0, None)
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
    title, place = "Median seconds on one thread", ("problem", "dim")
    trained = [
        row | {"decision": 0.0}
        for row in results.rows("accuracy")
        if _BEYOND[0] < share_of_capacity(row) < _BEYOND[1]
    ]
    decided = [row | {"decision": 1.0} for row in results.rows("thresholds")]
    parts = [
        summarised("measured", title, rows, *place, "decision", of=_seconds)
        for rows in (trained, decided)
    ]
    return {"measured": stacked("measured", title, [part.columns for part in parts])}


def _seconds(part: list[Row]) -> dict[str, float]:
    seconds = [row["solver_seconds"] / (row["decisions"] if row["decision"] else 1) for row in part]
    quartiles = {"seconds_lower": 0.25, "seconds_upper": 0.75}
    return {
        "seconds": float(np.median(seconds)),
        **{name: float(np.quantile(seconds, share)) for name, share in quartiles.items()},
    }


def _draw_costs(tables: Mapping[str, Table]) -> Figure:
    """Draw medians and quartiles on logarithmic axes."""
    table = tables["measured"]
    figure, (axes,) = canvas(width=4.4, height=3.2)
    for (decision, timed, dash), (code, name, mark) in product(_TIMED, marks.PROBLEMS):
        part = marks.part_of(table, decision=decision, decoupled=code)
        lower, middle, upper = (part[f"seconds{end}"] for end in ("_lower", "", "_upper"))
        axes.errorbar(
            part["dim"], middle, np.array([middle - lower, upper - middle]),
            label=f"{timed}, {name}", **{**marks.BARS, **mark, "linestyle": dash, "linewidth": 1.3},
        )  # fmt: skip
    words(axes, "Median and quartiles", "dimension $d$", "seconds, one thread")
    axes.set(xscale="log", yscale="log")
    marks.ticks_at(axes, sorted(table.distinct("dim")))
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
