"""What the paper's figures share: panels in a grid, and one mark per problem and dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simonides.figures.style import ACCENT, GREY, HEBBIAN, INK, THEORY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simonides.curves.table import Table

ORIGINAL: dict[str, Any] = {"marker": "o", "markersize": 4.2, "color": THEORY}
DECOUPLED: dict[str, Any] = {
    "marker": "s", "markersize": 5.2, "color": HEBBIAN, "markerfacecolor": "white",
}  # fmt: skip
PROBLEMS = ((0.0, "original", ORIGINAL), (1.0, "decoupled", DECOUPLED))
"""Value in the column ``decoupled``, name, and mark."""

CURVE: dict[str, Any] = {"color": INK, "linewidth": 1.4, "linestyle": "-"}
SECOND: dict[str, Any] = {"color": ACCENT, "linewidth": 1.4, "linestyle": "--"}
BARS: dict[str, Any] = {"capsize": 2.0, "elinewidth": 0.9, "linestyle": "none"}
SHADES = ("#9db8d6", "#4d84bd", "#0b3d73", "#041b33")
"""Dimensions, from small and light to large and dark."""


def grid(
    count: int, *, columns: int = 2, width: float = 3.3, height: float = 2.6
) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels in rows."""
    from matplotlib.figure import Figure

    columns = min(columns, count)
    lines = -(-count // columns)
    figure = Figure(figsize=(width * columns, height * lines), layout="constrained")
    panels = list(figure.subplots(lines, columns, squeeze=False).ravel())
    for unused in panels[count:]:
        unused.set_visible(False)
    return figure, panels[:count]


def panels_by_dim(table: Table) -> tuple[Figure, list[tuple[Axes, float]]]:
    """Return a figure with a panel for each dimension of a table, and which is whose."""
    dims = sorted(table.distinct("dim"))
    figure, panels = grid(len(dims), columns=3, width=3.9 if len(dims) == 1 else 3.3, height=3.0)
    return figure, list(zip(panels, dims, strict=True))


def panels_by_regime(
    table: Table, *, height: float
) -> tuple[Figure, list[tuple[Axes, float, float]]]:
    """Return a figure with a row of regimes for each problem: panels, problems' values, regimes."""
    regimes = sorted(table.distinct("regime"))
    figure, panels = grid(2 * len(regimes), columns=len(regimes), width=2.7, height=height)
    owners = [(code, name, regime) for code, name, _ in PROBLEMS for regime in regimes]
    for axes, (_, name, regime) in zip(panels, owners, strict=True):
        axes.set_title(f"{name}, {regime:g} of capacity", fontsize=9)
    for axes in panels[:: len(regimes)]:
        axes.set_ylabel("density")
    return figure, [
        (axes, code, regime) for axes, (code, _, regime) in zip(panels, owners, strict=True)
    ]


def vertical(axes: Axes, value: float, label: str) -> None:
    """Draw a labelled dashed vertical."""
    axes.axvline(value, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.text(
        value, 0.98, f" {label}", transform=axes.get_xaxis_transform(), va="top", ha="left",
        color="#4a515a", fontsize=7.5,
    )  # fmt: skip


def capacity_edge(axes: Axes, value: float, label: str, *, high: bool = False) -> None:
    """Draw a predicted capacity, its name written up the line, from below or at its upper end."""
    axes.axvline(value, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.text(
        value, 0.97 if high else 0.03, label, transform=axes.get_xaxis_transform(),
        va="top" if high else "bottom", ha="right", rotation=90, color="#4a515a", fontsize=7,
    )  # fmt: skip


def legend_below(figure: Figure, axes: Axes) -> None:
    """Name the marks of a panel, which are those of all, under the figure."""
    marks, names = axes.get_legend_handles_labels()
    figure.legend(marks, names, loc="outside lower center", ncols=3, fontsize=7.5)


def part_of(table: Table, **columns: float) -> Table:
    """Return the rows in which columns have the given values."""
    for name, value in columns.items():
        table = table.where(name, value)
    return table
