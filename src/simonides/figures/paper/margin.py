"""Largest margin against the load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.marks import BARS, CURVE, PROBLEMS, panels_by_dim, part_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def draw(tables: Mapping[str, Table]) -> Figure:
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
