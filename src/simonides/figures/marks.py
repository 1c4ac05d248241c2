"""What the paper's figures share: panels in a grid, and one mark per problem and dimension."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.arrays import Reals
from simonides.curves.table import Table
from simonides.figures.style import ACCENT, GREY, HEBBIAN, INK, THEORY, WIDEST, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ORIGINAL: dict[str, Any] = {"marker": "o", "markersize": 3.2, "color": THEORY, "zorder": 3}
DECOUPLED: dict[str, Any] = {
    "marker": "s", "markersize": 5.4, "color": HEBBIAN, "markerfacecolor": "none",
}  # fmt: skip
PROBLEMS = ((0.0, "original", ORIGINAL), (1.0, "decoupled", DECOUPLED))
"""Value in the column ``decoupled``, name, and mark: where both lie on one place, a dot in a square."""

CURVE: dict[str, Any] = {"color": INK, "linewidth": 1.4, "linestyle": "-"}
SECOND: dict[str, Any] = {"color": ACCENT, "linewidth": 1.4, "linestyle": "--"}
BARS: dict[str, Any] = {"capsize": 2.0, "elinewidth": 0.9, "linestyle": "none"}
SIZES: tuple[dict[str, Any], ...] = (
    {"color": "#86b6e0", "marker": "o", "linestyle": "-"},
    {"color": "#2b9381", "marker": "s", "linestyle": (0, (5, 1.5))},
    {"color": "#7b3fa0", "marker": "^", "linestyle": (0, (5, 1.5, 1, 1.5))},
    {"color": "#0a1a2f", "marker": "D", "linestyle": (0, (1.2, 1.2))},
)
"""Dimensions, from small and light to large and dark, each with a mark and a dash of its own."""

EDGES: dict[str, dict[str, Any]] = {
    "asymptotic": {"color": GREY, "linewidth": 1.0, "linestyle": (0, (4, 3))},
    "finite_size": {"color": GREY, "linewidth": 1.2, "linestyle": (0, (1, 1))},
}
"""Predicted capacities, by the column that holds them."""


def panels_by(
    tables: Mapping[str, Table], column: str, *, height: float = 2.6
) -> tuple[Figure, list[tuple[Axes, float, dict[str, Table]]]]:
    """Return a figure with a panel for each value that a column of the first table takes, in rows of two.

    Each comes with its value and with the rows that tables have of it; those without the column stay whole.
    """
    values = sorted(next(iter(tables.values())).distinct(column))
    width = 3.9 if len(values) == 1 else WIDEST / 2  # alone there is room for more
    figure, panels = canvas(len(values), columns=2, width=width, height=height)
    parts = [
        {k: t.where(column, value) if column in t.columns else t for k, t in tables.items()}
        for value in values
    ]
    return figure, list(zip(panels, values, parts, strict=True))


def with_problems(
    axes: Axes, table: Table, across: str, up: str, scale: Callable[[Reals], Reals] = np.positive
) -> None:
    """Draw a column of both problems with its errors against another, put to scale."""
    for code, name, mark in PROBLEMS:
        part = part_of(table, decoupled=code)
        if len(part):
            bars = {**BARS, **mark}
            axes.errorbar(scale(part[across]), part[up], part[f"{up}_stderr"], label=name, **bars)


def ticks_at(axes: Axes, dims: Collection[float]) -> None:
    """Mark dimensions, and no others, on a logarithmic axis."""
    axes.set_xticks(list(dims), [f"{dim:g}" for dim in dims])
    axes.minorticks_off()


def bars_of(axes: Axes, table: Table, across: str, label: str) -> None:
    """Draw the column ``density`` as bars over another, whose values are evenly spaced."""
    x = table[across]
    axes.bar(x, table["density"], x[1] - x[0], color=GREY, alpha=0.5, label=label)


def panels_by_regime(
    table: Table, title: str = "{:g} of capacity", *, height: float = 2.1
) -> tuple[Figure, list[tuple[Axes, Table]]]:
    """Return a figure with a row of both problems for each regime: panels, and the rows of each.

    ``title`` says what a regime is in words; titles say problem and dimension too.
    """
    regimes = sorted(table.distinct("regime"))
    figure, panels = canvas(2 * len(regimes), columns=2, height=height)
    parts = []
    for place, (regime, (code, name, _)) in enumerate(product(regimes, PROBLEMS)):
        parts.append(part_of(table, decoupled=code, regime=regime))
        words = f"{name}, $d$ = {parts[-1]['dim'][0]:g}, {title.format(regime)}"
        panels[place].set_title(words, fontsize=9.5)
        panels[place].set(
            xlabel="score, off-target variance 1", ylabel="" if place % 2 else "density"
        )
    return figure, list(zip(panels, parts, strict=True))


def capacity_edge(axes: Axes, value: float, label: str, column: str) -> None:
    """Draw a predicted capacity, its name written up the line from below."""
    axes.axvline(value, **EDGES[column])
    axes.text(
        value, 0.03, label, transform=axes.get_xaxis_transform(),
        va="bottom", ha="right", rotation=90, color="#4a515a", fontsize=7,
    )  # fmt: skip


def legend_below(figure: Figure, axes: Axes, *, columns: int = 3) -> None:
    """Name the marks of a panel, which are those of all, under the figure."""
    marks, names = axes.get_legend_handles_labels()
    figure.legend(marks, names, loc="outside lower center", ncols=columns, fontsize=7.5)


def part_of(table: Table, **columns: float) -> Table:
    """Return the rows of a table in which columns have the given values."""
    for name, value in columns.items():
        table = table.where(name, value)
    return table
