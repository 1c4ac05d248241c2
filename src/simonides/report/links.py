"""Links from what a page names to the figure or the records it means."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from simonides.reproduction.catalogue import FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from simonides.experiments.spec import Spec

_NAMED = re.compile(
    r"sweeps/(?P<sweep>[a-z]+)|(?P<tables>signal/[a-z]+\.json)|Figure (?P<figure>[A-Za-z0-9.-]+)"
)


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
                anchor(f"sweeps/{sweep}-{place}/rows", f"sweeps/{sweep}-{place}")
                for place in range(1, len(sweeps[sweep]) + 1)
            )
        if match["tables"]:
            return anchor(match[0], match[0])
        if figure in there:
            return anchor(f"#{FIGURES[figure].file}", match[0])
        return match[0]

    return _NAMED.sub(link, escape(data))


def anchor(target: str, words: str) -> str:
    """Return a link as HTML."""
    return f'<a href="{escape(target)}">{escape(words)}</a>'
