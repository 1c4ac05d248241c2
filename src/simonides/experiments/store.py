"""Where results are kept: a folder of Parquet shards, one writer, any number of readers.

``rows`` holds the tidy rows, ``arrays`` what belongs beside them. A batch is a shard in each, under one
number; it counts from the moment its rows appear, so arrays are written first. Of several rows of a task
the latest counts. Shards appear whole or not at all, and are known by a digest of their bytes.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from simonides import __version__, arguments
from simonides.experiments import record
from simonides.experiments.folder import (
    KINDS,
    Header,
    checked,
    locked,
    other_version,
    own_folder,
    read_header,
)
from simonides.experiments.record import TaskStatus
from simonides.writing import leftovers, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simonides.experiments.record import Record
    from simonides.experiments.spec import Spec
    from simonides.experiments.task import Task

_SCHEMAS = dict(zip(KINDS, (record.ROWS, record.ARRAYS), strict=True))
_NAME = re.compile(r"(\d{8})-([0-9a-f]{32})\.parquet")

_LISTINGS = 5
"""Times a reader lists a folder whose shards are joined meanwhile: writers join them once, at their end."""


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
    names = [(path, _NAME.fullmatch(path.name)) for path in folder.glob("*.parquet")]
    ours = [Shard(path, int(name[1]), name[2]) for path, name in names if name]
    return sorted(ours, key=lambda shard: shard.number)


def write_shard(folder: Path, number: int, table: pa.Table) -> Shard:
    """Write a table as a new shard."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content = sink.getvalue().to_pybytes()
    digest = _digest(content)
    path = folder / f"{number:08d}-{digest}.parquet"
    write_whole(path, content)
    return Shard(path, number, digest)


@dataclass(frozen=True)
class Contents:
    """What a reader saw: one row per task, in the order of the spec, and how many shards are damaged."""

    header: Header
    table: pa.Table
    damaged: int


class Store:
    """A run's folder, open for writing; made by ``writing``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._next = 0
        self.statuses: dict[str, TaskStatus] = {}
        self.quarantined: list[Path] = []

    def land(self, records: Sequence[Record]) -> None:
        """Keep a batch: all of its records, or after a crash none."""
        if not records:
            return
        rows, arrays = record.tables(records)
        self._write(rows, arrays)
        self.statuses.update({landed.task.id: landed.status for landed in records})

    def compact(self) -> None:
        """Turn all shards into one, so that reading is quick."""
        old = {kind: shards(self._folder / kind) for kind in KINDS}
        if len(old["rows"]) < 2:
            return
        merged = {}
        for kind in KINDS:
            tables = [table for shard in old[kind] if (table := shard.read()) is not None]
            if len(tables) < len(old[kind]):
                return  # the next run sets the damaged one aside
            merged[kind] = _joined(kind, tables)
        self._write(merged["rows"], merged["arrays"])
        # Rows go first: arrays without rows are leftovers, rows without arrays would be damage.
        for kind in KINDS:
            for shard in old[kind]:
                shard.path.unlink()

    def _write(self, rows: pa.Table, arrays: pa.Table) -> None:
        write_shard(self._folder / "arrays", self._next, arrays)
        write_shard(self._folder / "rows", self._next, rows)
        self._next += 1

    def tidy(self) -> None:
        """Remove what killed writers left, set damaged batches aside, and take stock."""
        present = {kind: shards(self._folder / kind) for kind in KINDS}
        begun = [shard.number for batch in present.values() for shard in batch]
        self._next = max(begun, default=-1) + 1
        for folder in (self._folder, *(self._folder / kind for kind in KINDS)):
            for part in leftovers(folder):
                part.unlink()
        arrays = {shard.number: shard for shard in present["arrays"]}
        for shard in present["rows"]:
            beside = arrays.pop(shard.number, None)
            rows = shard.read()
            if rows is None or beside is None or beside.read() is None:
                self._set_aside([shard, *([beside] if beside else [])])
                continue
            ends = zip(rows["id"].to_pylist(), rows["status"].to_pylist(), strict=True)
            self.statuses.update({name: TaskStatus(status) for name, status in ends})
        for orphan in arrays.values():
            orphan.path.unlink()

    def _set_aside(self, damaged: Sequence[Shard]) -> None:
        quarantine = own_folder(self._folder / "quarantine")
        for shard in damaged:
            place = quarantine / f"{shard.path.parent.name}-{shard.path.name}"
            shard.path.replace(place)
            self.quarantined.append(place)


@contextmanager
def writing(out: str | Path, spec: Spec, tasks: Sequence[Task]) -> Iterator[Store]:
    """Open a run's folder for writing, made if need be, with its lock held.

    Refused are folders of something else, of another version, or in which a sweep is running.
    """
    folder = checked(Path(out))
    with locked(folder):
        before = read_header(folder)
        if before is not None and before.version != __version__:
            raise other_version(folder, before.version)
        for kind in KINDS:
            own_folder(folder / kind)
        header = Header(spec, tuple(task.id for task in tasks))
        if header != before:
            header.write(folder)
        store = Store(folder)
        store.tidy()
        yield store


def read(out: str | Path, kind: str) -> Contents:
    """Return what a run's folder holds of ``"rows"`` or ``"arrays"``, while it is written to or not."""
    header = read_header(Path(out))
    if header is None:
        raise arguments.refuse(
            "out", str(out), "the folder of a sweep", "name one that 'sweep run --out' wrote"
        )
    tables = _tables(Path(out) / kind)
    sound = [table for table in tables if table is not None]
    whole = _joined(kind, sound)
    places = {name: place for place, name in enumerate(whole["id"].to_pylist())}
    ordered = [places[name] for name in header.tasks if name in places]
    return Contents(header, whole.take(pa.array(ordered, pa.int64())), len(tables) - len(sound))


def _tables(folder: Path) -> list[pa.Table | None]:
    for listing in range(_LISTINGS):
        try:
            return [shard.read() for shard in shards(folder)]
        except FileNotFoundError:  # joined with others since it was listed
            if listing == _LISTINGS - 1:
                raise
    return []


def _joined(kind: str, tables: Sequence[pa.Table]) -> pa.Table:
    """Return tables as one, with the last row of each task; columns that a table lacks are empty in it."""
    empty = _SCHEMAS[kind].empty_table()
    table = pa.concat_tables([empty, *tables], promote_options="default")
    last = {name: place for place, name in enumerate(table["id"].to_pylist())}
    if len(last) == table.num_rows:
        return table
    return table.take(pa.array(last.values(), pa.int64()))


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
