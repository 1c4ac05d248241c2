"""Facts per free parameter against the rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.marks import BARS, CURVE, PROBLEMS, SECOND, panels_by_dim, part_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw what was found, finite-size theory and the leading order, one panel per dimension."""
    measured, theory = tables["measured"], tables["theory"]
    figure, panels = panels_by_dim(measured)
    for axes, dim in panels:
        curve = part_of(theory, dim=dim)
        axes.plot(
            curve["rank_fraction"], curve["per_parameter"], label="finite-size theory", **CURVE
        )
        axes.plot(
            curve["rank_fraction"],
            curve["per_parameter_asymptotic"],
            label="leading order",
            **SECOND,
        )
        for code, name, mark in PROBLEMS:
            part = part_of(measured, dim=dim, decoupled=code)
            if not len(part):
                continue
            axes.errorbar(
                part["rank"] / dim, part["per_parameter"], part["per_parameter_stderr"],
                label=name, **{**BARS, **mark},
            )  # fmt: skip
        axes.set(
            title=f"$d$ = {dim:g}",
            xlabel=r"rank over dimension, $\kappa$",
            ylabel="facts per free parameter",
            ylim=(0, None),
        )
    panels[0][0].legend()
    return figure
