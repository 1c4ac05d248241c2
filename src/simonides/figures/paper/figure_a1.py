"""Fig. A.1: loss against the load by rank fraction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.by_rank import panels_by_rank
from simonides.figures.paper.marks import legend_below

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw the mean cross-entropy."""
    figure, panels = panels_by_rank(tables, "loss", "cross-entropy")
    for panel in panels:
        panel.set_ylim(0, None)
    legend_below(figure, panels[-1])
    return figure
