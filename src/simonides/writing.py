"""The one writer of files: each is there whole or not at all, also if the machine stops."""

from __future__ import annotations

import errno
import os
import re
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PART = re.compile(r"\.simonides-(\d+)-[0-9a-f]{24}\.part")
"""Names of files that are being written: by which process, and at random."""


class StorageError(OSError):
    """The disk is full; what was written before is safe.

    Examples
    --------
    Code that minds failures of files minds this one too.

    >>> issubclass(StorageError, OSError)
    True
    """


@contextmanager
def replacing(path: str | Path, *, through_link: bool = True) -> Iterator[IO[bytes]]:
    """Yield a file that takes the place of ``path`` once the block has ended well.

    An older file stays until then. Where ``path`` is a link the file it points to is replaced, or the
    link itself. Raises ``StorageError`` where the disk is full.
    """
    whole = Path(path).resolve() if through_link else Path(path)
    # Hidden, so that readers of all files in a folder pass over it. A name that nobody knows and a file
    # that was not there: no link is followed, no writer met.
    part = whole.with_name(f".simonides-{os.getpid()}-{secrets.token_hex(12)}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(whole)
        sync(whole.parent)
    except OSError as error:
        if error.errno in _FULL:
            raise StorageError(
                f"no space for {whole}: what was written before is kept; "
                "make room and run the same command again"
            ) from error
        raise
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of ours, in the place of a link too."""
    with replacing(path, through_link=False) as file:
        file.write(content)


def write_arrays(
    path: str | Path,
    arrays: Mapping[str, Any],
    *,
    deflated: bool = False,
    through_link: bool = True,
) -> None:
    """Write arrays as ``.npz``; on a full disk no half-open archive complains later, as numpy's may."""
    kind = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
    with (
        replacing(path, through_link=through_link) as file,
        zipfile.ZipFile(file, "w", kind) as archive,
    ):
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def leftovers(folder: Path) -> list[Path]:
    """Return what writers that were killed left in a folder: files under names that only we give."""
    named = [(path, _PART.fullmatch(path.name)) for path in folder.iterdir()]
    return [path for path, name in named if name and not _lives(int(name[1]))]


def _lives(process: int) -> bool:
    """Return whether a process of that number is there, ours or another's."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def flush(folder: Path) -> None:
    """Have the disk hold the files of a folder and of those in it, which others wrote, and their names."""
    for path in folder.iterdir():
        if path.is_symlink():  # which its folder holds, and nothing else of it is ours
            continue
        if path.is_dir():
            flush(path)
        elif path.is_file():
            sync(path)
    sync(folder)


def sync(path: Path) -> None:
    """Make a file's content, or the names in a folder, last."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
