"""Progress of long commands: a live bar on a terminal, plain lines elsewhere, on standard error."""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from simonides.cli.output import console_for
from simonides.interrupts import PRESSES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simonides.experiments.sweep import Tally

Item = TypeVar("Item")

_SECONDS_BETWEEN_LINES = 10.0
"""In a log file: often enough to see that it lives, seldom enough to read."""


@contextmanager
def step_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a callback that shows what is worked on, as the how-manieth of how many."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = console_for(stderr=True)
    if not console.is_terminal:
        yield lambda work, place, total: console.print(f"{work} ({place} of {total})")
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=None)
        yield lambda work, place, total: progress.update(
            task, description=work, completed=place - 1, total=total
        )


@contextmanager
def live(line: Callable[[Item], str], *, quiet: bool) -> Iterator[Callable[[Item], None]]:
    """Yield a callback that shows the latest line on a terminal, and heeds Ctrl-C everywhere."""
    console = console_for(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda _: PRESSES.heed()
        return

    def show(item: Item) -> None:
        PRESSES.heed()
        status.update(line(item))

    with console.status("starting") as status:
        yield show


@contextmanager
def tally_bar(*, quiet: bool) -> Iterator[Callable[[Tally], None]]:
    """Yield a callback that shows how a sweep stands: a bar on a terminal, a line at times elsewhere.

    Quiet, it says only what the sweep is waiting for.
    """
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    console = console_for(stderr=True)
    pace = _Pace()
    if quiet or not console.is_terminal:

        def say(tally: Tally) -> None:
            if pace.due(tally) and (tally.note or not quiet):
                console.print(pace.line(tally))

        yield say
        return
    words = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), BarColumn(bar_width=24), words)
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("starting", total=None)

        def show(tally: Tally) -> None:
            ended = tally.total - tally.left
            progress.update(bar, total=tally.total, completed=ended, description=pace.line(tally))

        yield show


class _Pace:
    """How fast a sweep goes, from what it has done since it was first seen."""

    def __init__(self) -> None:
        self._began = self._said = 0.0
        self._first: Tally | None = None
        self._note = ""

    def due(self, tally: Tally) -> bool:
        """Return whether a line is worth writing now: the first, the last, and one every few seconds.

        Also one for every new note, and none for it a second time.
        """
        now, new = time.monotonic(), tally.note != self._note
        late = now - self._said > _SECONDS_BETWEEN_LINES and not tally.note
        due = self._first is None or tally.left == 0 or new or late
        self._note = tally.note
        self._said = now if due else self._said
        return due

    def line(self, tally: Tally) -> str:
        """Return the tally, the rate and the time left in words."""
        if self._first is None:
            self._first, self._began = tally, time.monotonic()
        text = f"{tally.done:,} of {tally.total:,} done, {tally.failed:,} failed"
        if tally.note:
            return f"{text}; {tally.note}"
        new = self._first.left - tally.left
        if not new:
            return text
        rate = new / (time.monotonic() - self._began)
        left = timedelta(seconds=round(tally.left / rate))
        speed = f"{rate:.1f} per second" if rate >= 1 else f"{60 * rate:.1f} per minute"
        return f"{text}, {speed}, {left} left"
