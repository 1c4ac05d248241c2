"""One figure of a reproduction, whole: its words, what it needs, its tables and its picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simonides.curves.table import Table
from simonides.figures.style import house_style
from simonides.reproduction.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PaperFigure:
    """A figure as its module states it, once.

    Parameters
    ----------
    name : str
        What it is asked for by: the paper's number, or a word for one that the paper does not have.
    title, caption : str
        What it shows, and how to read it.
    needs : tuple of str
        The sweeps that its tables read.
    tables : callable
        From the results of a plan to its tables, by name.
    picture : callable
        From these tables to a Matplotlib figure, which is loaded only then.
    topic : str
        The paper it belongs to: on ``"storage"`` or on ``"signal"``.
    extra : str, optional
        The optional dependency without which it cannot be made.
    """

    name: str
    title: str
    caption: str
    needs: tuple[str, ...]
    tables: Callable[[Results], dict[str, Table]]
    picture: Callable[[Mapping[str, Table]], Figure]
    topic: str = "storage"
    extra: str | None = None

    @property
    def is_numbered(self) -> bool:
        """Whether the paper on storage has it, by a number."""
        return self.name[0].isupper() or self.name.isdigit()

    @property
    def file(self) -> str:
        """Name of its files, without an ending."""
        return f"figure-{self.name}" if self.is_numbered else self.name

    @property
    def label(self) -> str:
        """What a page calls it in few words."""
        return f"Figure {self.name}" if self.is_numbered else self.name

    @property
    def heading(self) -> str:
        """What stands above it."""
        return f"{self.label}: {self.title}" if self.is_numbered else self.title

    def draw(self, tables: Mapping[str, Table]) -> Figure:
        """Return its picture, in the look of all pictures."""
        with house_style():
            return self.picture(tables)
