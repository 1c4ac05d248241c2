"""The one reader of files that others wrote: nothing is allocated, nor waited for, on their word alone.

Only regular files are read (a link that the user names may lead to one). What a file will become is
bounded before it is: uncompressed arrays by the file itself, compressed ones and text by the limits below.
Nothing in a file is ever executed. A file that is not what it is taken for raises ``UnreadableFileError``,
one that is missing or forbidden ``OSError``, as ``open`` does.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import stat
import struct
import zipfile
import zlib
from collections import Counter
from contextlib import contextmanager
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from simonides.arguments import refuse
from simonides.failures import BadArgumentError
from simonides.text import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

LONGEST_TEXT = 100_000_000
"""Bytes of JSON that are read: what .safetensors allows a header."""

LONGEST_TOML = 1_000_000
"""Bytes; a spec has some lines, or a list of all its sizes."""

MOST_ITEMS = 2**20
"""Items of JSON: small objects in objects were measured at 140 bytes each, so that all become 150 MB."""

DEEPEST = 100
"""Levels of JSON or TOML; files of ours have five, and later steps may recurse."""

SMALLEST_LIMIT = 2**28
"""Bytes that any compressed file may become: no machine minds 256 MiB."""

LARGEST_RATIO = 8
"""Times its own size that a compressed file may become: no file under 100 MB then becomes 1 GB."""

_LONGEST_HEADER = 10_000
"""Bytes of the line before an array; numpy's own limit."""

_LONGEST_READ = 2**22
"""Bytes that are read from an archive at a time, its list of members too: some ten thousand of them."""

_LONGEST_REASON = 160
"""Characters of a reason: it may quote the file, and shall not flood a screen."""

