"""The theory curves by name, each with the question it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simonides import arguments
from simonides.curves import mechanism, storage
from simonides.signal.paper import curves as signal

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.curves.table import Table


@dataclass(frozen=True)
class Curve:
    """A named table of theory; those made for a dimension have a default and a largest one."""

    name: str
    question: str
    make: Callable[[int], Table]
    dim: int
    most_dim: int | None = None

    def table(self, dim: int | None = None) -> Table:
        """Return the table, for the default dimension unless one is given."""
        if dim is None:
            return self.make(self.dim)
        if self.most_dim is None:
            raise arguments.refuse(
                "dim", dim, f"left out for '{self.name}'", "it does not depend on one dimension"
            )
        dim = arguments.whole("dim", dim, least=2, remedy="pass the dimension to draw it for")
        if dim > self.most_dim:
            raise arguments.refuse(
                "dim",
                dim,
                f"at most {self.most_dim} for '{self.name}'",
                "it is computed by sampling",
            )
        return self.make(dim)


CURVES = {
    curve.name: curve
    for curve in (
        Curve("price", "What does one fact cost?", storage.price, 100),
        Curve("load", "How does capacity grow with the dimension?", storage.load, 100),
        Curve("rank", "What does a rank bound cost?", storage.rank, 100, 10**6),
        Curve("margin", "How much margin is left below capacity?", storage.margin, 100, 10**6),
        Curve("tail", "What if the target need only beat its top rivals' mean?", storage.tail, 100),
        Curve("scores", "How does the best memory score?", mechanism.scores, 100, 10**6),
        Curve("spectrum", "What do the weights look like at capacity?", mechanism.spectrum, 100),
        Curve("overlap", "How much freedom is left below capacity?", mechanism.overlap, 25, 60),
        Curve("hebbian", "How far does the Hebbian rule get?", mechanism.hebbian, 100, 10**6),
        Curve("trained", "What does training reach beyond capacity?", mechanism.trained, 25, 60),
        Curve("attention", "When does attention freeze?", signal.attention, 100),
        Curve("depth", "How do tokens align with depth?", signal.depth, 100),
        Curve("placement", "What does the place of LayerNorm change?", signal.placement, 100),
        Curve("gradients", "When do query weights learn?", signal.gradients, 100),
        Curve("trainability", "Which initialisations train?", signal.trainability, 100),
    )
}


def curve(name: str) -> Curve:
    """Return the curve of that name, or say which there are."""
    if name not in CURVES:
        raise arguments.refuse("name", name, f"one of {', '.join(CURVES)}", "pick a curve")
    return CURVES[name]
