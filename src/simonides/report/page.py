"""Writing the report: pictures, their data, and one page that holds them all."""

from __future__ import annotations

import base64
import csv
import platform
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy

from simonides import __version__, arguments
from simonides.curves.catalogue import CURVES
from simonides.figures.catalogue import draw
from simonides.figures.style import save
from simonides.formatting import short
from simonides.report.captions import CAPTIONS
from simonides.report.template import PAGE, SECTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from simonides.curves.table import Table

_SIZES = (25, 100, 1024, 4096, 65536, 1_000_000)
_ROWS_SHOWN = 30


def write_report(out: str | Path, tables: Mapping[str, Table]) -> Path:
    """Write ``report.html`` and, beside it, every picture (SVG, PNG) and its data (CSV)."""
    folder = checked_folder(out)
    pictures = folder / "figures"
    sections = [_section(pictures, table) for table in tables.values()]
    page = PAGE.format(
        headline=_headline(tables["load"]) if "load" in tables else "",
        contents=" · ".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in tables),
        sections="\n".join(sections),
        versions=escape(
            f"Simonides {__version__}, Python {platform.python_version()}, "
            f"NumPy {np.__version__}, SciPy {scipy.__version__}"
        ),
    )
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def checked_folder(out: str | Path) -> Path:
    """Return the report's folder, made if need be, before anything is computed for it."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise arguments.refuse("out", str(out), "a folder", "name one that may be written to")
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    return folder


def write_csv(path: Path, table: Table) -> None:
    """Write a table's columns with full precision."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.columns)
        writer.writerows([[repr(value) for value in row.values()] for row in table.records()])


def _section(pictures: Path, table: Table) -> str:
    figure = draw(table)
    vector = save(figure, pictures / f"{table.name}.svg")
    save(figure, pictures / f"{table.name}.png")
    write_csv(pictures / f"{table.name}.csv", table)
    step = max(1, len(table) // _ROWS_SHOWN)
    shown = [[short(v) for v in row.values()] for row in table.records()[::step]]
    return SECTION.format(
        name=escape(table.name),
        question=escape(CURVES[table.name].question),
        caption=escape(CAPTIONS[table.name]),
        picture=base64.b64encode(vector.read_bytes()).decode(),
        title=escape(table.title),
        data=_html_table([name.replace("_", " ") for name in table.columns], shown),
    )


def _headline(load: Table) -> str:
    rows = [row for row in load.records() if row["dimension"] in _SIZES]
    return _html_table(
        [
            "dimension",
            "facts, best memory",
            "leading order",
            "Hebbian, all",
            "Hebbian, 99%",
            "load",
        ],
        [
            [
                f"{row['dimension']:,.0f}",
                f"{row['facts']:,.0f}",
                f"{row['facts_asymptotic']:,.0f}",
                f"{row['facts_hebbian']:,.0f}",
                f"{row['facts_hebbian_fraction']:,.0f}",
                f"{row['load']:.4f}",
            ]
            for row in rows
        ],
    )


def _html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
