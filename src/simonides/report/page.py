"""The page of a report, as HTML."""

from __future__ import annotations

import base64
import platform
from collections import Counter
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import scipy

from simonides import __version__
from simonides.report.links import anchor, linked
from simonides.report.settings import settings_table
from simonides.report.template import CLAIM, CLAIMS, FIGURE, PAGE, SIGNALS
from simonides.reproduction.claims.claim import Agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simonides.reproduction.claims.claim import PaperClaim
    from simonides.reproduction.results import Reproduction

_STYLES = {
    Agreement.AGREES: "agrees",
    Agreement.IN_PART: "part",
    Agreement.DISAGREES: "disagrees",
    Agreement.UNDECIDED: "undecided",
}


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
            files="figures/: " + ", ".join(anchor(f"figures/{name}", name) for name in self.files),
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
        summary=escape(_summary(reproduction.claims)),
        contents=" · ".join(anchor(f"#{place}", words) for place, words in links),
        claims=claims,
        figures=storage,
        signals=signals,
        theory='<h2 id="theory">More theory</h2>' + theory if theory else "",
        settings=settings_table(reproduction),
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
            statement=escape(claim.statement),
            paper=escape(claim.paper),
            found=escape(claim.found),
            verdict=escape(claim.verdict),
            kind=_STYLES[claim.verdict],
            criterion=escape(claim.criterion),
            data=linked(claim.data, reproduction.plan.sweeps, shown),
        )
        for claim in claims
    )
    return f'<h2 id="{place}">{heading}</h2>' + CLAIMS.format(rows=rows)


def _summary(claims: Sequence[PaperClaim]) -> str:
    if not claims:
        return ""
    counts = Counter(claim.verdict for claim in claims)
    parts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Agreement if counts[verdict])
    return f"Of {len(claims)} claims checked by this run: {parts}."
