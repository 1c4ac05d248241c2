"""One writer at a time: a lock that ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import os
import re
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simonides import arguments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HOLDER = re.compile(rb"(process \d+)?")
"""All that a lock of ours ever holds."""

_MOST_READ = 64


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, or refuse if another run holds it or the file is not ours.

    The system keeps the lock, not the file: a run that was killed holds none.
    """
    handle = _opened(folder / "lock")
    try:
        holder = os.pread(handle, _MOST_READ, 0)
        if not _HOLDER.fullmatch(holder):
            raise _foreign(folder / "lock")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise arguments.refuse(
                "out",
                str(folder),
                "free",
                f"{holder.decode() or 'another process'} is running a sweep there; "
                "wait for it or choose another folder",
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()}".encode(), 0)
        yield
    finally:
        os.close(handle)


def _opened(path: Path) -> int:
    """Open a lock, made if need be; a link is not followed, and a pipe does not block."""
    try:
        handle = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666
        )
    except OSError:
        if path.is_symlink() or path.is_dir():
            raise _foreign(path) from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _foreign(path)
    return handle


def _foreign(path: Path) -> Exception:
    return arguments.refuse(
        "out", str(path.parent), f"without a {path.name!r} that no sweep made", "name another"
    )
