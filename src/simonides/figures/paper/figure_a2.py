"""Fig. A.2: the scores of one constraint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.marks import panels_by_regime, part_of, vertical
from simonides.figures.style import GREY, HEBBIAN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw all rivals of one input and its target, by problem and regime."""
    rivals, targets = tables["rivals"], tables["targets"]
    figure, panels = panels_by_regime(rivals, height=2.2)
    for axes, code, regime in panels:
        part = part_of(rivals, decoupled=code, regime=regime)
        target = part_of(targets, decoupled=code, regime=regime)
        width = part["score"][1] - part["score"][0]
        axes.bar(part["score"], part["density"], width, color=GREY, alpha=0.5, label="its rivals")
        axes.axvline(target["target"][0], color=HEBBIAN, linewidth=2, label="the target")
        axes.plot(
            target["best_rival"], [0.012], "v", color="black", markersize=5, label="best rival"
        )
        vertical(axes, target["extreme_value"][0], r"$\sqrt{2\log p}$")
        axes.set(xlabel="score, off-target variance 1", xlim=(-4, 6), ylim=(0, 0.65))
    panels[0][0].legend(loc="upper left", fontsize=7)
    return figure
