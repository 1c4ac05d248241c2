"""Ordinary text, on which a change must do no harm: the user's, or Python's own documentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simonides import arguments
from simonides.reading import expecting, read_bytes

if TYPE_CHECKING:
    from pathlib import Path

_MOST_BYTES = 2**26
"""Of a file, of which a small part is read by the model anyway."""

_SHARE = 0.6
"""Of a user's text, from its beginning, for second moments; the rest is for perplexity."""

_SHORTEST = 200
"""Characters of either part: less says nothing about text."""


@dataclass(frozen=True)
class OrdinaryText:
    """A text to take second moments from, another of the same kind to measure on, and where it is from."""

    learnt: str
    held_out: str
    source: str


def read_text(path: str | Path) -> OrdinaryText:
    """Return a user's text, in two parts."""
    with expecting("keep", path, "a text in UTF-8", "pass some pages of ordinary text"):
        text = read_bytes(path, most=_MOST_BYTES).decode("utf-8-sig")
        cut = round(_SHARE * len(text))
        if min(cut, len(text) - cut) < _SHORTEST:
            raise ValueError(f"it has {len(text):,} characters, too few")
    return OrdinaryText(text[:cut], text[cut:], str(path))


def python_text() -> OrdinaryText:
    """Return the language reference that comes with Python, every other topic held out."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise arguments.refuse(
            "keep", None, "given where Python has no documentation", "pass some pages of text"
        ) from None
    pages = [topics[name] for name in sorted(topics)]
    return OrdinaryText(
        "\n".join(pages[::2]), "\n".join(pages[1::2]), "the language reference of Python"
    )
