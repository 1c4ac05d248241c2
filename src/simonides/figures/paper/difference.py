"""How far the original problem's threshold lies above the decoupled one's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.marks import BARS, EDGES, PROBLEMS, grid
from simonides.figures.style import INK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw the relative difference, and each problem over theory."""
    table = tables["measured"]
    figure, (left, right) = grid(2, width=3.6, height=3.0)
    left.errorbar(
        table["dim"], 100 * table["excess"], 100 * table["excess_stderr"],
        label="measured", **{**BARS, "marker": "D", "markersize": 4.5, "color": INK},
    )  # fmt: skip
    left.axhline(0.0, **EDGES["asymptotic"], label="equal")
    left.set(
        xscale="log", xlabel="dimension $d$", ylabel="percent", title="Original over decoupled"
    )
    for _, name, mark in PROBLEMS:
        column = f"{name}_over_theory"
        right.errorbar(
            table["dim"], table[column], table[f"{column}_stderr"], label=name, **{**BARS, **mark}
        )
    # In the legend and not on the line: marks lie wherever they were measured.
    right.axhline(1.0, **EDGES["asymptotic"], label="finite-size theory")
    right.set(xscale="log", xlabel="dimension $d$", ylabel="measured / theory")
    right.set_title("Each over theory")
    for axes in (left, right):
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.35 * (high - low))  # room for the legend
        axes.legend(loc="upper right", ncols=2)
        axes.set_xticks(table["dim"], [f"{dim:g}" for dim in table["dim"]])
        axes.minorticks_off()
    return figure
