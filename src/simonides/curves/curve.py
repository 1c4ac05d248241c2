"""One curve of theory, whole: the question it answers, its table, its picture and its caption."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simonides import arguments
from simonides.curves.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Curve:
    """A curve as its module states it, once.

    ``make`` computes its table for a dimension, ``picture`` draws that; Matplotlib is loaded only then.
    Those that depend on the dimension have a largest one, ``most_dim``.
    """

    name: str
    question: str
    caption: str
    make: Callable[[int], Table]
    picture: Callable[[Table], Figure]
    dim: int = 100
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
