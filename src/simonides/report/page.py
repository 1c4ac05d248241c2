"""Writing the report: pictures, their data, the table of claims, and one page that holds them all."""

from __future__ import annotations

import base64
import csv
import io
import platform
import time
from collections import Counter
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import scipy
from joblib import Parallel, delayed

from simonides import __version__, arguments
from simonides.curves.catalogue import CURVES
from simonides.figures import catalogue as theory_pictures
from simonides.figures.paper import catalogue as paper_pictures
from simonides.figures.style import rendered
from simonides.report.links import anchor, linked
from simonides.report.settings import settings_table
from simonides.report.template import CLAIM, CLAIMS, FIGURE, PAGE, SIGNALS
from simonides.reproduction.claims.claim import Verdict
from simonides.reproduction.run import write_claims, write_times
from simonides.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure as Picture

    from simonides.curves.table import Table
    from simonides.reproduction.claims.claim import Claim
    from simonides.reproduction.figure import Figure
    from simonides.reproduction.run import Reproduction

_ENDINGS = (".svg", ".pdf", ".png")
_KINDS = {
    Verdict.AGREES: "agrees",
    Verdict.IN_PART: "part",
    Verdict.DISAGREES: "disagrees",
    Verdict.UNDECIDED: "undecided",
}


def write_report(
    out: str | Path, found: Reproduction, theory: Mapping[str, Table] | None = None
) -> Path:
    """Write the page, ``report.html`` of a whole run, and every picture with its data, claims and times.

    ``theory`` are theory curves to show after the figures. Pictures are drawn by as many processes as
    ``joblib.parallel_config`` says.
    """
    folder = checked_folder(out)
    pictures = folder / "figures"
    curves = {} if theory is None else theory
    began = time.perf_counter()
    drawn = Parallel()(
        [
            *(
                delayed(_paper_section)(pictures, one, found.tables[one.name])
                for one in found.figures
            ),
            *(delayed(_theory_section)(pictures, table) for table in curves.values()),
        ]
    )
    found = replace(found, seconds={**found.seconds, "drawing": time.perf_counter() - began})
    ours, theirs = drawn[: len(found.figures)], drawn[len(found.figures) :]
    sections, signals = (
        [section for section, one in zip(ours, found.figures, strict=True) if one.topic == topic]
        for topic in ("storage", "signal")
    )
    # Claims and times of some figures do not replace those of a whole run.
    claims, times = (found.report.replace("report", name, 1) for name in ("claims", "times"))
    write_claims(folder / f"{claims}.json", found.claims)
    write_times(folder / f"{times}.json", found)
    links = [
        *([("claims", "Claims")] if any(one.topic == "storage" for one in found.claims) else []),
        *((one.file, _label(one)) for one in found.figures),
        *([("theory", "Theory")] if curves else []),
        ("settings", "Settings"),
    ]
    page = PAGE.format(
        summary=escape(_summary(found.claims)),
        contents=" · ".join(anchor(f"#{place}", words) for place, words in links),
        claims=_claims(found, "storage", "claims", "Claims"),
        figures="\n".join(sections),
        signals=_signals(found, signals),
        theory='<h2 id="theory">More theory</h2>' + "\n".join(theirs) if theirs else "",
        settings=settings_table(found),
        versions=escape(
            f"Simonides {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
            f"SciPy {scipy.__version__}, Matplotlib {mpl.__version__}, "
            f"{platform.system()} {platform.machine()}"
        ),
    )
    path = folder / f"{found.report}.html"
    write_whole(path, page.encode())
    return path


def checked_folder(out: str | Path) -> Path:
    """Return the report's folder, made if need be, before anything is computed for it."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise arguments.refuse("out", str(out), "a folder", "name one that may be written to")
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    return folder


def write_csv(path: Path, table: Table) -> None:
    """Write a table's columns under their names."""
    content = io.StringIO(newline="")
    writer = csv.writer(content)
    writer.writerow(table.columns)
    writer.writerows(zip(*table.columns.values(), strict=True))
    write_whole(path, content.getvalue().encode())


def _paper_section(pictures: Path, figure: Figure, tables: Mapping[str, Table]) -> str:
    return _section(
        pictures,
        figure.file,
        f"{_label(figure)}: {figure.title}" if figure.name != figure.file else figure.title,
        figure.caption,
        paper_pictures.draw(figure.name, tables),
        {f"{figure.file}-{name}": table for name, table in tables.items()},
    )


def _theory_section(pictures: Path, table: Table) -> str:
    name = f"theory-{table.name}"
    question, caption = CURVES[table.name].question, CURVES[table.name].caption
    return _section(pictures, name, question, caption, theory_pictures.draw(table), {name: table})


def _section(
    pictures: Path,
    file: str,
    heading: str,
    caption: str,
    picture: Picture,
    tables: Mapping[str, Table],
) -> str:
    for ending in _ENDINGS:
        write_whole(pictures / f"{file}{ending}", rendered(picture, ending))
    for name, table in tables.items():
        write_csv(pictures / f"{name}.csv", table)
    files = [f"{file}{ending}" for ending in _ENDINGS] + [f"{name}.csv" for name in tables]
    return FIGURE.format(
        file=escape(file),
        heading=escape(heading),
        picture=base64.b64encode((pictures / f"{file}.svg").read_bytes()).decode(),
        caption=escape(caption),
        files="figures/: " + ", ".join(anchor(f"figures/{name}", name) for name in files),
    )


def _signals(found: Reproduction, sections: Sequence[str]) -> str:
    if not sections:
        return ""
    table = _claims(found, "signal", "signal-claims", "Claims about signals")
    return SIGNALS + table + "\n".join(sections)


def _claims(found: Reproduction, topic: str, place: str, heading: str) -> str:
    claims = [claim for claim in found.claims if claim.topic == topic]
    if not claims:
        return ""
    shown = [figure.name for figure in found.figures]
    rows = "\n".join(
        CLAIM.format(
            statement=escape(claim.statement),
            paper=escape(claim.paper),
            found=escape(claim.found),
            verdict=escape(claim.verdict),
            kind=_KINDS[claim.verdict],
            criterion=escape(claim.criterion),
            data=linked(claim.data, found.plan.sweeps, shown),
        )
        for claim in claims
    )
    return f'<h2 id="{place}">{heading}</h2>' + CLAIMS.format(rows=rows)


def _summary(claims: Sequence[Claim]) -> str:
    if not claims:
        return ""
    counts = Counter(claim.verdict for claim in claims)
    parts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    return f"Of {len(claims)} claims checked by this run: {parts}."


def _label(figure: Figure) -> str:
    return f"Figure {figure.name}" if figure.name != figure.file else figure.name
