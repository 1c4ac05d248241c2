"""One panel of scores: target and off-target histograms with their laws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simonides.figures.paper.marks import CURVE, SECOND, vertical
from simonides.figures.style import GREY, HEBBIAN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simonides.curves.table import Table

_NORMAL: dict[str, Any] = {"color": "#b48ad6", "linewidth": 3.4, "linestyle": "-"}
"""A pale band, on which the dashes of the law that it is the limit of can be seen."""


def scores_panel(axes: Axes, measured: Table, theory: Table) -> None:
    """Draw the densities of a regime, both laws, the standard normal if given, and sqrt(2 log p)."""
    x = measured["score"]
    axes.fill_between(
        x, measured["rival"], step="mid", color=GREY, alpha=0.45, linewidth=0, label="off-target"
    )
    if "gaussian" in theory.columns:
        axes.plot(theory["score"], theory["gaussian"], label="standard normal", **_NORMAL)
    axes.step(x, measured["target"], where="mid", color=HEBBIAN, linewidth=1.3, label="target")
    axes.plot(theory["score"], theory["target"], label="target, theory", **CURVE)
    axes.plot(theory["score"], theory["rival"], label="off-target, theory", **SECOND)
    vertical(axes, measured["extreme_value"][0], r"$\sqrt{2\log p}$")
    top = 1.25 * max(max(measured["target"]), max(measured["rival"]), max(theory["target"]))
    axes.set(xlabel="score, off-target variance 1", xlim=(-4, 7), ylim=(0, top))
