"""Files in the format GGUF, as llama.cpp writes them: the tensors that they name, and what they say beside.

Four letters, a version and two numbers; then so many keys with a value each, and so many tensors, each with
its name, shape, type and place. Shapes begin with the innermost size and are those of the layers, however
few bits an entry takes. Numbers are believed only as far as the file bears them out; weights are not read.
"""

from __future__ import annotations

import math
import os
import struct
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any

from simonides.reading import expecting, opened
from simonides.tensor_files import LONGEST_HEADER, Tensor, checked_name, shown

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"GGUF"

_VERSIONS = (2, 3)
"""The first had other sizes, and hardly any file is left of it."""

_MOST_ENTRIES = 100_000
"""Keys, and tensors: the largest models have some thousands."""

_MOST_TEXTS = 2**22
"""In all lists together: a vocabulary of a million, and its merges."""

_MOST_AXES = 4
"""The format's own limit."""

_ALIGNMENT = 32
"""Tensors begin at a multiple of it, unless the file names another."""

_INTEGERS = range(24, 28)
"""Numbers of the types that are whole numbers, of 8 to 64 bits; all others stand for real ones."""

_BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 40),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292),
    16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110),
    22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8),
    29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17), 40: (64, 36), 41: (128, 18),
}  # fmt: skip
"""Entries of a block and its bytes, by the number of a type, as llama.cpp has them."""

_LEAST_BLOCK = (8, 1)
"""The same of a type that is not known: no type takes less than a bit for an entry."""

_LONGEST_KEY = 2**16 - 1
"""Bytes: the format's own limit."""

_KEPT_TEXT = 2**10
"""Bytes of a value that is text; one that is wanted has few, and some hold a licence or a template."""

_LENGTH = struct.Struct("<Q")
"""What stands before a text: how long it is."""

_WINDOW = 2**20
"""Bytes that are read at a time to pass over texts."""

_USUAL_TEXT = 32
"""Bytes of a text with its length: tokens have about six."""

_NUMBERS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
_TEXT, _LIST = 8, 9
"""Numbers of the kinds of values."""


def is_gguf(path: str | Path) -> bool:
    """Return whether a file begins as this format does."""
    with opened(path) as file:
        return file.read(len(_MAGIC)) == _MAGIC


def read_gguf(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors that a file names, and what it says by key.

    That is numbers, the beginnings of texts, and the lengths of lists.

    Raises ``ValueError`` naming the file if it is truncated, or its header is not what the format says.
    """
    again = "pass another file or download it again"
    with expecting("file", path, "a whole .gguf file", again), opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        header = _Header(file, min(size, LONGEST_HEADER))
        if header.take(len(_MAGIC)) != _MAGIC or header.number("I") not in _VERSIONS:
            raise ValueError("it is not GGUF of version 2 or 3")
        tensors, keys = header.count("tensors"), header.count("keys")
        values: dict[str, Any] = {}
        for _ in range(keys):
            key = header.text()
            if key in values:
                raise ValueError(f"key {shown(key)} occurs twice")
            values[key] = header.value(header.number("I"))
        shapes: dict[str, Tensor] = {}
        places = []
        for _ in range(tensors):
            name = checked_name(header.text())
            if name in shapes:
                raise ValueError(f"tensor {shown(name)} occurs twice")
            shape = header.shape()
            kind, place = header.number("I"), header.number("Q")
            shapes[name] = Tensor(shape, kind not in _INTEGERS)
            places.append((place, math.prod(shape), kind))
        unit = _alignment(values)
        _refuse_beyond(places, unit, size - -(-file.tell() // unit) * unit)
    return dict(sorted(shapes.items())), values


def _alignment(values: dict[str, Any]) -> int:
    """Return at multiples of how many bytes tensors begin."""
    unit = values.get("general.alignment", _ALIGNMENT)
    if type(unit) is not int or unit < 1:
        raise ValueError("its alignment is no size")
    return unit


def _refuse_beyond(places: list[tuple[int, int, int]], unit: int, available: int) -> None:
    """Refuse tensors, by place, entries and type, that overlap, lie askew, or need more than there is."""
    for (begin, entries, kind), (end, _, _) in pairwise([*sorted(places), (available, 0, 0)]):
        together, size = _BLOCKS.get(kind, _LEAST_BLOCK)
        if begin % unit:
            raise ValueError(f"a tensor begins at {begin:,}, which is no multiple of {unit:,}")
        if -(-entries // together) * size > end - begin:
            raise ValueError(f"a tensor of {entries:,} entries does not fit its bytes")


class _Header:
    """A file that is read from its beginning on, no further than so many bytes."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file, self._left, self._texts = file, most, 0

    def take(self, length: int) -> bytes:
        """Return the next bytes."""
        self._spend(length)
        return self._file.read(length)

    def _spend(self, length: int) -> None:
        if length > self._left:
            raise ValueError(f"its header is cut off, or longer than {LONGEST_HEADER:,} bytes")
        self._left -= length

    def number(self, kind: str) -> Any:
        """Return the next number, of a kind as ``struct`` names it."""
        return struct.unpack(f"<{kind}", self.take(struct.calcsize(kind)))[0]

    def count(self, things: str) -> int:
        """Return how many things are to come."""
        number = int(self.number("Q"))
        if number > _MOST_ENTRIES:
            raise ValueError(f"it claims {number:,} {things}, and {_MOST_ENTRIES:,} are read")
        return number

    def text(self) -> str:
        """Return the next key or name."""
        length = self.number("Q")
        if length > _LONGEST_KEY:
            raise ValueError(f"a key or name has {length:,} bytes, more than {_LONGEST_KEY:,}")
        return self.take(length).decode("utf-8", "replace")

    def shape(self) -> tuple[int, ...]:
        """Return the next shape, outermost size first."""
        axes = self.number("I")
        if axes > _MOST_AXES:
            raise ValueError(f"a tensor has {axes:,} axes")
        return tuple(self.number("Q") for _ in range(axes))[::-1]

    def value(self, kind: int) -> Any:
        """Return the next value; of a list its length, and a list in a list is refused."""
        if kind == _TEXT:
            return self.take(self.number("Q"))[:_KEPT_TEXT].decode("utf-8", "replace")
        if kind != _LIST:
            return self.number(self._letter(kind))
        kind, length = self.number("I"), self.number("Q")
        if kind != _TEXT:
            self.take(length * struct.calcsize(self._letter(kind)))
            return length
        self._texts += length
        if self._texts > _MOST_TEXTS:
            raise ValueError(f"it lists more than {_MOST_TEXTS:,} texts")
        self._skip_texts(length)
        return length

    def _skip_texts(self, length: int) -> None:
        """Pass over texts, many at a time: a vocabulary has a hundred thousand of them."""
        start, passed = self._file.tell(), 0
        while passed < length:
            # A short list is not worth a window: thousands of them would be read again and again.
            texts = (length - passed) * _USUAL_TEXT
            window, at = self._file.read(min(_WINDOW, max(texts, _LENGTH.size))), 0
            last = len(window) - _LENGTH.size
            while at <= last and passed < length:
                at += _LENGTH.size + _LENGTH.unpack_from(window, at)[0]
                passed += 1
            self._spend(at or _LENGTH.size)  # or it ends where a length should be
            start += at
            self._file.seek(start)

    @staticmethod
    def _letter(kind: int) -> str:
        if kind not in _NUMBERS:
            raise ValueError(f"it has a value of the unknown kind {kind}")
        return _NUMBERS[kind]
