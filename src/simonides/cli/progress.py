"""Progress of long commands: a live bar on a terminal, plain lines elsewhere, on standard error."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Item = TypeVar("Item")


def steps(
    items: Sequence[Item], verb: str, *, quiet: bool, label: Callable[[Item], str]
) -> Iterator[Item]:
    """Yield the items one by one while showing which is being worked on."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False, quiet=quiet)
    if not console.is_terminal:
        for position, item in enumerate(items, start=1):
            console.print(f"{verb} {label(item)} ({position} of {len(items)})")
            yield item
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(verb, total=len(items))
        for item in items:
            progress.update(task, description=f"{verb} {label(item)}")
            yield item
            progress.advance(task)


@contextmanager
def live(line: Callable[[Item], str], *, quiet: bool) -> Iterator[Callable[[Item], None] | None]:
    """Yield a callback that shows the latest line on a terminal, and nothing elsewhere."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if quiet or not console.is_terminal:
        yield None
        return
    with console.status("starting") as status:
        yield lambda item: status.update(line(item))


def counted(items: Iterable[Item], total: int, noun: str, *, quiet: bool) -> Iterator[Item]:
    """Yield items as they are finished, showing on a terminal how many there are."""
    with live(lambda done: f"{done} of {total} {noun}", quiet=quiet) as watch:
        for done, item in enumerate(items, start=1):
            if watch is not None:
                watch(done)
            yield item
