"""Fig. A.2: the scores of one constraint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.marks import (
    legend_below,
    panels_by_regime,
    part_of,
    share_of_capacity,
    vertical,
)
from simonides.figures.style import GREY, HEBBIAN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table

_TOP, _TARGET = 0.65, 0.68
"""Height of a panel, and the share of it that the target's line takes."""


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw all rivals of one input and its target, by problem and regime."""
    rivals, targets = tables["rivals"], tables["targets"]
    figure, panels = panels_by_regime(rivals, share_of_capacity, height=2.0)
    for axes, code, regime in panels:
        part = part_of(rivals, decoupled=code, regime=regime)
        target = part_of(targets, decoupled=code, regime=regime)
        width = part["score"][1] - part["score"][0]
        axes.bar(part["score"], part["density"], width, color=GREY, alpha=0.5, label="its rivals")
        # The target from below and the extreme value from above: below capacity they may coincide.
        height = [0, _TARGET * _TOP]
        axes.plot(
            [target["target"][0]] * 2, height, color=HEBBIAN, linewidth=2.2, label="the target"
        )
        axes.plot(
            target["best_rival"], [0.015], "v", color="black", markersize=5, label="best rival"
        )
        vertical(axes, target["extreme_value"][0], r"$\sqrt{2\log p}$", low=_TARGET + 0.06)
        axes.set(xlabel="score, off-target variance 1", xlim=(-4, 6), ylim=(0, _TOP))
    legend_below(figure, panels[0][0])
    return figure