_UNREADABLE = (
    ArithmeticError,  # a shape beyond all numbers
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    EOFError,
    OSError,
    MemoryError,
    RuntimeError,  # also recursion, and features that no writer of ours uses
    SyntaxError,  # a header that is no literal
    TokenError,  # nor even words of one
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What a damaged or hostile file may make its parser raise."""

_TOML = re.compile(
    r'''"""(?:\\.|[^\\])*?"{3,5}|"(?:\\.|[^"\\\n])*"|#[^\n]*|(?P<dot>\.)|(?P<end>[=,{}\[\]\n])'''
    r"""|'{3}.*?'{3,5}|'[^'\n]*'|(?P<open>["'])""",
    re.DOTALL,
)
"""Texts and comments, dots, and what ends a key."""

_KINDS = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class UnreadableFileError(BadArgumentError):
    """A file is not what it is taken for; ``reason`` says why."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (str(self), self.reason)


@contextmanager
def expecting(name: str, path: str | Path, condition: str, remedy: str) -> Iterator[None]:
    """Turn whatever reading a file raises into one refusal.

    ``name`` is the argument that the file came by, ``condition`` what it must be, ``remedy`` what to do. A
    reader below may be called within: its reason is kept, its words are replaced by these.
    """
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        raise
    except _UNREADABLE as error:
        raise _refusal(name, path, condition, reason_of(error), remedy) from None


@contextmanager
def opened(path: str | Path) -> Iterator[IO[bytes]]:
    """Yield a regular file. A pipe is not waited for, and nothing can take its place once it is checked."""
    # Where a system has no such flags it has no such files either.
    flags = [getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")]
    handle = os.open(path, os.O_RDONLY | sum(flags))
    kind = os.fstat(handle).st_mode
    if not stat.S_ISREG(kind):
        os.close(handle)
        reason = f"it is a {_KINDS.get(stat.S_IFMT(kind), 'device')}"
        raise _refusal("file", path, "a regular file", reason, "pass another")
    with open(handle, "rb") as file:
        yield file


def read_bytes(path: str | Path, *, most: int = LONGEST_TEXT) -> bytes:
    """Return what a file holds, if that is at most so many bytes."""
    with _reading(path, "a file", "pass another") as file:
        # What a file says of its size may change while it is read, and be zero for those that are none.
        if os.fstat(file.fileno()).st_size > most or len(content := file.read(most + 1)) > most:
            raise ValueError(f"at most {most:,} bytes are read, and it has more")
        return content


def read_json(path: str | Path, *, constants: bool = False) -> dict[str, Any]:
    """Return the object in a JSON file; with ``constants`` also NaN and Infinity, as Python writes them."""
    with expecting("file", path, "a JSON object", "pass another file"):
        return parse_json(read_bytes(path), constants=constants)


def parse_json(text: bytes | str, *, constants: bool = False) -> dict[str, Any]:
    """Return the object that JSON text holds, each key once, or raise ``ValueError``.

    >>> parse_json(b'{"n": 1}')
    {'n': 1}
    """
    content = text.encode() if isinstance(text, str) else text
    # A character beyond ASCII makes every one take up to four bytes.
    if len(content) * (1 if content.isascii() else 4) > LONGEST_TEXT:
        raise ValueError(f"its text has {len(content):,} bytes, too many to be read")
    if sum(content.count(sign) for sign in b",[{") > MOST_ITEMS:
        raise ValueError(f"it has more than {MOST_ITEMS:,} items")
    try:
        parsed = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_each_key_once,
            parse_constant=None if constants else _no_constant,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:  # of JSON and of UTF-8 alike
        raise ValueError(f"it is not JSON ({error})") from None
    if not isinstance(parsed, dict):
        raise TypeError(f"it holds a {type(parsed).__name__}, not an object")
    _refuse_depth(parsed)
    return parsed


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the table in a TOML file."""
    import tomllib

    with expecting("file", path, "a TOML file", "pass another file"):
        text = read_bytes(path, most=LONGEST_TOML).decode("utf-8")
        _refuse_long_keys(text)
        content = tomllib.loads(text)
        _refuse_depth(content)
        return content


def read_array(path: str | Path) -> Any:
    """Return the array in a ``.npy`` file; one of objects is refused, as it would have to be executed."""
    with _reading(path, "a readable .npy file of numbers", "write it with numpy.save") as file:
        # Unlike numpy.load, this takes nothing but a lone array.
        return _array(file, os.fstat(file.fileno()).st_size)


def read_arrays(
    path: str | Path, *, known: Collection[str] | None = None, compressed: bool = True
) -> dict[str, Any]:
    """Return the arrays of a ``.npz`` file by name, or those of its ``known`` ones.

    What is not ``compressed`` may become no more than the file's own size.
    """
    with _reading(path, "a readable .npz file of numbers", "write it with numpy.savez") as file:
        size = os.fstat(file.fileno()).st_size
        with zipfile.ZipFile(_Stepwise(file)) as archive:
            members = {
                name: member
                for member in archive.infolist()
                if member.filename != (name := member.filename.removesuffix(".npy"))
                and (known is None or name in known)
            }
            for name, member in members.items():
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError(f"{name!r} is compressed as numpy never does")
            refuse_beyond(
                limit(size) if compressed else size,
                sum(member.file_size for member in members.values()),
            )
            return {name: _member(archive, member) for name, member in members.items()}


def limit(size: int) -> int:
    """Return how many bytes a compressed file of a size may become."""
    return max(SMALLEST_LIMIT, LARGEST_RATIO * size)


def refuse_beyond(most: int, size: int) -> None:
    """Raise ``ValueError`` for a size that is larger than allowed."""
    if size > most:
        raise ValueError(f"it would unpack to {size:,} bytes, more than {most:,}")


def reason_of(error: BaseException) -> str:
    """Return in some words why a file could not be read."""
    if isinstance(error, UnreadableFileError):
        return error.reason
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, KeyError):
        return f"it has no entry {error.args[0]!r}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).split("\n")[0].split(". ")[0] or type(error).__name__


@contextmanager
def _reading(path: str | Path, condition: str, remedy: str) -> Iterator[IO[bytes]]:
    with expecting("file", path, condition, remedy), opened(path) as file:
        yield file


def _refusal(
    name: str, path: str | Path, condition: str, reason: str, remedy: str
) -> UnreadableFileError:
    reason = printable(reason, _LONGEST_REASON)
    return UnreadableFileError(
        str(refuse(name, str(path), condition, f"{reason}; {remedy}")), reason
    )


class _Stepwise:
    """A file that is not read in one gulp, however long an archive says that its list of members is."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > _LONGEST_READ:
            raise ValueError("it lists too many members")
        return self._file.read(_LONGEST_READ if size < 0 else size)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    with archive.open(member) as stream:
        array = _array(stream, member.file_size)
        stream.read(1)  # to its end, where its checksum is compared
        return array


def _array(stream: IO[bytes], size: int) -> Any:
    """Return the array in a stream of so many bytes, once its header asks for no more than these."""
    header = io.BytesIO(stream.read(_LONGEST_HEADER))
    version = np.lib.format.read_magic(header)
    if version not in _HEADERS:
        raise ValueError(f"it has the version {version} of .npy")
    shape, _, dtype = _HEADERS[version](header)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, not numbers")
    announced = math.prod(shape) * int(dtype.itemsize)
    if announced > size - header.tell():
        raise ValueError(f"it would unpack to {announced:,} bytes, and {size:,} are there")
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _refuse_depth(content: Any) -> None:
    level = [content]
    for _ in range(DEEPEST + 1):
        level = [
            item
            for box in level
            for item in (box.values() if isinstance(box, dict) else box)
            if isinstance(item, (dict, list))
        ]
        if not level:
            return
    raise ValueError("it is nested too deeply")


def _refuse_long_keys(text: str) -> None:
    """Refuse a key of many dots, at which the parser works as the square of their number."""
    dots = 0
    for token in _TOML.finditer(text):
        if token.lastgroup == "dot":
            dots += 1
        elif token.lastgroup == "end":
            dots = 0
        elif token.lastgroup == "open":  # a text that does not end: the parser comes no further
            return
        if dots > DEEPEST:
            raise ValueError("it is nested too deeply")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"key {printable(twice, _LONGEST_REASON)!r} occurs twice")
    return mapping


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
