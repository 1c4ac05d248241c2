"""Fig. 2: accuracy against the load by rank fraction, with the Hebbian rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simonides.figures.paper.by_rank import panels_by_rank
from simonides.figures.paper.marks import PROBLEMS, legend_below, part_of
from simonides.figures.style import HEBBIAN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table

_HEBBIAN = (("+", ":"), ("x", (0, (3, 1))))
"""Mark and dash of the Hebbian rule on each problem."""


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw trained memories in every panel and the Hebbian rule in that of full rank."""
    figure, panels = panels_by_rank(tables, "accuracy", "accuracy")
    axes = panels[-1]
    hebbian = tables["hebbian"]
    dim = max(
        set.intersection(*({*part_of(hebbian, decoupled=code)["dim"]} for code, _, _ in PROBLEMS))
    )
    for (code, name, _), (mark, dash) in zip(PROBLEMS, _HEBBIAN, strict=True):
        measured = part_of(hebbian, dim=dim, decoupled=code)
        theory = part_of(tables["hebbian-theory"], dim=dim, decoupled=code)
        marks: dict[str, Any] = {"marker": mark, "markersize": 4.6, "color": HEBBIAN}
        axes.plot(measured["load"], measured["accuracy"], **marks, linestyle="none")
        axes.plot(theory["load"], theory["accuracy"], color=HEBBIAN, linestyle=dash, linewidth=1.2)
        axes.plot([], [], **marks, linestyle=dash, label=f"Hebbian rule, {name}, $d$ = {dim:g}")
    for panel in panels:
        panel.set_ylim(0, 1.08)
    legend_below(figure, axes)
    return figure
