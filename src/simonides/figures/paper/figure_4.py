"""Fig. 4: scores below, near and above capacity, one row per problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.histograms import scores_panel
from simonides.figures.paper.marks import (
    legend_below,
    panels_by_regime,
    part_of,
    share_of_capacity,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw both problems in three regimes."""
    measured, theory = tables["measured"], tables["theory"]
    figure, panels = panels_by_regime(measured, share_of_capacity, height=2.1)
    for axes, code, regime in panels:
        part = part_of(measured, decoupled=code, regime=regime)
        scores_panel(axes, part, part_of(theory, regime=regime))
    legend_below(figure, panels[-1][0])
    return figure
