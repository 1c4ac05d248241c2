"""Fig. D.1: scores of the Hebbian rule at three loads, both problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.histograms import scores_panel
from simonides.figures.paper.marks import legend_below, panels_by_regime, part_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw both problems' scores with their Gaussian laws."""
    measured, theory = tables["measured"], tables["theory"]
    figure, panels = panels_by_regime(measured, lambda load: f"load {load:g}", height=2.1)
    for axes, code, load in panels:
        part = part_of(measured, decoupled=code, regime=load)
        scores_panel(axes, part, part_of(theory, decoupled=code, regime=load))
        axes.set(xlim=(-4, 8), ylim=(0, 0.6))
    legend_below(figure, panels[-1][0], columns=4)
    return figure
