"""Adapters as PEFT saves them: the maps that their factors make, and the model that they are for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simonides import arguments
from simonides.planner.model import Layer, Model
from simonides.planner.tensors import alike
from simonides.reading import expecting, read_json
from simonides.tensor_files import Tensor, read_header

CONFIG = "adapter_config.json"
"""The file that makes a folder an adapter's."""

_WEIGHTS = "adapter_model.safetensors"

_FACTOR = re.compile(
    r"(?:base_model\.model\.)?(?P<module>.+)\.lora_(?P<side>[AB])(\.[^.]+)?\.weight"
)
"""What PEFT calls the first and the second factor of a module; a name of the adapter may stand between."""


def has_factors(tensors: Mapping[str, Tensor]) -> bool:
    """Whether tensors are those of an adapter."""
    return any(_FACTOR.fullmatch(name) for name in tensors)


def read_adapter(path: Path) -> tuple[Model, str | None]:
    """Return the adapter whose ``adapter_config.json`` this is, and the name of the model it is for."""
    with expecting("file", path, f"a PEFT {CONFIG}", "pass another"):
        config: dict[str, Any] = read_json(path)
    weights = path.parent / _WEIGHTS
    if not weights.is_file():
        raise arguments.refuse(
            "file", str(path), f"beside its {_WEIGHTS}", "pass the folder that holds both"
        )
    base = config.get("base_model_name_or_path")
    return model_of(str(path.parent), read_header(weights)), base if isinstance(base, str) else None


def model_of(source: str, tensors: Mapping[str, Tensor]) -> Model:
    """Return the maps that pairs of factors make, those of one name but for its numbers together."""
    sides: dict[str, dict[str, tuple[int, ...]]] = {}
    for name, tensor in tensors.items():
        factor = _FACTOR.fullmatch(name)
        if factor is not None:
            sides.setdefault(factor["module"], {})[factor["side"]] = tensor.shape
    shapes: dict[str, tuple[int, int, int]] = {}
    for module, factors in sides.items():
        first, second = factors.get("A", ()), factors.get("B", ())
        if len(first) != 2 or len(second) != 2 or first[0] != second[1] or 0 in first + second:
            raise arguments.refuse(
                "file",
                source,
                "an adapter of matching factors",
                f"those of {module!r} do not match",
            )
        rank, dim_in, dim_out = first[0], first[1], second[0]
        shapes[module] = (dim_in, dim_out, min(rank, dim_in, dim_out))
    layers = tuple(
        Layer(name, dim_in, dim_out, count, rank)
        for name, (dim_in, dim_out, rank), count in alike(shapes)
    )
    return Model(source, "adapter", None, layers)
