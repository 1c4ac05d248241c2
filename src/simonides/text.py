"""Text from files of others, made fit for a terminal or a spreadsheet."""

from __future__ import annotations

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of cells that spreadsheets compute instead of showing them."""


def printable(text: str, longest: int | None = None) -> str:
    r"""Return text with every character that a terminal would obey written as its escape.

    Those are control characters and marks that change the direction of text; ends of lines stay. Beyond
    ``longest`` characters it is cut.

    >>> print(printable("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    if longest is not None and len(text) > longest:
        text = f"{text[:longest]}…"
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1] for letter in text
    )


def cell(text: str) -> str:
    """Return text as a cell of a table that a spreadsheet shows as it is.

    >>> cell("=1+1"), cell("plain")
    ("'=1+1", 'plain')
    """
    return f"'{text}" if text.startswith(FORMULAS) else text
