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

    ``rank`` bounds that of an adapter, and is None where all entries are free.

    >>> Layer("h.*.mlp.c_fc", 768, 3072, count=12).shortest
    768
    """

    name: str
    dim_in: int
    dim_out: int
    count: int = 1
    rank: int | None = None

    @property
    def shortest(self) -> int:
        """The smaller dimension, which no rank exceeds."""
        return min(self.dim_in, self.dim_out)

    @property
    def is_stacked(self) -> bool:
        """Whether libraries keep such matrices as one tensor, which PEFT's target_modules do not reach.

        Those are experts, of which files name each, and the router before them.
        """
        parts = self.name.split(".")
        return "experts" in parts or parts[-1] == "gate"


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

    ``vocabulary`` is None where nothing says how many there are. ``states`` are matrices that it writes
    anew in every text; ``apart`` are layers that it has and that are left out of a plan.
    """

    source: str
    family: str
    vocabulary: int | None
    layers: tuple[Layer, ...]
    skipped: tuple[Skipped, ...] = ()
    states: tuple[Layer, ...] = ()
    apart: tuple[Layer, ...] = ()

    @property
    def names(self) -> dict[str, str]:
        """Short names of all layers by their full names."""
        names = [layer.name for layer in (*self.layers, *self.apart)]
        return dict(zip(names, short_names(names), strict=True))


def out_of_reach(model: Model) -> set[str]:
    """Return the names of layers that PEFT's ``target_modules`` cannot adapt.

    Those are stacked experts and their router, maps that end as the experts do, for which PEFT takes them,
    and the last map in a block of Mamba, which PEFT refuses as its kernels pass it by.

    >>> layers = Layer("h.*.mlp.experts.*.up", 8, 8), Layer("h.*.mlp.up", 8, 8), Layer("h.*.q", 8, 8)
    >>> sorted(out_of_reach(Model("mine", "own", 100, layers)))
    ['h.*.mlp.experts.*.up', 'h.*.mlp.up']
    """
    layers = (*model.layers, *model.apart)
    ends = {_from_the_end(layer.name)[0] for layer in layers if layer.is_stacked}
    ends |= {"out_proj"} if model.states else set()
    return {layer.name for layer in layers if _from_the_end(layer.name)[0] in ends}


def selected(model: Model, *patterns: str) -> Model:
    """Return the model with only the layers that have one of these names.

    Parameters
    ----------
    model : Model
        The model.
    *patterns : str
        Names as a plan prints them, or else shell patterns for whole names, as ``*mlp*``; capitals count.

    Returns
    -------
    Model
        The same but for its layers; the others are apart.

    Raises
    ------
    ValueError
        If no layer has the name or matches; the message names those there are.

    Examples
    --------
    >>> model = Model("mine", "own", 100, (Layer("h.*.mlp.up", 8, 32), Layer("h.*.attn.q", 8, 8)))
    >>> [layer.name for layer in selected(model, "mlp.up").layers]
    ['h.*.mlp.up']
    """
    short = {layer.name: model.names[layer.name] for layer in model.layers}
    chosen: set[str] = set()
    for pattern in patterns:
        fitting = [name for name in short if pattern in (name, short[name])]
        fitting = fitting or [name for name in short if fnmatchcase(name, pattern)]
        if not fitting:
            names = ", ".join(short.values())
            raise arguments.refuse(
                "layers",
                pattern,
                "a layer's name or a pattern that matches one",
                f"there are {names}",
            )
        chosen |= {*fitting}
    return replace(
        model,
        layers=tuple(layer for layer in model.layers if layer.name in chosen),
        apart=(*model.apart, *(layer for layer in model.layers if layer.name not in chosen)),
    )


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


def module_keys(model: Model) -> dict[str, str]:
    r"""Return for each layer's name the key by which PEFT's ``rank_pattern`` finds its modules.

    PEFT takes a key as a regular expression for the end of a module's name, from a dot on.

    >>> layers = Layer("layer.*.attention.output.dense", 8, 8), Layer("layer.*.output.dense", 8, 8)
    >>> list(module_keys(Model("mine", "own", 100, layers)).values())
    ['attention\\.output\\.dense', '\\d+\\.output\\.dense']
    """
    return {name: _expression(short) for name, short in model.names.items()}


def target_modules(model: Model, layers: Sequence[Layer]) -> tuple[str, ...] | str:
    """Return what PEFT's ``target_modules`` must be to adapt these layers of a model and no others.

    The shortest ends of names that no other layer has; where they would not do, a regular expression.

    >>> layers = Layer("h.*.mlp.up", 8, 32), Layer("h.*.attn.q", 8, 8), Layer("head.q", 8, 8)
    >>> target_modules(Model("mine", "own", 100, layers), layers[:2])
    ('up', 'attn.q')
    """
    chosen = [layer.name for layer in layers]
    others = {*model.names} - {*chosen}
    ends = [_end(name, others) for name in chosen]
    if all(ends):
        return tuple(dict.fromkeys(end for end in ends if end))
    keys = "|".join(_expression(model.names[name]) for name in chosen)
    return rf"(.*\.)?({keys})"


def _end(name: str, others: set[str]) -> str | None:
    """Return the shortest end of a name without numbers that no other name has."""
    parts = name.split(".")
    for start in reversed(range(len(parts))):
        if parts[start] == "*":
            return None
        end = ".".join(parts[start:])
        if not any(f".{other}".endswith(f".{end}") for other in others):
            return end
    return None


def _expression(short: str) -> str:
    return r"\.".join(r"\d+" if part == "*" else re.escape(part) for part in short.split("."))


def _short(name: str, shared: int) -> str:
    """Return the end past the numbers, or as much more as is needed beyond the parts that are shared."""
    parts = _from_the_end(name)
    past = parts.index("*") if "*" in parts else len(parts)
    return ".".join(reversed(parts[: max(past, shared + 1, 1)]))


def _from_the_end(name: str) -> list[str]:
    return name.split(".")[::-1]
