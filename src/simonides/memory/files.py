"""A memory on disk: arrays by name and a line of JSON. Nothing in a file is ever executed.

``.npz`` always, ``.safetensors`` with the library of that name. Archives are written without compression,
and one that would unpack to more than its own size is refused before anything is allocated.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import archives, arguments
from simonides.writing import replacing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simonides.failures import BadArgumentError

_FORMAT = 1
_NOTE = "simonides"
_KIND = "a memory written by save"
_ENDINGS = (".npz", ".safetensors")


@dataclass(frozen=True, eq=False)
class Saved:
    """What a file holds: named arrays, and the rest as plain JSON values."""

    arrays: Mapping[str, Any]
    note: Mapping[str, Any]


def write(path: str | Path, saved: Saved) -> Path:
    """Write arrays and note, whole or not at all; the ending of the path chooses the format."""
    path = _checked(path)
    note = json.dumps({"format": _FORMAT, **saved.note})
    arrays = {name: np.ascontiguousarray(array) for name, array in saved.arrays.items()}
    if path.suffix == ".npz":
        with replacing(path) as file:
            np.savez(file, allow_pickle=False, **{_NOTE: np.array(note)}, **arrays)
    else:
        content = _safetensors("save")(arrays, metadata={_NOTE: note})
        with replacing(path) as file:
            file.write(content)
    return path


def read(path: str | Path) -> Saved:
    """Read arrays and note, refusing what ``write`` did not write."""
    path = _checked(path)
    if not path.is_file():
        raise arguments.refuse("path", str(path), "a file", "save a memory there first")
    try:
        arrays, text = _read_npz(path) if path.suffix == ".npz" else _read_safetensors(path)
        note = json.loads(text)
        if not isinstance(note, dict):
            raise TypeError(f"its note is of type {type(note).__name__}, not an object")
        version = note.pop("format")
    except archives.UNREADABLE as error:
        raise refusal(path, error) from None
    if version != _FORMAT:
        raise arguments.refuse("format", version, str(_FORMAT), "write the file again")
    return Saved(arrays, note)


def refusal(path: str | Path, error: Exception) -> BadArgumentError:
    """Return the error that says why a file is no memory."""
    reason = f"{archives.reason(error)}; pass another file"
    return arguments.refuse("path", str(path), _KIND, reason)


def _read_npz(path: Path) -> tuple[dict[str, Any], str]:
    with path.open("rb") as file:
        arrays = archives.members(file, most=path.stat().st_size)
    return arrays, str(arrays.pop(_NOTE))


def _read_safetensors(path: Path) -> tuple[dict[str, Any], str]:
    from_library = _safetensors("safe_open")
    try:
        with from_library(path, framework="numpy") as file:
            note = (file.metadata() or {})[_NOTE]
            return {name: file.get_tensor(name) for name in file.keys()}, note  # noqa: SIM118
    except Exception as error:
        # The library raises a class of its own, which is an Exception and nothing else.
        if type(error).__name__ != "SafetensorError":
            raise
        raise ValueError(str(error)) from None


def _safetensors(name: str) -> Any:
    try:
        import safetensors
        import safetensors.numpy
    except ModuleNotFoundError as missing:
        if missing.name != "safetensors":
            raise
        raise arguments.refuse(
            "path", ".safetensors", ".npz without the library safetensors", arguments.install("hf")
        ) from None
    return safetensors.numpy.save if name == "save" else safetensors.safe_open


def _checked(path: str | Path) -> Path:
    path = Path(path)
    if path.suffix not in _ENDINGS:
        raise arguments.refuse("path", str(path), f"ending in {_ENDINGS}", "choose a format")
    if not path.parent.is_dir():
        raise arguments.refuse("path", str(path), "in a folder that exists", "make it first")
    if path.is_dir():
        raise arguments.refuse("path", str(path), "a file, not a folder", "choose another name")
    return path
