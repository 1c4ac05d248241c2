"""How answers are printed: one JSON object, or a table a person can read."""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any

import typer

from simonides import arguments
from simonides.cli import INTERRUPTED
from simonides.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Solution

_LONGEST_LINE = 2000
"""Characters of a refusal: some lines of a terminal, of which a list in a file may fill any number."""


_NARROWEST_NAMES = 10
"""Characters of names beside numbers: folded to fewer, they cannot be read."""


def print_json(answer: dict[str, Any]) -> None:
    """Print one JSON object; numbers that JSON cannot hold become null."""
    text = json.dumps(_plain(answer), indent=2, ensure_ascii=False, allow_nan=False)
    # What a terminal would obey is written as JSON's own escapes.
    typer.echo(
        "".join(
            letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]
            for letter in text
        )
    )


def print_line(text: str) -> None:
    """Print text, each of its lines."""
    typer.echo(printable(text))


def print_error(text: str) -> None:
    """Print one line on standard error."""
    line = printable(" ".join(text.split()))
    if len(line) > _LONGEST_LINE:
        line = f"{line[: _LONGEST_LINE // 2]} ... {line[-_LONGEST_LINE // 2 :]}"
    typer.echo(f"simonides: {line}", err=True)


def console_for(*, stderr: bool = False) -> Console:
    """Return what prints on a stream; no codes at all, not even bold, where NO_COLOR is set."""
    from rich.console import Console

    return Console(
        stderr=stderr,
        soft_wrap=stderr,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        # Names in files are not ours: brackets and colons in them are no styles.
        highlight=False,
        markup=False,
        emoji=False,
    )


def print_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> None:
    """Print a table, its first column left-aligned and the others right-aligned."""
    from rich.box import SIMPLE_HEAD
    from rich.padding import Padding
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, show_header=any(header))
    console = console_for()
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = _widths(header, cells, console.width)
    for position, (name, width) in enumerate(zip(header, widths, strict=True)):
        # Folded: a number that is cut is another number.
        table.add_column(
            name,
            justify="right" if position else "left",
            overflow="fold",
            min_width=width,
            width=width,
        )
    for row in cells:
        table.add_row(*row)
    screen = console.width
    console.print(printable(title), style="bold")  # the table's own would wrap to its width
    # A line that is too long is better than a number that is broken.
    needed = sum(width or 0 for width in widths) + 3 * len(widths) + 1
    console.width = max(screen, needed)
    console.print(table)
    console.width = screen
    for note in notes:
        console.print(Padding(printable(note), (0, 0, 0, 2)), style="dim")


def _widths(
    header: Sequence[str], rows: Sequence[Sequence[str]], available: int
) -> list[int | None]:
    """Return the widths of columns: on a narrow screen names and headers are folded, digits never."""
    columns = list(zip(header, *rows, strict=True))
    natural = [max(map(len, column)) for column in columns]
    spare = available - 3 * len(columns) - 1  # between columns, and at both sides
    if sum(natural) <= spare:
        return [None] * len(columns)
    # Nothing narrower than the longest number in it: spaces are the only places to break at.
    least = [
        max(len(word) for cell in cells for word in (cell.split() or [""])) for _, *cells in columns
    ]
    widths = [min(natural[0], _NARROWEST_NAMES), *natural[1:]]
    for position in sorted(range(1, len(columns)), key=lambda at: least[at] - natural[at]):
        widths[position] -= min(
            max(sum(widths) - spare, 0), max(widths[position] - least[position], 0)
        )
    words = " ".join(columns[0][1:]).split()
    numbers = [len(word) for word in words if word.lstrip("-")[:1].isdigit()]
    narrowest = max(_NARROWEST_NAMES // 2, *numbers, 0)
    widths[0] = max(narrowest, min(natural[0], spare - sum(widths[1:])))
    return [max(width, 1) for width in widths]


def answer(
    record: dict[str, Any],
    title: str,
    rows: Iterable[Sequence[str]],
    *,
    as_json: bool,
    header: Sequence[str] = ("", ""),
    notes: Iterable[str] = (),
) -> None:
    """Print a record as JSON, or as a table: rows, notes, its own notes, and files that were written."""
    if as_json:
        print_json(record)
        return
    print_table(title, header, rows, [*notes, *record.get("notes", ())])
    for name, word in (("plot", "picture"), ("certificate", "proof")):
        if record.get(name):
            print_line(f"{word}: {record[name]}")


def storing(problem: Problem, rank: int | None) -> str:
    """Return the title of an answer about storing a problem's facts."""
    bound = "" if rank is None else f" of rank {rank}"
    return f"{problem.facts:,} facts in a {problem.dim_out:,} x {problem.dim_in:,} matrix{bound}"


def recalled(record: dict[str, Any]) -> list[str]:
    """Return the row of how many facts are recalled."""
    return ["facts recalled", f"{record['recalled']:,} of {record['facts']:,}"]


def effort(record: dict[str, Any]) -> list[list[str]]:
    """Return the rows of what an answer took."""
    return [["steps", f"{record['steps']:,}"], ["seconds", f"{record['seconds']:.2f}"]]


def verdict_words(verdict: str, margin_lower: float, tolerance: float) -> str:
    """Return a verdict as it is meant: a margin up to the tolerance counts as none."""
    if verdict == "not-storable":
        return f"{verdict}: no margin above the tolerance"
    if verdict == "storable" and margin_lower <= tolerance:
        return f"{verdict}, but no margin above the tolerance"
    return verdict


def cut_short(solution: Solution) -> list[str]:
    """Return the note of a solution that was not left to end."""
    if solution.interrupted:
        return ["Interrupted: this is the best by then."]
    return ["Out of time: this is the best by then."] if solution.timed_out else []


def end(*, interrupted: bool) -> None:
    """Leave with the exit code that tells an interrupted answer from a whole one."""
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def check_writable(name: str, path: str, *endings: str) -> None:
    """Refuse a file that could not be written, before anything is computed for it."""
    file = arguments.new_file(name, path, *endings)
    new = not file.exists()
    if not (new or file.is_file()):  # a pipe would be waited for
        raise arguments.refuse(
            name, path, "a file that can be written", "it is none; choose another"
        )
    try:  # rights alone do not tell: a disk may be read-only or the file a folder
        file.open("ab").close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise arguments.refuse(
            name, path, "a file that can be written", f"choose another ({reason})"
        ) from None
    if new:
        file.unlink()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
