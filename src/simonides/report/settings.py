"""What was run, in a table: every sweep's spec, how its tasks ended, and the seconds."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from simonides.formatting import short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from simonides.experiments.spec import Spec
    from simonides.reproduction.results import Reproduction

_MOST_LISTED = 8
"""Loads that a line has room for; more are said by their number and range."""


def settings_table(reproduction: Reproduction) -> str:
    """Return the table as HTML."""
    rows = []
    tallies, seconds = reproduction.tallies, reproduction.seconds
    for sweep, specs in reproduction.plan.sweeps.items():
        for place, spec in enumerate(specs, start=1):
            name = f"{sweep}-{place}"
            if name in tallies:
                tally = tallies[name]
                ended = f"{tally.done} done" + (f", {tally.failed} failed" if tally.failed else "")
                spent = (reproduction.task_seconds.get(name, 0.0), seconds.get(name, 0.0))
                rows.append([name, _described(spec), ended, *(f"{each:,.1f}" for each in spent)])
    rows += [
        [name, "", "", "", f"{spent:,.1f}"]
        for name, spent in seconds.items()
        if name not in tallies
    ]
    header = [
        f"{reproduction.plan.name} run",
        "what",
        "tasks",
        "their seconds, added up",
        "seconds, this time",
    ]
    return _html(header, rows)


def _described(spec: Spec) -> str:
    """Return a spec in one line."""
    solvers = ", ".join(
        solver.name
        + (
            f" ({', '.join(f'{key} {value}' for key, value in solver.options)})"
            if solver.options
            else ""
        )
        for solver in spec.solvers
    )
    parts = [
        " and ".join(spec.problems),
        f"d = {_listed(spec.dims)}",
        solvers,
        f"{spec.instances} instances",
        f"seed {spec.seed}",
    ]
    if spec.rank_fractions != (1.0,):
        parts.append(f"κ = {_listed(spec.rank_fractions)}")
    if spec.loads:
        parts.append(f"{len(spec.loads)} loads {min(spec.loads):g} to {max(spec.loads):g}")
    if spec.relative_loads:
        shares = spec.relative_loads
        listed = (
            _listed(shares)
            if len(shares) <= _MOST_LISTED
            else f"{len(shares)} loads {min(shares):g} to {max(shares):g}"
        )
        parts.append(f"{listed} of capacity")
    return "; ".join(parts)


def _html(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<table class="settings"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _listed(numbers: Iterable[float]) -> str:
    return ", ".join(short(float(number)) for number in numbers)
