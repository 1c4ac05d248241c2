"""Fig. 4: scores below, near and above capacity, one row per problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.histograms import scores_panel
from simonides.figures.paper.marks import PROBLEMS, grid, part_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw both problems in three regimes."""
    measured, theory = tables["measured"], tables["theory"]
    regimes = sorted(measured.distinct("regime"))
    figure, panels = grid(2 * len(regimes), columns=len(regimes), width=2.7, height=2.3)
    places = iter(panels)
    for code, name, _ in PROBLEMS:
        for regime in regimes:
            axes = next(places)
            part = part_of(measured, decoupled=code, regime=regime)
            title = f"{name}, {regime:g} of capacity"
            scores_panel(axes, part, part_of(theory, regime=regime), title)
            axes.title.set_fontsize(9)
    for axes in panels[:: len(regimes)]:
        axes.set_ylabel("density")
    panels[-1].legend(loc="upper left", fontsize=7, handlelength=1.8)
    return figure
