"""Arrays by name in ``.npz`` archives from elsewhere: only those asked for, of a size known beforehand."""

from __future__ import annotations

import math
import zipfile
import zlib
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

UNREADABLE = (
    AttributeError,  # a lone array instead of an archive
    KeyError,
    TypeError,
    ValueError,
    EOFError,
    OSError,
    MemoryError,
    OverflowError,  # a shape beyond all numbers
    NotImplementedError,  # zip features that no writer of ours uses
    RuntimeError,
    SyntaxError,  # a header that is no literal
    TokenError,  # nor even words of one
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a damaged or foreign archive may raise."""

_ENDING = ".npy"
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def members(file: IO[bytes], *, most: int, known: Collection[str] | None = None) -> dict[str, Any]:
    """Return the arrays of an archive, or those of its ``known`` ones, if they take at most ``most`` bytes.

    That is looked up in their headers, before anything is allocated.
    """
    with zipfile.ZipFile(file) as archive:
        wanted = {
            name: member
            for member in archive.infolist()
            if (name := member.filename).endswith(_ENDING)
            and (known is None or name.removesuffix(_ENDING) in known)
        }
        _limit(sum(member.file_size for member in wanted.values()), most)
        _limit(sum(_announced(archive, member) for member in wanted.values()), most)
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return {name.removesuffix(_ENDING): arrays[name] for name in wanted}


def reason(error: Exception) -> str:
    """Return in words why an archive is not one of ours."""
    if isinstance(error, KeyError):
        return f"it has no entry {error.args[0]!r}"
    return str(error).split("\n")[0].split(". ")[0] or type(error).__name__


def _limit(size: int, most: int) -> None:
    if size > most:
        raise ValueError(f"it would unpack to {size:,} bytes")


def _announced(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    """Return the bytes that a member's header announces."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version not in _HEADERS:
            raise ValueError(f"{member.filename} has the version {version}")
        shape, _, dtype = _HEADERS[version](file)
    return math.prod(shape) * int(dtype.itemsize)
