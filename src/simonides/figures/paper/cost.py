"""Seconds against the dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simonides.figures.paper.marks import PROBLEMS, grid, part_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table

_WHAT = ((0.0, "training", "-"), (1.0, "one decision", "--"))


def draw(tables: Mapping[str, Table]) -> Figure:
    """Draw medians and quartiles on logarithmic axes."""
    table = tables["measured"]
    figure, (axes,) = grid(1, width=4.4, height=3.2)
    for decision, what, dash in _WHAT:
        for code, name, mark in PROBLEMS:
            part = part_of(table, decision=decision, decoupled=code)
            around = np.array(
                [
                    part["seconds"] - part["seconds_lower"],
                    part["seconds_upper"] - part["seconds"],
                ]
            )
            axes.errorbar(
                part["dim"], part["seconds"], around, label=f"{what}, {name}",
                capsize=2.0, elinewidth=0.9, linestyle=dash, linewidth=1.3, **mark,
            )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel="seconds, one thread")
    axes.set_title("Median and quartiles")
    dims = sorted(table.distinct("dim"))
    axes.set_xticks(dims, [f"{dim:g}" for dim in dims])
    axes.minorticks_off()
    axes.legend(fontsize=7.5)
    return figure
