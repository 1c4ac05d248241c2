"""JSON from files that others wrote: one object, every key once, numbers only."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from simonides import arguments

_LONGEST_SHOWN = 120


def read_object(path: str, text: bytes, kind: str, remedy: str) -> dict[str, Any]:
    """Return the JSON object in ``text``, which was read from ``path``, or refuse the file.

    >>> read_object("config.json", b'{"n": 1}', "a config", "pass another")
    {'n': 1}
    """
    try:
        found = json.loads(
            text.decode("utf-8"), object_pairs_hook=_each_key_once, parse_constant=_no_constant
        )
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:  # of JSON and of UTF-8 alike
        reason = f"it is not JSON ({str(error)[:_LONGEST_SHOWN]})"
    else:
        if isinstance(found, dict):
            return found
        reason = f"it holds a {type(found).__name__}, not an object"
    raise arguments.refuse("file", path, kind, f"{reason}; {remedy}")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"key {twice[:_LONGEST_SHOWN]!r} occurs twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
