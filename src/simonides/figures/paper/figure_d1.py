"""Fig. D.1: scores of the Hebbian rule at three loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.histograms import scores_panel
from simonides.figures.paper.marks import grid, part_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw the original problem's scores with their Gaussian laws."""
    measured, theory = tables["measured"], tables["theory"]
    regimes = sorted(measured.distinct("regime"))
    figure, panels = grid(len(regimes), columns=len(regimes), width=2.7, height=2.4)
    for axes, regime in zip(panels, regimes, strict=True):
        part = part_of(measured, decoupled=0.0, regime=regime)
        title = f"load {part['load'][0]:.2f}, $d$ = {part['dim'][0]:g}"
        scores_panel(axes, part, part_of(theory, regime=regime))
        axes.set(title=title, ylabel="density", xlim=(-4, 8), ylim=(0, 0.8))
    panels[-1].legend(loc="upper left", fontsize=7, handlelength=1.8)
    return figure
