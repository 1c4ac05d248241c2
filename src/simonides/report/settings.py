"""What was run, in a table: every sweep's spec, how its tasks ended, and the seconds."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from simonides.formatting import short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from simonides.experiments.spec import Spec
    from simonides.reproduction.run import Reproduction


_MOST_LISTED = 8


def settings_table(found: Reproduction) -> str:
    """Return the table as HTML."""
    rows = []
    for sweep, specs in found.plan.sweeps.items():
        for place, spec in enumerate(specs, start=1):
            name = f"{sweep}-{place}"
            if name in found.tallies:
                tally = found.tallies[name]
                ended = f"{tally.done} done" + (f", {tally.failed} failed" if tally.failed else "")
                spent = (found.task_seconds.get(name, 0.0), found.seconds.get(name, 0.0))
                rows.append([name, described(spec), ended, *(f"{one:,.1f}" for one in spent)])
    rows += [
        [name, "", "", "", f"{seconds:,.1f}"]
        for name, seconds in found.seconds.items()
        if name not in found.tallies
    ]
    header = [
        f"{found.plan.name} run",
        "what",
        "tasks",
        "their seconds, added up",
        "seconds, this time",
    ]
    return html_table(header, rows, kind="settings")


def described(spec: Spec) -> str:
    """Return a spec in one line."""
    solvers = ", ".join(
        one.name
        + (f" ({', '.join(f'{key} {value}' for key, value in one.options)})" if one.options else "")
        for one in spec.solvers
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


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, kind: str) -> str:
    """Return a table of text, styled by its kind."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<table class="{escape(kind)}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    )


def _listed(numbers: Iterable[float]) -> str:
    return ", ".join(short(float(number)) for number in numbers)
