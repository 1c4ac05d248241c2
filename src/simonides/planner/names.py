"""Names of layers: short enough for a table, and as PEFT wants them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def short_names(names: Sequence[str]) -> list[str]:
    """Return for each layer the shortest end of its name, past its numbers, that no other name has.

    >>> short_names(["layer.*.attention.output.dense", "layer.*.output.dense", "lm_head"])
    ['attention.output.dense', '*.output.dense', 'lm_head']
    """
    shared = Counter(end for name in set(names) for end in _ends(name))
    return [_short(name, shared) for name in names]


def module_keys(names: Sequence[str]) -> list[str]:
    r"""Return the keys by which PEFT's ``rank_pattern`` finds the modules of each layer.

    PEFT takes a key as a regular expression for the end of a module's name, from a dot on.

    >>> module_keys(["layer.*.attention.output.dense", "layer.*.output.dense"])
    ['attention.output.dense', '\\d+.output.dense']
    """
    return [name.replace("*", r"\d+") for name in short_names(names)]


def _short(name: str, shared: Counter[str]) -> str:
    ends = _ends(name)
    numbers = [at for at, part in enumerate(name.split(".")) if part == "*"]
    start = min(numbers[-1] + 1, len(ends) - 1) if numbers else 0
    while start > 0 and shared[ends[start]] > 1:
        start -= 1
    return ends[start]


def _ends(name: str) -> list[str]:
    """Return the name and what is left of it after each dot."""
    parts = name.split(".")
    return [".".join(parts[start:]) for start in range(len(parts))]
