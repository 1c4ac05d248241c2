"""What the planner knows of a model: the shapes and names of its linear layers, and its vocabulary."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from simonides import arguments

if TYPE_CHECKING:
    from collections.abc import Sequence


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
