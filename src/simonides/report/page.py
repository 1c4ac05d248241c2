"""The page of a report, as HTML."""

from __future__ import annotations

import base64
import platform
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import matplotlib as mpl
import numpy as np
import scipy

from simonides import __version__
from simonides.experiments.spec import Spec
from simonides.formatting import short
from simonides.report.template import CLAIM, CLAIMS, FIGURE, PAGE, SIGNALS
from simonides.reproduction.catalogue import FIGURES
from simonides.reproduction.claims.claim import Agreement
from simonides.reproduction.results import Reproduction

_NAMED = re.compile(
    r"sweeps/(?P<sweep>[a-z]+)|(?P<tables>signal/[a-z]+\.json)|Figure (?P<figure>[A-Za-z0-9.-]+)"
)

_MOST_LISTED = 8
"""Loads that a line has room for; more are said by their number and range."""


@dataclass(frozen=True)
class Section:
    """One picture on the page: its words, its SVG, and the files in which it and its data lie.

    ``topic`` is the part of the page where it stands: ``"storage"``, ``"signal"`` or ``"theory"``.
    """

    file: str
    heading: str
    caption: str
    topic: str
    picture: bytes = b""
    files: tuple[str, ...] = ()

    def html(self) -> str:
        """Return it as HTML."""
        return FIGURE.format(
            file=escape(self.file),
            heading=escape(self.heading),
            picture=base64.b64encode(self.picture).decode(),
            caption=escape(self.caption),
            files="figures/: " + ", ".join(_anchor(f"figures/{name}", name) for name in self.files),
        )


def page(reproduction: Reproduction, sections: Sequence[Section]) -> str:
    """Return the page of a reproduction, with these sections."""
    storage, signals, theory = (
        "\n".join(section.html() for section in sections if section.topic == topic)
        for topic in ("storage", "signal", "theory")
    )
    claims = _claims(reproduction, "storage", "claims", "Claims")
    links = [
        *([("claims", "Claims")] if claims else []),
        *((figure.file, figure.label) for figure in reproduction.figures),
        *([("theory", "Theory")] if theory else []),
        ("settings", "Settings"),
    ]
    if signals:
        table = _claims(reproduction, "signal", "signal-claims", "Claims about signals")
        signals = SIGNALS + table + signals
    return PAGE.format(
        summary=escape(_summary(reproduction)),
        contents=" · ".join(_anchor(f"#{place}", words) for place, words in links),
        claims=claims,
        figures=storage,
        signals=signals,
        theory='<h2 id="theory">More theory</h2>' + theory if theory else "",
        settings=_settings(reproduction),
        versions=escape(
            f"Simonides {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
            f"SciPy {scipy.__version__}, Matplotlib {mpl.__version__}, "
            f"{platform.system()} {platform.machine()}"
        ),
    )


def _claims(reproduction: Reproduction, topic: str, place: str, heading: str) -> str:
    claims = [claim for claim in reproduction.claims if claim.topic == topic]
    if not claims:
        return ""
    shown = [figure.name for figure in reproduction.figures]
    rows = "\n".join(
        CLAIM.format(
            **{name: escape(words) for name, words in vars(claim).items() if name != "data"},
            kind=claim.verdict.name.lower(),
            data=linked(claim.data, reproduction.plan.sweeps, shown),
        )
        for claim in claims
    )
    return f'<h2 id="{place}">{heading}</h2>' + CLAIMS.format(rows=rows)


def _summary(reproduction: Reproduction) -> str:
    words, claims = [], reproduction.claims
    if claims:
        counts = Counter(claim.verdict for claim in claims)
        parts = ", ".join(
            f"{counts[verdict]} {verdict}" for verdict in Agreement if counts[verdict]
        )
        words.append(f"Of {len(claims)} claims checked by this run: {parts}.")
    if reproduction.left_out:
        words.append(f"Its time limit came before figures {', '.join(reproduction.left_out)}.")
    return " ".join(words)


def linked(data: str, sweeps: Mapping[str, Sequence[Spec]], shown: Iterable[str]) -> str:
    """Return the words that name a claim's data, as HTML with links.

    A sweep leads to the folder of each of its specs and a table of signals to its file, beside the page,
    and a figure to its place on it; ``shown`` are the names of the figures there.
    """
    there = set(shown)

    def link(match: re.Match[str]) -> str:
        sweep, figure = match["sweep"], match["figure"]
        if sweep in sweeps:
            return ", ".join(
                _anchor(f"sweeps/{sweep}-{place}/rows", f"sweeps/{sweep}-{place}")
                for place in range(1, len(sweeps[sweep]) + 1)
            )
        if match["tables"]:
            return _anchor(match[0], match[0])
        if figure in there:
            return _anchor(f"#{FIGURES[figure].file}", match[0])
        return match[0]

    return _NAMED.sub(link, escape(data))


def _anchor(target: str, words: str) -> str:
    """Return a link as HTML."""
    return f'<a href="{escape(target)}">{escape(words)}</a>'


def _settings(reproduction: Reproduction) -> str:
    """Return what was run, as a table: every sweep's spec, how its tasks ended, and the seconds."""
    plan, tallies = reproduction.plan, reproduction.tallies
    specs = {
        f"{sweep}-{place}": spec
        for sweep, specs in plan.sweeps.items()
        for place, spec in enumerate(specs, start=1)
    }
    measured = [name for name in specs if name in tallies]
    rows = []
    for name in [*measured, *(part for part in reproduction.seconds if part not in tallies)]:
        described, ended, spent = "", "", ""
        if name in tallies:
            tally, described = tallies[name], _described(specs[name])
            ended = f"{tally.done} done" + (f", {tally.failed} failed" if tally.failed else "")
            spent = f"{reproduction.task_seconds.get(name, 0.0):,.1f}"
        rows.append([name, described, ended, spent, f"{reproduction.seconds.get(name, 0.0):,.1f}"])
    spent_words = ("their seconds, added up", "seconds, this time")
    return _html([f"{plan.name} run", "what", "tasks", *spent_words], rows)


def _described(spec: Spec) -> str:
    """Return a spec in one line."""
    solvers = []
    for solver in spec.solvers:
        options = ", ".join(f"{key} {value}" for key, value in solver.options)
        solvers.append(f"{solver.name} ({options})" if options else solver.name)
    parts = [
        " and ".join(spec.problems),
        f"d = {_listed(spec.dims)}",
        ", ".join(solvers),
        f"{spec.instances} instances",
        f"seed {spec.seed}",
    ]
    if spec.rank_fractions != (1.0,):
        parts.append(f"κ = {_listed(spec.rank_fractions)}")
    if spec.loads:
        parts.append(_ranged(spec.loads))
    if shares := spec.relative_loads:
        few = len(shares) <= _MOST_LISTED
        parts.append(f"{_listed(shares) if few else _ranged(shares)} of capacity")
    return "; ".join(parts)


def _ranged(loads: Sequence[float]) -> str:
    return f"{len(loads)} loads {min(loads):g} to {max(loads):g}"


def _html(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<table class="settings"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _listed(numbers: Iterable[float]) -> str:
    return ", ".join(short(float(number)) for number in numbers)
