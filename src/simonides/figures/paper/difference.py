"""How far the original problem's threshold lies above the decoupled one's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.marks import BARS, PROBLEMS, grid
from simonides.figures.style import INK, reference_line

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
    reference_line(left, 0.0, "equal")
    left.set(
        xscale="log", xlabel="dimension $d$", ylabel="percent", title="Original over decoupled"
    )
    left.legend()
    for _, name, mark in PROBLEMS:
        column = f"{name}_over_theory"
        right.errorbar(
            table["dim"], table[column], table[f"{column}_stderr"], label=name, **{**BARS, **mark}
        )
    reference_line(right, 1.0, "finite-size theory")
    right.set(xscale="log", xlabel="dimension $d$", ylabel="measured / theory")
    right.set_title("Each over theory")
    # Room for the legend above the bars, which lie wherever they were measured.
    right.set_ylim(top=right.get_ylim()[1] + 0.3 * (right.get_ylim()[1] - right.get_ylim()[0]))
    right.legend(loc="upper right", ncols=2)
    for axes in (left, right):
        axes.set_xticks(table["dim"], [f"{dim:g}" for dim in table["dim"]])
        axes.minorticks_off()
    return figure
