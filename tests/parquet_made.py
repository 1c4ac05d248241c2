"""Parquet files of one column, written by hand: pages may claim what they like, and the footer too."""

from __future__ import annotations

import struct

import pyarrow as pa

DOUBLE, TEXT, FIXED = 5, 6, 7
"""Numbers of physical types."""

DATA, DICTIONARY = 0, 2
PLAIN, BY_DICTIONARY = 0, 8
ZSTD = 6


def number(value: int) -> bytes:
    """Return a whole number as Thrift's compact encoding has it."""
    value, digits = value << 1, []
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def record(**fields: int | bytes | tuple[int, bytes]) -> bytes:
    """Return a struct of fields ``f<number>``: numbers of 32 bits, texts, or anything with its type."""
    parts, last = [], 0
    for name, value in fields.items():
        field = int(name[1:])
        kind, content = (5, number(value)) if isinstance(value, int) else (8, value)
        if isinstance(value, tuple):
            kind, content = value
        elif kind == 8:
            content = bytes([len(value)]) + value
        parts.append(bytes([(field - last) << 4 | kind]) + content)
        last = field
    return b"".join(parts) + b"\0"


def several(kind: int, *items: bytes) -> tuple[int, bytes]:
    """Return a list, whose length stands beside the kind of its items if it is short."""
    length, digits = len(items), []
    while length > 127:
        digits.append(length & 127 | 128)
        length >>= 7
    short = len(items) < 15
    head = [len(items) << 4 | kind] if short else [0xF0 | kind, *digits, length]
    return 9, bytes(head) + b"".join(items)


def page(content: bytes, values: int, kind: int = DATA, encoding: int = PLAIN) -> bytes:
    """Return a page that claims so many values: of a column, or of the dictionary before it."""
    packed = pa.compress(content, codec="zstd", asbytes=True)
    levels = {} if kind == DICTIONARY else {"f3": 3, "f4": 3}
    own = {"f7" if kind == DICTIONARY else "f5": (12, record(f1=values, f2=encoding, **levels))}
    return record(f1=kind, f2=len(content), f3=len(packed), **own) + packed


LEAF = record(f1=DOUBLE, f3=0, f4=b"a")
LIST = [record(f3=0, f4=b"a", f5=1, f6=3), record(f3=2, f4=b"list", f5=1)]
"""Elements of a schema: a number, and those of a list whose items come next."""


def schema(columns: list[bytes], children: int = 1) -> bytes:
    """Return a file without rows, of these columns: side by side, or one in the other."""
    elements = [record(f4=b"schema", f5=children), *columns]
    footer = record(f1=1, f2=several(12, *elements), f3=(6, number(0)), f4=several(12))
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def places(values: int) -> bytes:
    """Return a page of so many times the first entry of the dictionary."""
    return page(bytes([1]) + number(values) + b"\0", values, encoding=BY_DICTIONARY)


def content(pages: bytes, values: int, physical: int = DOUBLE, width: int = 0) -> bytes:
    """Return a whole file, whose footer says nothing of what the pages become."""
    length = {"f2": width} if width else {}
    text = {"f6": 0} if physical == TEXT else {}
    leaf = record(f1=physical, **length, f3=0, f4=b"a", **text)
    wide = (6, number(values))  # numbers of 64 bits
    size = (6, number(len(pages)))
    meta = record(
        f1=physical,
        f2=several(5, number(PLAIN), number(BY_DICTIONARY)),
        f3=several(8, b"\1a"),
        f4=ZSTD,
        f5=wide,
        f6=size,
        f7=size,
        f9=(6, number(4)),
    )
    chunk = record(f2=(6, number(4)), f3=(12, meta))
    group = record(f1=several(12, chunk), f2=size, f3=wide)
    root = record(f4=b"schema", f5=1)
    footer = record(f1=1, f2=several(12, root, leaf), f3=wide, f4=several(12, group))
    return b"PAR1" + pages + footer + struct.pack("<I", len(footer)) + b"PAR1"
