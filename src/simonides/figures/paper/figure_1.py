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
from simonides.figures.style import GREY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw both problems, theory beyond capacity, and the two predictions of capacity."""
    measured, theory = tables["measured"], tables["theory"]
    dims = sorted(measured.distinct("dim"))
    figure, panels = grid(len(dims), columns=2 if len(dims) in (2, 4) else 3)
    for axes, dim in zip(panels, dims, strict=True):
        curve = part_of(theory, dim=dim)
        axes.plot(curve["load"], curve["accuracy"], label="theory, decoupled", **CURVE)
        error = curve["accuracy_stderr"]
        axes.fill_between(
            curve["load"], curve["accuracy"] - error, curve["accuracy"] + error,
            color=GREY, alpha=0.35, linewidth=0, label="its sampling error",
        )  # fmt: skip
        for code, name, mark in PROBLEMS:
            part = part_of(measured, dim=dim, decoupled=code)
            if len(part):
                spread = part["accuracy_std"] if code else None
                axes.errorbar(
                    part["load"], part["accuracy"], spread, label=name, **{**BARS, **mark}
                )
        edges = part_of(tables["thresholds"], dim=dim)
        capacity_edge(axes, edges["asymptotic"][0], "limit 1/2")
        capacity_edge(axes, edges["finite_size"][0], "finite-size capacity")
        axes.set(title=f"$d$ = {dim:g}", xlabel="load $p\\,\\log p\\,/\\,d^2$", ylim=(0, 1.05))
    panels[0].set_ylabel("accuracy")
    legend_below(figure, panels[0])
    return figure
