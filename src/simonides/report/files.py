"""All files of a report: the page, pictures with their data, claims and times."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from joblib import Parallel, delayed

from simonides import arguments
from simonides.curves.catalogue import CURVES, draw
from simonides.curves.table import Table
from simonides.figures.style import rendered
from simonides.report.page import Section, page
from simonides.reproduction.results import Reproduction
from simonides.writing import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ENDINGS = (".svg", ".pdf", ".png")


def write_report(out: str | Path, reproduction: Reproduction) -> Path:
    """Write the page, and every picture with its data, the claims and the times, and return the page.

    Pictures are drawn by as many processes as ``joblib.parallel_config`` says. Files of a run of some
    figures, whose ``report`` has a name of its own, do not replace those of a whole run.
    """
    folder = checked_folder(out)
    began = time.perf_counter()
    parts = [
        (
            Section(figure.file, figure.heading, figure.caption, figure.topic),
            partial(figure.draw, reproduction.tables[figure.name]),
            {f"{figure.file}-{name}": t for name, t in reproduction.tables[figure.name].items()},
        )
        for figure in reproduction.figures
    ] + [
        (
            Section(f"theory-{name}", CURVES[name].question, CURVES[name].caption, "theory"),
            partial(draw, table),
            {f"theory-{name}": table},
        )
        for name, table in reproduction.curves.items()
    ]
    sections = Parallel()(delayed(_write_section)(folder, *part) for part in parts)
    drawing = {"drawing": time.perf_counter() - began}
    reproduction = replace(reproduction, seconds={**reproduction.seconds, **drawing})
    claims, times = (
        folder / f"{reproduction.report.replace('report', name, 1)}.json"
        for name in ("claims", "times")
    )
    write_json(claims, [asdict(claim) for claim in reproduction.claims])
    write_json(times, _times(reproduction))
    path = folder / f"{reproduction.report}.html"
    write_whole(path, page(reproduction, sections).encode())
    return path


def checked_folder(out: str | Path) -> Path:
    """Return the report's folder, made if need be, before anything is computed for it."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise arguments.refuse("out", str(out), "a folder", "name one that may be written to")
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    return folder


def write_json(path: Path, content: object) -> None:
    """Write content as a file of JSON that people can read."""
    write_whole(path, json.dumps(content, indent=1, ensure_ascii=False).encode())


def _write_section(
    folder: Path, section: Section, drawn: Callable[[], Figure], tables: Mapping[str, Table]
) -> Section:
    """Write a section's picture and data, and return it with both."""
    picture = drawn()
    content = {f"{section.file}{ending}": rendered(picture, ending) for ending in _ENDINGS}
    svg = content[f"{section.file}.svg"]
    content |= {f"{name}.csv": _csv(table) for name, table in tables.items()}
    for name, data in content.items():
        write_whole(folder / "figures" / name, data)
    return replace(section, picture=svg, files=tuple(content))


def _csv(table: Table) -> bytes:
    """Return a table's columns under their names, as a file holds them."""
    content = io.StringIO(newline="")
    writer = csv.writer(content)
    writer.writerow(table.columns)
    writer.writerows(zip(*table.columns.values(), strict=True))
    return content.getvalue().encode()


def _times(reproduction: Reproduction) -> list[dict[str, object]]:
    """Return what each part of a run took."""
    tallies = reproduction.tallies
    return [
        {
            "part": name,
            "tasks": tallies[name].total if name in tallies else None,
            "task_seconds": reproduction.task_seconds.get(name),
            "seconds": seconds,
        }
        for name, seconds in reproduction.seconds.items()
    ]
