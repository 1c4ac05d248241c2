"""Fig. 2: accuracy against the load by rank fraction, with the Hebbian rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.by_rank import panels_by_rank
from simonides.figures.paper.marks import legend_below, part_of
from simonides.figures.style import ACCENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw trained memories in every panel and the Hebbian rule in that of full rank."""
    figure, panels = panels_by_rank(tables, "accuracy", "accuracy")
    axes = panels[-1]
    dim = max(tables["hebbian"].distinct("dim"))
    measured = part_of(tables["hebbian"], dim=dim, decoupled=0.0)
    theory = part_of(tables["hebbian-theory"], dim=dim)
    axes.plot(
        measured["load"], measured["accuracy"], "^", color=ACCENT, markersize=3.6,
        label=f"Hebbian, original, $d$ = {dim:g}",
    )  # fmt: skip
    axes.plot(
        theory["load"],
        theory["accuracy"],
        ":",
        color=ACCENT,
        linewidth=1.4,
        label="Hebbian, theory",
    )
    for panel in panels:
        panel.set_ylim(0, 1.08)
    legend_below(figure, axes)
    return figure
