"""Where a model's shapes come from: a config, the header of its weights, or a well-known name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from simonides import arguments
from simonides.failures import BadArgumentError
from simonides.gguf_files import is_gguf, read_gguf
from simonides.planner import families, tensors
from simonides.planner.catalogue import CONFIGS
from simonides.planner.model import Model, Skipped
from simonides.reading import expecting, read_json
from simonides.tensor_files import Tensor, read_header
from simonides.text import printable

_JSON = "a model's config.json or model.safetensors.index.json"
_LONGEST_FAMILY = 60
"""Characters of what a file calls its architecture, which is printed."""

_MOST_NAMED = 8
"""Layers that a refusal names: some lines of a terminal, and enough to know the rest by."""


def read_model(source: str) -> Model:
    """Return the model that a file describes or a name stands for.

    Weights are not read.

    Parameters
    ----------
    source : str
        A Hugging Face ``config.json``, a ``.safetensors`` file, the ``.index.json`` that lists several of
        them, a ``.gguf`` file, or one of the names in :data:`simonides.planner.catalogue.CONFIGS`.

    Returns
    -------
    Model
        Its linear layers and its vocabulary.

    Raises
    ------
    ValueError
        For anything else, and for weights that are packed into integers: their shapes need not be those
        of the layers.
    OSError
        If a file cannot be read.

    Examples
    --------
    >>> [layer.name for layer in read_model("gpt2").layers][:2]
    ['h.*.attn.c_attn', 'h.*.attn.c_proj']
    """
    path = Path(source)
    if path.exists() and not path.is_dir():
        model = _from_file(path)
    elif source.lower() in CONFIGS:
        model = families.model_of(source.lower(), CONFIGS[source.lower()])
    elif path.is_dir():
        raise arguments.refuse(
            "file", source, "a file, not a folder", "pass the config.json or the weights in it"
        )
    else:
        raise arguments.refuse(
            "file", source, "a file that exists or a known name", f"these are {', '.join(CONFIGS)}"
        )
    if packed := [part for part in model.skipped if part.reason == tensors.PACKED]:
        raise _unreadable(source, packed)
    if not model.layers:
        raise arguments.refuse(
            "file", source, "a model with linear layers", "none of its tensors is one; pass another"
        )
    return model


def _unreadable(source: str, packed: list[Skipped]) -> BadArgumentError:
    """Return the refusal of a quantised model: a total without these layers would mislead."""
    names = ", ".join(part.name for part in packed[:_MOST_NAMED])
    more = "" if len(packed) <= _MOST_NAMED else f" and {len(packed) - _MOST_NAMED} more"
    matrices = sum(part.count for part in packed)
    return arguments.refuse(
        "file",
        source,
        "a model whose weights are not packed into integers",
        f"the shapes of {names}{more} ({matrices:,} matrices) need not be those of the layers; pass "
        "the model's config.json, or its file from before it was quantised",
    )


def _from_file(path: Path) -> Model:
    if path.suffix == ".json":
        return _from_json(path)
    return _from_gguf(path) if is_gguf(path) else tensors.model_of(str(path), read_header(path))


def _from_gguf(path: Path) -> Model:
    shapes, values = read_gguf(path)
    if values.get("split.count", 1) != 1:
        raise arguments.refuse(
            "file", str(path), "a whole model", "it is one of several files; pass its config.json"
        )
    model = tensors.model_of(str(path), shapes)
    family = str(values.get("general.architecture", model.family))
    return replace(model, family=printable(family, _LONGEST_FAMILY))


def _from_json(path: Path) -> Model:
    with expecting("file", path, _JSON, "pass another"):
        content = read_json(path)
    if "weight_map" in content:
        return tensors.model_of(str(path), _shards(path, content["weight_map"]))
    return families.model_of(str(path), content)


def _shards(path: Path, homes: Any) -> dict[str, Tensor]:
    """Return the tensors of all files that an index names, which lie beside it."""
    if not isinstance(homes, dict) or not all(_plain_name(home) for home in homes.values()):
        raise arguments.refuse(
            "file", str(path), _JSON, "its weight_map must give the name of a file for each tensor"
        )
    shapes: dict[str, Tensor] = {}
    for home in sorted(set(homes.values())):
        for name, tensor in read_header(path.parent / home).items():
            if homes.get(name) != home:
                raise arguments.refuse(
                    "file", str(path), "the index of its files", f"{name!r} is not where it says"
                )
            shapes[name] = tensor
    if missing := sorted(homes.keys() - shapes.keys()):
        raise arguments.refuse(
            "file", str(path), "the index of its files", f"{missing[0]!r} is in none of them"
        )
    return dict(sorted(shapes.items()))


def _plain_name(home: object) -> bool:
    """Whether this is the name of a file in the same folder, not a path to elsewhere."""
    return isinstance(home, str) and home not in ("", ".", "..") and not {*home} & {*"/\\\0"}
