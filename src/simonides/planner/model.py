"""What the planner knows of a model: the shapes and names of its linear layers, and its vocabulary."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import pairwise, takewhile

from simonides import arguments


@dataclass(frozen=True, slots=True)
class Layer:
    """Linear maps of one name and shape; ``*`` in the name stands for the number of a block.

    >>> Layer("h.*.mlp.c_fc", 768, 3072, count=12).shortest
    768
    """

    name: str
    dim_in: int
    dim_out: int
    count: int = 1

    @property
    def shortest(self) -> int:
        """The smaller dimension, which no rank exceeds."""
        return min(self.dim_in, self.dim_out)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Tensors that are no linear map of a vector, and why they are not counted."""

    name: str
    shape: tuple[int, ...]
    reason: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Model:
    """The linear layers of a model, where they were read, and how many tokens it knows.

    ``vocabulary`` is None where nothing says how many there are.
    """

    source: str
    family: str
    vocabulary: int | None
    layers: tuple[Layer, ...]
    skipped: tuple[Skipped, ...] = ()


def selected(model: Model, pattern: str) -> Model:
    """Return the model with only the layers whose names match a shell pattern.

    Parameters
    ----------
    model : Model
        The model.
    pattern : str
        As in ``*mlp*``; capitals count.

    Returns
    -------
    Model
        The same but for its layers.

    Raises
    ------
    ValueError
        If no layer matches; the message names those there are.

    Examples
    --------
    >>> model = Model("mine", "own", 100, (Layer("mlp.up", 8, 32), Layer("attn.q", 8, 8)))
    >>> [layer.name for layer in selected(model, "*mlp*").layers]
    ['mlp.up']
    """
    layers = tuple(layer for layer in model.layers if fnmatchcase(layer.name, pattern))
    if not layers:
        names = ", ".join(layer.name for layer in model.layers)
        raise arguments.refuse(
            "layers", pattern, "a pattern that matches one", f"there are {names}"
        )
    return replace(model, layers=layers)


def short_names(names: Sequence[str]) -> list[str]:
    """Return for each layer the shortest end of its name, past its numbers, that no other name has.

    >>> short_names(["layer.*.attention.output.dense", "layer.*.output.dense", "lm_head"])
    ['attention.output.dense', '*.output.dense', 'lm_head']
    """
    order = sorted({*names}, key=_from_the_end)
    # Names that end alike stand side by side: the longest end that one shares, it shares with a neighbour.
    shared = dict.fromkeys(names, 0)
    for name, other in pairwise(order):
        parts = zip(_from_the_end(name), _from_the_end(other), strict=False)
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], parts))
        shared[name], shared[other] = max(shared[name], common), common
    return [_short(name, shared[name]) for name in names]


def module_keys(names: Sequence[str]) -> list[str]:
    r"""Return the keys by which PEFT's ``rank_pattern`` finds the modules of each layer.

    PEFT takes a key as a regular expression for the end of a module's name, from a dot on.

    >>> module_keys(["layer.*.attention.output.dense", "layer.*.output.dense"])
    ['attention\\.output\\.dense', '\\d+\\.output\\.dense']
    """
    return [
        r"\.".join(r"\d+" if part == "*" else re.escape(part) for part in name.split("."))
        for name in short_names(names)
    ]


def _short(name: str, shared: int) -> str:
    """Return the end past the numbers, or as much more as is needed beyond the parts that are shared."""
    parts = _from_the_end(name)
    past = parts.index("*") if "*" in parts else len(parts)
    return ".".join(reversed(parts[: max(past, shared + 1, 1)]))


def _from_the_end(name: str) -> list[str]:
    return name.split(".")[::-1]
