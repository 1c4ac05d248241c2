"""Shards: Parquet files that appear whole or not at all, and are known by a digest of their bytes."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NAME = re.compile(r"(\d{8})-([0-9a-f]{32})\.parquet")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
TEMPORARY = ".part"


class StorageError(OSError):
    """The results cannot be written; those written before are safe."""


@dataclass(frozen=True)
class Shard:
    """A file of results: ``number`` orders the shards of a folder in time."""

    path: Path
    number: int
    digest: str

    def read(self) -> pa.Table | None:
        """Return its table, or None if its bytes are not those that were written."""
        content = self.path.read_bytes()
        if _digest(content) != self.digest:
            return None
        # On this thread alone: pools of threads may still be starting when a short run ends, and abort it.
        return pq.ParquetFile(pa.BufferReader(content), pre_buffer=False).read(use_threads=False)


def shards(folder: Path) -> list[Shard]:
    """Return a folder's shards, oldest first."""
    found = [(path, _NAME.fullmatch(path.name)) for path in folder.glob("*.parquet")]
    kept = [Shard(path, int(name[1]), name[2]) for path, name in found if name]
    return sorted(kept, key=lambda shard: shard.number)


def write_shard(folder: Path, number: int, table: pa.Table) -> Shard:
    """Write a table as a new shard."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content = sink.getvalue().to_pybytes()
    digest = _digest(content)
    path = folder / f"{number:08d}-{digest}.parquet"
    write_whole(path, content)
    return Shard(path, number, digest)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, also if the machine stops.

    Raises ``StorageError`` where the disk is full.
    """
    # Hidden, so that readers of all files in a folder pass over it; by process, so that two do not meet.
    part = path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY}")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        _sync(path.parent)
    except OSError as error:
        part.unlink(missing_ok=True)
        if error.errno in _FULL:
            raise StorageError(
                f"no space for {path}: what was written before is kept; "
                "make room and run the same command again"
            ) from error
        raise


def leftovers(folder: Path) -> Iterator[Path]:
    """Yield what writers that were killed left behind."""
    return folder.glob(f"*{TEMPORARY}")


def _sync(folder: Path) -> None:
    """Make a change of names last."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
