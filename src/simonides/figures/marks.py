"""What the paper's figures share: panels in a grid, and one mark per problem and dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simonides.figures.style import ACCENT, GREY, HEBBIAN, INK, THEORY, WIDEST, canvas

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simonides.curves.table import Table

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


def grid(
    count: int, *, width: float = WIDEST / 2, height: float = 2.6
) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels in rows of two."""
    return canvas(count, columns=2, width=width, height=height)


def panels_by_dim(table: Table) -> tuple[Figure, list[tuple[Axes, float]]]:
    """Return a figure with a panel for each dimension of a table, and which is whose."""
    dims = sorted(table.distinct("dim"))
    figure, panels = grid(len(dims), width=3.9 if len(dims) == 1 else WIDEST / 2, height=3.0)
    return figure, list(zip(panels, dims, strict=True))


def panels_by_regime(
    table: Table, named: Callable[[float], str], *, height: float
) -> tuple[Figure, list[tuple[Axes, float, float]]]:
    """Return a figure with a row of both problems for each regime: panels, problems' values, regimes.

    ``named`` says what a regime is in words; titles say the dimension too.
    """
    regimes = sorted(table.distinct("regime"))
    figure, panels = grid(2 * len(regimes), height=height)
    owners = [(code, name, regime) for regime in regimes for code, name, _ in PROBLEMS]
    for axes, (code, name, regime) in zip(panels, owners, strict=True):
        dim = part_of(table, decoupled=code, regime=regime)["dim"][0]
        axes.set_title(f"{name}, $d$ = {dim:g}, {named(regime)}", fontsize=9.5)
    for axes in panels[::2]:
        axes.set_ylabel("density")
    return figure, [
        (axes, code, regime) for axes, (code, _, regime) in zip(panels, owners, strict=True)
    ]


def share_of_capacity(regime: float) -> str:
    """Return a regime in words, as titles have it.

    >>> share_of_capacity(0.7)
    '0.7 of capacity'
    """
    return f"{regime:g} of capacity"


def vertical(axes: Axes, value: float, label: str, *, low: float = 0.0) -> None:
    """Draw a labelled dashed vertical, from a share of the panel's height up to its top."""
    axes.axvline(value, ymin=low, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.text(
        value, 0.98, f" {label}", transform=axes.get_xaxis_transform(), va="top", ha="left",
        color="#4a515a", fontsize=7.5,
    )  # fmt: skip


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
    """Return the rows in which columns have the given values."""
    for name, value in columns.items():
        table = table.where(name, value)
    return table
