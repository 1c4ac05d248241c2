"""Which module draws which figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper import (
    cost,
    difference,
    figure_1,
    figure_2,
    figure_3,
    figure_4,
    figure_a1,
    figure_a2,
    figure_c1,
    figure_c2,
    figure_d1,
    margin,
    rank,
)
from simonides.figures.style import house_style
from simonides.signal.paper import pictures as signal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table

PICTURES: dict[str, Callable[[Mapping[str, Table]], Figure]] = {
    "1": figure_1.draw,
    "2": figure_2.draw,
    "3": figure_3.draw,
    "4": figure_4.draw,
    "A.1": figure_a1.draw,
    "A.2": figure_a2.draw,
    "C.1": figure_c1.draw,
    "C.2": figure_c2.draw,
    "D.1": figure_d1.draw,
    "difference": difference.draw,
    "rank": rank.draw,
    "margin": margin.draw,
    "cost": cost.draw,
    **signal.PICTURES,
}


def draw(name: str, tables: Mapping[str, Table]) -> Figure:
    """Return the picture of a figure's tables."""
    with house_style():
        return PICTURES[name](tables)
