"""How answers are printed: one JSON object, or a table a person can read."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from simonides import arguments
from simonides.cli import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Solution


def print_json(answer: dict[str, Any]) -> None:
    """Print one JSON object; numbers that JSON cannot hold become null."""
    typer.echo(json.dumps(_plain(answer), indent=2, ensure_ascii=False, allow_nan=False))


def print_line(text: str) -> None:
    """Print one line."""
    typer.echo(text)


def print_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> None:
    """Print a table, its first column left-aligned and the others right-aligned."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, show_header=any(header))
    for position, name in enumerate(header):
        table.add_column(name, justify="left" if position == 0 else "right")
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False)
    # Not the table's own title, which would wrap to its width; brackets in it are no styles.
    console.print(title, style="bold", markup=False)
    console.print(table)
    for note in notes:
        console.print(Padding(note, (0, 0, 0, 2)), style="dim")


def storing(problem: Problem, rank: int | None) -> str:
    """Return the title of an answer about storing a problem's facts."""
    bound = "" if rank is None else f" of rank {rank}"
    return f"{problem.facts:,} facts in a {problem.dim_out:,} x {problem.dim_in:,} matrix{bound}"


def cut_short(solution: Solution) -> list[str]:
    """Return the note of a solution that was not left to end."""
    if solution.interrupted:
        return ["Interrupted: this is the best by then."]
    return ["Out of time: this is the best by then."] if solution.timed_out else []


def end(*, interrupted: bool) -> None:
    """Leave with the exit code that tells an interrupted answer from a whole one."""
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def check_writable(name: str, path: str) -> None:
    """Refuse a file that could not be written, before anything is computed for it."""
    file = Path(path)
    if not file.parent.is_dir():
        raise arguments.refuse(name, path, "in a folder that exists", f"create {file.parent} first")
    new = not file.exists()
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
