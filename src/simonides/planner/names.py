"""Names of layers: short enough for a table, and as PEFT wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def short_names(names: Sequence[str]) -> list[str]:
    """Return for each layer the shortest end of its name, past its numbers, that no other name has.

    >>> short_names(["layer.*.attention.output.dense", "layer.*.output.dense", "lm_head"])
    ['attention.output.dense', '*.output.dense', 'lm_head']
    """
    return [_short(name, [other for other in names if other != name]) for name in names]


def module_keys(names: Sequence[str]) -> list[str]:
    r"""Return the keys by which PEFT's ``rank_pattern`` finds the modules of each layer.

    PEFT takes a key as a regular expression for the end of a module's name, from a dot on.

    >>> module_keys(["layer.*.attention.output.dense", "layer.*.output.dense"])
    ['attention.output.dense', '\\d+.output.dense']
    """
    return [name.replace("*", r"\d+") for name in short_names(names)]


def _short(name: str, others: list[str]) -> str:
    parts = name.split(".")
    last_number = max((at for at, part in enumerate(parts) if part == "*"), default=-1)
    start = min(last_number + 1, len(parts) - 1) if last_number >= 0 else 0
    while start > 0 and any(
        f".{other}".endswith("." + ".".join(parts[start:])) for other in others
    ):
        start -= 1
    return ".".join(parts[start:])
