"""Files that others wrote: the header of a ``.safetensors`` file, and strict JSON.

Eight bytes give the length of a JSON object that names each tensor's type, shape and bytes; the bytes
follow. Nothing beyond the header is read, and no length is believed before the file's own size confirms it.

Why not the format's own library: it is an extra that a plan does not need, and it takes what is refused
here: a name that occurs twice (only the last counts) and control characters, which a terminal would obey.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simonides import arguments

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
"""What the format gives the length of its header."""

_MOST_ELEMENTS = 2**63 - 1
"""What 64 bits count; beyond it no file can be meant, and products would grow without end."""

_LONGEST_SHOWN = 120
"""Characters of a stranger's text in a message: enough to know it by, too few to flood a screen."""

_KIND = "a whole .safetensors file"
_AGAIN = "pass another file or download it again"


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
    entries = read_object(path, text, _KIND, _AGAIN)
    entries.pop("__metadata__", None)
    spans = {name: _span(path, name, entry) for name, entry in entries.items()}
    _check_layout(path, spans, size - _LENGTH_BYTES - length)
    return {
        name: Tensor(tuple(entry["shape"]), entry["dtype"] in _FLOATS)
        for name, entry in sorted(entries.items())
    }


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
    return arguments.refuse("file", path, _KIND, f"{reason}; {_AGAIN}")


def _shown(value: object) -> str:
    return repr(value)[:_LONGEST_SHOWN]


def read_object(path: str, text: bytes, kind: str, remedy: str) -> dict[str, Any]:
    """Return the JSON object in ``text``, which was read from ``path``, or refuse the file.

    >>> read_object("config.json", b'{"n": 1}', "a config", "pass another")
    {'n': 1}
    """
    try:
        content = json.loads(
            text.decode("utf-8"), object_pairs_hook=_each_key_once, parse_constant=_no_constant
        )
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:  # of JSON and of UTF-8 alike
        reason = f"it is not JSON ({str(error)[:_LONGEST_SHOWN]})"
    else:
        if isinstance(content, dict):
            return content
        reason = f"it holds a {type(content).__name__}, not an object"
    raise arguments.refuse("file", path, kind, f"{reason}; {remedy}")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"key {twice[:_LONGEST_SHOWN]!r} occurs twice")
    return mapping


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
