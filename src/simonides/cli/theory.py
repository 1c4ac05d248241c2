"""``simonides theory``: laws and curves, as tables and pictures."""

from __future__ import annotations

from typing import Annotated

import typer

from simonides import arguments
from simonides.cli import options, output
from simonides.formatting import short

_ROWS_SHOWN = 24
"""What a terminal of usual height shows at once; ``--json`` gives all."""


def theory(
    name: Annotated[str | None, typer.Argument(help="Curve to compute; leave out to list.")] = None,
    dim: Annotated[int | None, typer.Option(help="Dimension, for curves that have one.")] = None,
    plot: options.Plot = None,
    as_json: options.Json = False,
) -> None:
    """Compute one of the theory's laws or curves, print it, and draw it.

    Example: simonides theory scores --plot scores.png
    """
    from simonides.curves.catalogue import CURVES, curve

    if name is None:
        for option, value in (("dim", dim), ("plot", plot)):
            if value is not None:
                raise arguments.refuse(option, value, "given with a curve", "name one")
        if as_json:
            output.print_json({"curves": {c.name: c.question for c in CURVES.values()}})
        else:
            rows = [[c.name, c.question] for c in CURVES.values()]
            output.print_table("Theory curves", ["name", "question"], rows)
        return
    chosen = curve(name)
    if plot is not None:
        options.check_plot(plot)
    table = chosen.table(dim)
    picture = None if plot is None else options.draw_to(plot, table)
    if as_json:
        columns = {key: [float(v) for v in values] for key, values in table.columns.items()}
        answer = {
            "name": table.name,
            "title": table.title,
            "settings": dict(table.settings),
            "columns": columns,
        }
        output.print_json(answer if picture is None else {**answer, "plot": picture})
        return
    step = max(1, len(table) // _ROWS_SHOWN)
    shown = table.records()[::step]
    rows = [[short(value) for value in record.values()] for record in shown]
    notes = [f"every {step}th of {len(table)} rows; --json gives all"] if step > 1 else []
    output.print_table(table.title, [n.replace("_", " ") for n in table.columns], rows, notes)
    if picture:
        output.print_line(f"picture: {picture}")
