"""``simonides report``: every theory curve on one page."""

from __future__ import annotations

from typing import Annotated

import typer

from simonides.cli import options, output


def report(
    out: Annotated[str, typer.Option(help="Folder to write the page and its data to.")] = "report",
    as_json: options.Json = False,
) -> None:
    """Compute every theory curve and write one HTML page with pictures and tables.

    Example: simonides report --out build/demo
    """
    from simonides.cli.progress import steps
    from simonides.curves.catalogue import CURVES
    from simonides.report.page import checked_folder, write_report

    checked_folder(out)
    tables = {}
    for asked in steps([*CURVES.values()], "computing", quiet=as_json, label=lambda c: c.name):
        tables[asked.name] = asked.table()
    path = write_report(out, tables)
    if as_json:
        output.print_json({"report": str(path), "curves": list(tables)})
    else:
        output.print_line(str(path))
