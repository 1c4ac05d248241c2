"""The theory curves by name, each with the question it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simonides import arguments
from simonides.curves import mechanism, storage

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.curves.table import Table


@dataclass(frozen=True)
class Curve:
    """A named table of theory, made for a dimension (which some curves do not depend on)."""

    name: str
    question: str
    make: Callable[[int], Table]
    dim: int


CURVES = {
    curve.name: curve
    for curve in (
        Curve("price", "What does one fact cost?", storage.price, 100),
        Curve("load", "How does capacity grow with the dimension?", storage.load, 100),
        Curve("rank", "What does a rank bound cost?", storage.rank, 100),
        Curve("margin", "How much margin is left below capacity?", storage.margin, 100),
        Curve("tail", "What if the target need only beat its top rivals' mean?", storage.tail, 100),
        Curve("scores", "How does the best memory score?", mechanism.scores, 100),
        Curve("spectrum", "What do the weights look like at capacity?", mechanism.spectrum, 100),
        Curve("overlap", "How much freedom is left below capacity?", mechanism.overlap, 25),
        Curve("hebbian", "How far does the Hebbian rule get?", mechanism.hebbian, 100),
        Curve("trained", "What does training reach beyond capacity?", mechanism.trained, 25),
    )
}


def curve(name: str) -> Curve:
    """Return the curve of that name, or say which there are."""
    if name not in CURVES:
        raise arguments.refuse("name", name, f"one of {', '.join(CURVES)}", "pick a curve")
    return CURVES[name]
