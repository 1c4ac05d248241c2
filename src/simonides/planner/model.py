"""What the planner knows of a model: the shapes of its linear layers and its vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

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
    """Return the model with only the layers whose names match a shell pattern such as ``*mlp*``.

    Raises ``ValueError`` naming the layers there are if none matches.
    """
    layers = tuple(layer for layer in model.layers if fnmatchcase(layer.name, pattern))
    if not layers:
        names = ", ".join(layer.name for layer in model.layers)
        raise arguments.refuse(
            "layers", pattern, "a pattern that matches one", f"there are {names}"
        )
    return replace(model, layers=layers)
