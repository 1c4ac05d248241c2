"""Panels by rank fraction of something measured against the load: what Figs. 2 and A.1 share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simonides.figures.paper.marks import BARS, EDGES, PROBLEMS, SIZES, grid, part_of
from simonides.figures.style import GREY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simonides.curves.table import Table

_FILLED: dict[str, Any] = {"markersize": 2.9, "zorder": 3}
_OPEN: dict[str, Any] = {"markersize": 5.4, "markerfacecolor": "none"}
_EDGE_NAMES = {"asymptotic": "limit, eq. 9", "finite_size": "finite-size capacity, largest $d$"}


def panels_by_rank(
    tables: Mapping[str, Table], column: str, label: str
) -> tuple[Figure, list[Axes]]:
    """Draw a column against the load for every problem and dimension, one panel per rank fraction.

    Colour, mark and dash tell dimensions, full and open marks problems. The last panel, of full rank,
    has theory's curves, and names all of this for the legend.
    """
    measured, curves = tables["measured"], tables["theory-curve"]
    fractions = sorted(measured.distinct("rank_fraction"))
    dims = sorted(measured.distinct("dim"))
    sizes = dict(zip(dims, SIZES[-len(dims) :], strict=True))
    figure, panels = grid(len(fractions))
    for axes, fraction in zip(panels, fractions, strict=True):
        for dim, size in sizes.items():
            for code, _, _ in PROBLEMS:
                part = part_of(measured, rank_fraction=fraction, dim=dim, decoupled=code)
                if len(part):
                    axes.errorbar(
                        part["load"], part[column], part[f"{column}_std"] if code else None,
                        **{**size, **BARS, **(_OPEN if code else _FILLED)},
                    )  # fmt: skip
        axes.set(
            title=rf"$\kappa$ = {fraction:g}", xlabel="load $p\\,\\log p\\,/\\,d^2$", ylabel=label
        )
        axes.set_xlim(left=0)
    for dim, size in sizes.items():
        curve = part_of(curves, dim=dim)
        panels[-1].plot(
            curve["load"], curve[column], linewidth=1.3,
            color=size["color"], linestyle=size["linestyle"],
        )  # fmt: skip
        panels[-1].plot([], [], **size, markersize=4.2, linewidth=1.3, label=f"$d$ = {dim:g}")
    mark: dict[str, Any] = {"marker": "o", "color": GREY, "linestyle": "none"}
    panels[-1].plot([], [], **mark, **_FILLED, label="full marks: original")
    panels[-1].plot([], [], **mark, **_OPEN, label="open marks: decoupled (±1 s.d.)")
    panels[-1].plot([], [], color=GREY, linewidth=1.3, label="lines: theory, decoupled")
    for axes, fraction in zip(panels, fractions, strict=True):
        edges = part_of(tables["thresholds"], rank_fraction=fraction)
        for edge, name in _EDGE_NAMES.items():
            # Limits do not depend on the dimension; sizes do, and the largest comes last.
            axes.axvline(edges[edge][-1], **EDGES[edge], label=name, zorder=1)
    return figure, panels
