"""The header of a ``.safetensors`` file: names and shapes, without the weights.

Eight bytes give the length of a JSON object that names each tensor's type, shape and bytes; the bytes
follow. Nothing beyond the header is read, and no length is believed before the file's own size confirms it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simonides import arguments
from simonides.planner.strict_json import read_object

if TYPE_CHECKING:
    from simonides.failures import BadArgumentError

LONGEST_HEADER = 100_000_000
"""Bytes; the format's own limit."""

_FLOATS = {
    "F64": 64, "F32": 32, "F16": 16, "BF16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8,
    "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}  # fmt: skip
_OTHERS = {
    "I64": 64, "U64": 64, "I32": 32, "U32": 32, "I16": 16, "U16": 16, "I8": 8, "U8": 8, "BOOL": 8,
    "C64": 64,
}  # fmt: skip
_BITS = {**_FLOATS, **_OTHERS}

_LENGTH_BYTES = 8
_MOST_ELEMENTS = 2**63 - 1
_LONGEST_SHOWN = 120
_KIND = "a whole .safetensors file"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor's shape and whether its entries are real numbers."""

    shape: tuple[int, ...]
    is_float: bool


def read_header(path: str) -> dict[str, Tensor]:
    """Return the tensors that a ``.safetensors`` file names, in the order of their names.

    Raises ``ValueError`` naming the file if it is truncated, or its header is not what the format says:
    JSON with known types, whole sizes, and bytes that neither overlap nor leave gaps.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(_LENGTH_BYTES)
        if len(start) < _LENGTH_BYTES:
            raise _broken(path, f"it has {len(start)} bytes, fewer than the length of a header")
        length = int.from_bytes(start, "little")
        if length > LONGEST_HEADER:
            raise _broken(
                path, f"its header claims {length:,} bytes, the format allows 100,000,000"
            )
        if length > size - _LENGTH_BYTES:
            raise _broken(path, f"its header claims {length:,} bytes, the file has {size:,}")
        text = file.read(length)
    entries = read_object(path, text, _KIND, "pass another file or download it again")
    entries.pop("__metadata__", None)
    spans = {name: _span(path, name, entry) for name, entry in entries.items()}
    _check_layout(path, spans, size - _LENGTH_BYTES - length)
    return {name: _tensor(entries[name]) for name in sorted(entries)}


def _tensor(entry: dict[str, Any]) -> Tensor:
    return Tensor(tuple(entry["shape"]), entry["dtype"] in _FLOATS)


def _span(path: str, name: str, entry: object) -> tuple[int, int]:
    """Return the bytes of a tensor, having checked that they are as many as its shape needs."""
    if not name.isprintable():
        raise _broken(path, f"tensor {_shown(name)} has a name that cannot be printed")
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise _broken(path, f"tensor {_shown(name)} lacks dtype, shape or data_offsets")
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(kind, str) or kind not in _BITS:
        raise _broken(path, f"tensor {_shown(name)} has unknown type {_shown(kind)}")
    if not _sizes(shape) or not _sizes(offsets) or len(offsets) != 2:
        raise _broken(path, f"tensor {_shown(name)} has a shape or bytes that are no sizes")
    elements = 1
    for size in shape:
        elements *= size
        if elements > _MOST_ELEMENTS:
            raise _broken(path, f"tensor {_shown(name)} claims more entries than can be counted")
    begin, end = offsets
    if (end - begin) * 8 != elements * _BITS[kind]:
        raise _broken(path, f"tensor {_shown(name)} has a shape that does not fit its bytes")
    return begin, end


def _sizes(numbers: object) -> bool:
    return isinstance(numbers, list) and all(
        type(number) is int and 0 <= number <= _MOST_ELEMENTS for number in numbers
    )


def _check_layout(path: str, spans: dict[str, tuple[int, int]], available: int) -> None:
    """Refuse tensors that overlap, leave gaps or do not end where the file does."""
    reached = 0
    for name, (begin, end) in sorted(spans.items(), key=lambda item: item[1]):
        if begin != reached:
            how = "overlaps another" if begin < reached else "leaves a gap before it"
            raise _broken(path, f"tensor {_shown(name)} {how}")
        reached = end
    if reached != available:
        raise _broken(path, f"its tensors need {reached:,} bytes and {available:,} are there")


def _broken(path: str, reason: str) -> BadArgumentError:
    return arguments.refuse(
        "file", path, _KIND, f"{reason}; pass another file or download it again"
    )


def _shown(value: object) -> str:
    return repr(value)[:_LONGEST_SHOWN]
