"""Names with options in parentheses, as in ``student(degrees=4)``: of ensembles and of methods."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from simonides import arguments

Option: TypeAlias = bool | int | float | str
"""What an option may be."""

_CALL = re.compile(r"([\w.]+(?::\w+)?)(?:\(([^()]*)\))?")
"""A name, perhaps ``module:function``, and options in parentheses."""


def called(argument: str, text: str) -> tuple[str, dict[str, Option]] | None:
    """Return the name and the options that a text holds, or None if it is no such text.

    >>> called("ensemble", "student(degrees=4)")
    ('student', {'degrees': 4})
    """
    word = _CALL.fullmatch(text.strip())
    if word is None:
        return None
    options: dict[str, Option] = {}
    for item in word[2].split(",") if word[2] and word[2].strip() else ():
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not name.isidentifier() or not value or name in options:
            raise arguments.refuse(
                argument, text, "with options as in student(degrees=4)", f"mend {item.strip()!r}"
            )
        options[name] = _value(value)
    return word[1], options


def written(name: str, options: Iterable[tuple[str, Option]]) -> str:
    """Return the text of a name with options."""
    listed = ", ".join(f"{option}={_digits(value)}" for option, value in options)
    return f"{name}({listed})" if listed else name


def _value(text: str) -> Option:
    """Return a number or a truth value where the text is one."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _digits(value: Option) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    # The shortest digits that give the number back.
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
