"""One figure of a reproduction: what it needs, its tables and its caption."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.curves.table import Table
    from simonides.reproduction.results import Results


@dataclass(frozen=True)
class Figure:
    """One picture: the sweeps it needs, its tables and its caption, and the paper's topic.

    ``extra`` is the optional dependency without which it cannot be made.
    """

    name: str
    title: str
    caption: str
    needs: tuple[str, ...]
    tables: Callable[[Results], dict[str, Table]]
    topic: str = "storage"
    extra: str | None = None

    @property
    def file(self) -> str:
        """Name of its files, without an ending."""
        return f"figure-{self.name}" if self.name[0].isupper() or self.name.isdigit() else self.name
