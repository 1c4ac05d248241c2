"""Which picture draws which table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides import arguments
from simonides.figures import mechanism, storage
from simonides.figures.style import house_style
from simonides.signal.paper import curve_pictures as signal

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from simonides.curves.table import Table

PICTURES: dict[str, Callable[[Table], Figure]] = {
    "price": storage.price,
    "load": storage.load,
    "around": storage.around,
    "rank": storage.rank,
    "margin": storage.margin,
    "tail": storage.tail,
    "scores": mechanism.scores,
    "spectrum": mechanism.spectrum,
    "overlap": mechanism.overlap,
    "hebbian": mechanism.hebbian,
    "trained": mechanism.trained,
    **signal.PICTURES,
}


def draw(table: Table) -> Figure:
    """Return the picture of a table."""
    if table.name not in PICTURES:
        raise arguments.refuse(
            "table", table.name, f"one of {', '.join(PICTURES)}", "draw a table of the catalogue"
        )
    with house_style():
        return PICTURES[table.name](table)
