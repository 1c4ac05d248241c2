"""Files in the format ``.safetensors``: the tensors that they name, and those tensors.

Eight bytes give the length of a JSON object that names each tensor's type, shape and bytes; the bytes
follow. No length is believed before the file's own size confirms it.

Why not the format's own library: it is an extra that a plan does not need, and it takes what is refused
here: a name that occurs twice (only the last counts) and control characters, which a terminal would obey.
"""

from __future__ import annotations

import os
import reprlib
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from simonides.reading import expecting, opened, parse_json
from simonides.text import printable

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_HEADER = 100_000_000
"""Bytes; the format's own limit."""

_LONGEST_NAME = 1_000
"""Characters of a tensor's name, which is printed: any name that a person reads is far shorter."""

_FLOATS = {
    "F64": 64, "F32": 32, "F16": 16, "BF16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8,
    "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}  # fmt: skip
_OTHERS = {
    "I64": 64, "U64": 64, "I32": 32, "U32": 32, "I16": 16, "U16": 16, "I8": 8, "U8": 8, "BOOL": 8,
    "C64": 64,
}  # fmt: skip
_BITS = {**_FLOATS, **_OTHERS}

_NUMPY = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "BOOL": "?"}
"""Types of which arrays are made; the others are only counted."""

_METADATA = "__metadata__"
"""The entry of a header that is no tensor."""

_LENGTH_BYTES = 8
"""What the format gives the length of its header."""

_MOST_ELEMENTS = 2**63 - 1
"""What 64 bits count; beyond it no file can be meant, and products would grow without end."""

_KIND = "a whole .safetensors file"
_AGAIN = "pass another file or download it again"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor's shape and whether its entries are real numbers."""

    shape: tuple[int, ...]
    is_float: bool


def read_header(path: str | Path) -> dict[str, Tensor]:
    """Return the tensors that a ``.safetensors`` file names, in the order of their names.

    Raises ``ValueError`` naming the file if it is truncated, or its header is not what the format says:
    JSON with known types, whole sizes, and bytes that neither overlap nor leave gaps.
    """
    with expecting("file", path, _KIND, _AGAIN), opened(path) as file:
        entries = _entries(file)
    return {
        name: Tensor(tuple(entry["shape"]), entry["dtype"] in _FLOATS)
        for name, entry in sorted(entries.items())
        if name != _METADATA
    }


def read_tensors(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tensors of a ``.safetensors`` file as arrays by name, and what it says beside them."""
    with expecting("file", path, _KIND, _AGAIN), opened(path) as file:
        entries = _entries(file)
        metadata = entries.pop(_METADATA, {})
        arrays = {}
        for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
            # One after another, as was checked: each begins where the last one ended.
            kind, shape = np.dtype(_NUMPY[entry["dtype"]]), entry["shape"]
            arrays[name] = np.fromfile(file, kind, count=_elements(shape)).reshape(shape)
        return arrays, metadata


def checked_name(name: str) -> str:
    """Return the name of a tensor if a person can read it."""
    if len(name) > _LONGEST_NAME:
        raise ValueError(f"tensor {shown(name)} has a name of {len(name):,} characters")
    if not name.isprintable():
        raise ValueError(f"tensor {shown(name)} has a name that cannot be printed")
    return name


def _entries(file: IO[bytes]) -> dict[str, Any]:
    """Return a file's header, checked; the file is left where the tensors begin."""
    size = os.fstat(file.fileno()).st_size
    start = file.read(_LENGTH_BYTES)
    if len(start) < _LENGTH_BYTES:
        raise ValueError(f"it has {len(start)} bytes, fewer than the length of a header")
    length = int.from_bytes(start, "little")
    if length > LONGEST_HEADER:
        raise ValueError(f"its header claims {length:,} bytes, the format allows 100,000,000")
    if length > size - _LENGTH_BYTES:
        raise ValueError(f"its header claims {length:,} bytes, the file has {size:,}")
    entries = parse_json(file.read(length))
    spans = {name: _span(name, entry) for name, entry in entries.items() if name != _METADATA}
    reached = 0
    for name, (begin, end) in sorted(spans.items(), key=lambda item: item[1]):
        if begin != reached:
            how = "overlaps another" if begin < reached else "leaves a gap before it"
            raise ValueError(f"tensor {shown(name)} {how}")
        reached = end
    available = size - _LENGTH_BYTES - length
    if reached != available:
        raise ValueError(f"its tensors need {reached:,} bytes and {available:,} are there")
    return entries


def _span(name: str, entry: object) -> tuple[int, int]:
    """Return the bytes of a tensor, having checked that they are as many as its shape needs."""
    checked_name(name)
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise ValueError(f"tensor {shown(name)} lacks dtype, shape or data_offsets")
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(kind, str) or kind not in _BITS:
        raise ValueError(f"tensor {shown(name)} has unknown type {shown(kind)}")
    if not _sizes(shape) or not _sizes(offsets) or len(offsets) != 2:
        raise ValueError(f"tensor {shown(name)} has a shape or bytes that are no sizes")
    begin, end = offsets
    if (end - begin) * 8 != _elements(shape) * _BITS[kind]:
        raise ValueError(f"tensor {shown(name)} has a shape that does not fit its bytes")
    return begin, end


def _elements(shape: list[int]) -> int:
    elements = 1
    for size in shape:
        elements *= size
        if elements > _MOST_ELEMENTS:
            raise ValueError("a tensor claims more entries than can be counted")
    return elements


def _sizes(numbers: object) -> bool:
    return isinstance(numbers, list) and all(
        type(number) is int and 0 <= number <= _MOST_ELEMENTS for number in numbers
    )


def shown(value: object) -> str:
    """Return a stranger's text, short enough for a message: enough to know it by."""
    return printable(repr(value[:60]) if isinstance(value, str) else reprlib.repr(value), 60)
