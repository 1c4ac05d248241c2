"""``simonides theory``: laws and curves, as tables and pictures."""

from __future__ import annotations

from typing import Annotated, Any

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
        questions = {curve.name: curve.question for curve in CURVES.values()}
        rows = [list(row) for row in questions.items()]
        header = ["name", "question"]
        output.answer({"curves": questions}, "Theory curves", rows, as_json=as_json, header=header)
        return
    chosen = curve(name)
    options.check_plot(plot)
    table = chosen.table(dim)
    record: dict[str, Any] = {
        "name": table.name,
        "title": table.title,
        "settings": dict(table.settings),
        "columns": {key: [float(v) for v in values] for key, values in table.columns.items()},
    }
    record |= options.picture(plot, lambda table: table, table)
    step = max(1, len(table) // _ROWS_SHOWN)
    output.answer(
        record,
        table.title,
        [[short(value) for value in row.values()] for row in table.records()[::step]],
        as_json=as_json,
        header=[name.replace("_", " ") for name in table.columns],
        notes=[f"every {step}th of {len(table)} rows; --json gives all"] if step > 1 else [],
    )
