"""Fig. 1: accuracy against the load, one panel per dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.marks import (
    BARS,
    CURVE,
    PROBLEMS,
    capacity_edge,
    grid,
    legend_below,
    part_of,
)
from simonides.figures.style import INK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table

_NODE = {**BARS, "marker": "x", "markersize": 3.6, "color": INK, "zorder": 2.5}


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw both problems, theory beyond capacity, and the two predictions of capacity."""
    measured, theory = tables["measured"], tables["theory"]
    dims = sorted(measured.distinct("dim"))
    figure, panels = grid(len(dims))
    for axes, dim in zip(panels, dims, strict=True):
        curve, nodes = part_of(tables["theory-curve"], dim=dim), part_of(theory, dim=dim)
        axes.plot(curve["load"], curve["accuracy"], label="theory, decoupled", **CURVE)
        axes.errorbar(
            nodes["load"], nodes["accuracy"], nodes["accuracy_stderr"],
            label="computed there (±1 s.e.)", **_NODE,
        )  # fmt: skip
        for code, name, mark in PROBLEMS:
            part = part_of(measured, dim=dim, decoupled=code)
            if len(part):
                spread = part["accuracy_std"] if code else None
                bars = f"{name} (±1 s.d.)" if code else name
                axes.errorbar(
                    part["load"], part["accuracy"], spread, label=bars, **{**BARS, **mark}
                )
        edges = part_of(tables["thresholds"], dim=dim)
        capacity_edge(axes, edges["asymptotic"][0], "limit 1/2", "asymptotic")
        capacity_edge(axes, edges["finite_size"][0], "finite size", "finite_size")
        axes.set(
            title=f"$d$ = {dim:g}",
            xlabel="load $p\\,\\log p\\,/\\,d^2$",
            ylabel="accuracy",
            ylim=(0, 1.08),
        )
    legend_below(figure, panels[0], columns=4)
    return figure
