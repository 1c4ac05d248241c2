"""Panels by rank fraction of something measured against the load: what Figs. 2 and A.1 share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.marks import (
    BARS,
    CURVE,
    PROBLEMS,
    SHADES,
    capacity_edge,
    grid,
    part_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def panels_by_rank(
    tables: Mapping[str, Table], column: str, label: str
) -> tuple[Figure, list[Axes]]:
    """Draw a column against the load for every problem and dimension, one panel per rank fraction."""
    measured, theory = tables["measured"], tables["theory"]
    fractions = sorted(measured.distinct("rank_fraction"))
    dims = sorted(measured.distinct("dim"))
    shades = dict(zip(dims, SHADES[-len(dims) :], strict=True))
    figure, panels = grid(len(fractions))
    for axes, fraction in zip(panels, fractions, strict=True):
        for dim in dims:
            for code, name, mark in PROBLEMS:
                part = part_of(measured, rank_fraction=fraction, dim=dim, decoupled=code)
                if not len(part):
                    continue
                style = {**BARS, **mark, "color": shades[dim], "markersize": 3.6, "linewidth": 1.0}
                if not code:
                    style["linestyle"] = "-"
                axes.errorbar(
                    part["load"],
                    part[column],
                    part[f"{column}_std"] if code else None,
                    label=f"{name}, $d$ = {dim:g}",
                    **style,
                )
        edges = part_of(tables["thresholds"], rank_fraction=fraction)
        # Where the curves are not: accuracy starts at the top, the loss at the bottom.
        high = column == "loss"
        size = f"finite size, $d$ = {edges['dim'][-1]:g}"
        capacity_edge(axes, edges["asymptotic"][0], "limit, eq. 9", high=high)
        capacity_edge(axes, edges["finite_size"][-1], size, high=high)
        axes.set(
            title=rf"$\kappa$ = {fraction:g}", xlabel="load $p\\,\\log p\\,/\\,d^2$", ylabel=label
        )
        axes.set_xlim(left=0)
    for dim in dims:
        curve = part_of(theory, dim=dim)
        panels[-1].plot(
            curve["load"],
            curve[column],
            label="theory, decoupled" if dim == dims[-1] else None,
            **{**CURVE, "linewidth": 1.0, "linestyle": "-."},
        )
    return figure, panels
