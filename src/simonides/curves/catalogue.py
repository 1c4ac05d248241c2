"""The theory curves of both papers by name, and pictures of all tables that commands print."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from simonides import arguments
from simonides.curves import mechanism, storage
from simonides.curves.curve import Curve
from simonides.curves.table import Table
from simonides.figures.style import house_style
from simonides.signal.paper import curves as signal
from simonides.signal.paper import pictures as signal_pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVES = {curve.name: curve for curve in (*storage.CURVES, *mechanism.CURVES, *signal.CURVES)}

_PICTURES: dict[str, Callable[[Table], Figure]] = {
    "around": storage.draw_around,
    "propagation": signal_pictures.propagation,
    "measured": signal_pictures.measured,
    **{curve.name: curve.picture for curve in CURVES.values()},
}
"""By the name of the table; three tables are about what a command was given, and no curves."""


def curve(name: str) -> Curve:
    """Return the curve of that name, or say which there are."""
    arguments.one_of("name", name, CURVES)
    return CURVES[name]


def draw(table: Table) -> Figure:
    """Return the picture of a table, in the look of all pictures."""
    arguments.one_of("table", table.name, _PICTURES, "draw a table of the catalogue")
    with house_style():
        return _PICTURES[table.name](table)
