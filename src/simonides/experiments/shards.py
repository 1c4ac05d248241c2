"""Shards: Parquet files that appear whole or not at all, and are known by a digest of their bytes."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from simonides.writing import write_whole

if TYPE_CHECKING:
    from pathlib import Path

_NAME = re.compile(r"(\d{8})-([0-9a-f]{32})\.parquet")


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


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
