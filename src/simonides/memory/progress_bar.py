"""A bar of the facts stored so far, on standard error."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simonides.solvers.solution import Progress


@contextmanager
def facts_bar(facts: int, *, shown: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Yield a callback for solvers that moves the bar, or None where nothing is to be shown.

    Not every method counts down: the bar shows what is stored now, and may fall back.
    """
    if not shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("storing"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("storing", total=facts)
        yield lambda step: bar.update(task, completed=max(0, facts - step.violations))
