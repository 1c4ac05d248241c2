"""Where a model's shapes come from: a config, the header of its weights, or a well-known name."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from simonides import arguments
from simonides.failures import BadArgumentError
from simonides.gguf_files import is_gguf, read_gguf
from simonides.planner import adapters, families, tensors
from simonides.planner.catalogue import CONFIGS, known_name, near_names
from simonides.planner.model import Model, Skipped
from simonides.reading import expecting, opened, read_json
from simonides.tensor_files import Tensor, read_header, shown
from simonides.text import printable

_JSON = "a model's config.json or model.safetensors.index.json"
_LONGEST_FAMILY = 60
"""Characters of what a file calls its architecture, which is printed."""

_IN_FOLDERS = (
    adapters.CONFIG, "config.json", "model.safetensors.index.json", "model.safetensors",
)  # fmt: skip
"""Files that tell a model's shapes, the first of which is read."""

_READ = "a config.json, .safetensors, .safetensors.index.json, .gguf or adapter_config.json file"

_BEGINNINGS = {
    b"PK\x03\x04": "a zip archive, as PyTorch writes",
    **dict.fromkeys(
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),  # the protocols with such a mark
        "a Python pickle, as PyTorch writes, which is never run",
    ),
    b"\x89HDF": "HDF5",
    b"\x1f\x8b": "what gzip compresses",
    b"\x93NUMPY": "an array of NumPy",
    b"{": "JSON, and its name says otherwise",
}
"""What files are that people pass, by their first bytes."""

_START = 512
"""Bytes of a file by which it is known."""

_SHOWN = 4
"""Bytes of it that a refusal shows: as many as formats begin with to be known by."""

_MOST_LAYERS = 5_000
"""Rows of a plan: half a millisecond each, and no model that we know has a thousand."""

_MOST_NAMED = 8
"""Layers that a refusal names: some lines of a terminal, and enough to know the rest by."""


def read_model(source: str | PathLike[str]) -> Model:
    """Return the model that a file describes or a name stands for.

    Weights are not read.

    Parameters
    ----------
    source : str or path
        A Hugging Face ``config.json``, a ``.safetensors`` file, the ``.index.json`` that lists several of
        them, a ``.gguf`` file, an adapter's ``adapter_config.json`` beside its weights, a folder with one
        of these, or a name in :data:`simonides.planner.catalogue.CONFIGS`, also as on the hub.

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
    path = arguments.file_name("model", source)
    source = fspath(source)
    known = known_name(source)
    if path.is_dir():
        model = _from_folder(path)
    elif path.exists():
        model = _from_file(path)
    elif known is not None:
        model = families.model_of(known, CONFIGS[known])
    else:
        raise _unknown(source)
    if packed := [part for part in model.skipped if part.reason == tensors.PACKED]:
        raise _unreadable(source, packed)
    if len(model.layers) > _MOST_LAYERS:
        raise arguments.refuse(
            "file",
            source,
            f"a model of at most {_MOST_LAYERS:,} kinds of layers",
            f"it has {len(model.layers):,}; pass its config.json",
        )
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


def _unknown(source: str) -> BadArgumentError:
    near = near_names(source)
    words = f"did you mean {' or '.join(near)}? Known are" if near else "known are"
    return arguments.refuse(
        "file",
        source,
        "a file or folder that exists or a known name",
        f"{words} {', '.join(CONFIGS)}",
    )


def _from_folder(folder: Path) -> Model:
    """Return the model of a folder as it is downloaded, or the adapter."""
    names = [name for name in _IN_FOLDERS if (folder / name).is_file()]
    ggufs = sorted(folder.glob("*.gguf"))
    if not names and len(ggufs) == 1:
        return _from_file(ggufs[0])
    if not names:
        raise arguments.refuse(
            "file",
            str(folder),
            f"a folder with one of {', '.join(_IN_FOLDERS)}",
            "pass a file of it",
        )
    if names[0] == "config.json" and len(names) > 1 and not _is_known(folder / names[0]):
        names = names[1:]  # the shapes in the weights need no family
    return _from_file(folder / names[0])


def _is_known(path: Path) -> bool:
    return read_json(path).get("model_type") in families.FAMILIES


def _from_file(path: Path) -> Model:
    if path.name == adapters.CONFIG:
        return _from_adapter(path)
    if path.suffix == ".json":
        return _from_json(path)
    if is_gguf(path):
        return _from_gguf(path)
    if path.suffix != ".safetensors" and (kind := _kind(path)):
        raise arguments.refuse("file", str(path), _READ, f"it {kind}; pass one of these")
    header = read_header(path)
    if adapters.has_factors(header):
        return adapters.model_of(str(path), header)
    return tensors.model_of(str(path), header)


def _kind(path: Path) -> str | None:
    """Return what a file is or begins like, or None if it can be a .safetensors file."""
    with opened(path) as file:
        start = file.read(_START)
    # The bytes before a header are its length, whatever kind of file would begin with them too.
    if start[8:9] == b"{" != start[:1]:
        return None
    for letters, kind in _BEGINNINGS.items():
        if start.startswith(letters):
            return f"begins like {kind}"
    if not start:
        return "is empty"
    if all(letter in b"\t\n\r" or 32 <= letter < 127 for letter in start):
        return "is text"
    return f"is of a format that is not known, and begins with the bytes {start[:_SHOWN].hex(' ')}"


def _from_adapter(path: Path) -> Model:
    model, base = adapters.read_adapter(path)
    known = None if base is None else known_name(base)
    if known is None:
        return model
    return replace(model, vocabulary=families.model_of(known, CONFIGS[known]).vocabulary)


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
                    "file",
                    str(path),
                    "the index of its files",
                    f"{shown(name)} is not where it says",
                )
            shapes[name] = tensor
    if missing := sorted(homes.keys() - shapes.keys()):
        raise arguments.refuse(
            "file", str(path), "the index of its files", f"{shown(missing[0])} is in none of them"
        )
    return dict(sorted(shapes.items()))


def _plain_name(home: object) -> bool:
    """Whether this is the name of a file in the same folder, not a path to elsewhere."""
    return isinstance(home, str) and home not in ("", ".", "..") and not {*home} & {*"/\\\0"}
