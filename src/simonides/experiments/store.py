"""Where results are kept: a folder of Parquet shards, one writer, any number of readers.

``rows`` holds the tidy rows, ``arrays`` what belongs beside them. A batch is a shard in each, under one
number; it counts from the moment its rows appear, so arrays are written first. Of several rows of a task
the latest counts. Shards appear whole or not at all, and are known by a digest of their bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simonides import __version__, arguments, reading
from simonides.experiments import record
from simonides.experiments.expand import Tasks
from simonides.experiments.folder import (
    KINDS,
    Header,
    checked,
    locked,
    other_version,
    own_folder,
    read_header,
)
from simonides.experiments.record import Record, TaskStatus
from simonides.parquet_files import parse_parquet
from simonides.threads import shares
from simonides.writing import leftovers, write_whole

_SCHEMAS = dict(zip(KINDS, (record.ROWS, record.ARRAYS), strict=True))
_NAME = re.compile(r"(\d{8})-([0-9a-f]{32})\.parquet")
_ASIDE = re.compile(rf"({'|'.join(KINDS)})-{_NAME.pattern}")

_LARGEST = 2**27
"""Bytes of a shard's tables, so that a reader may refuse files that claim to become twice that."""

_LISTINGS = 5
"""Times a reader lists a folder whose shards are joined meanwhile: writers join them once, at their end."""


@dataclass(frozen=True)
class Shard:
    """A file of results: ``number`` orders the shards of a folder in time."""

    path: Path
    number: int
    digest: str

    def read(self) -> pa.Table | None:
        """Return its table, or None if its bytes are not those that were written, or not by us."""
        refused = reading.expecting("file", self.path, "a shard", "run the sweep again")
        with suppress(reading.UnreadableFileError), refused:
            content = reading.read_bytes(self.path, most=2 * _LARGEST)
            if _digest(content) == self.digest:
                schema = _SCHEMAS[self.path.parent.name]
                return _checked(parse_parquet(content, schema), schema)
        return None


def shards(folder: Path) -> list[Shard]:
    """Return a folder's shards, oldest first."""
    names = [(path, _NAME.fullmatch(path.name)) for path in folder.glob("*.parquet")]
    ours = [Shard(path, int(name[1]), name[2]) for path, name in names if name and path.is_file()]
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

    def __init__(self, folder: Path, tasks: Tasks) -> None:
        self._folder = folder
        self._tasks = tasks
        self._next = 0
        self.statuses: dict[str, TaskStatus] = {}
        self.done = 0
        self.quarantined: list[Path] = []

    def land(self, records: Sequence[Record]) -> None:
        """Keep a batch: all of its records, or after a crash none."""
        if not records:
            return
        self._write(*record.tables(records))
        for landed in records:
            self._note(landed.task.id, landed.status)

    def _note(self, name: str, status: TaskStatus) -> None:
        ends = status, self.statuses.get(name)
        self.done += (ends[0] is TaskStatus.DONE) - (ends[1] is TaskStatus.DONE)
        self.statuses[name] = status

    def compact(self) -> None:
        """Turn all shards into one, or few of a size that is quick to read."""
        old = {kind: shards(self._folder / kind) for kind in KINDS}
        if len(old["rows"]) < 2:
            return
        merged = {}
        for kind in KINDS:
            tables = [table for shard in old[kind] if (table := shard.read()) is not None]
            if len(tables) < len(old[kind]):
                return  # the next run sets the damaged one aside
            merged[kind] = _joined(kind, tables)
        rows, arrays = merged.values()
        pieces = 1 + (rows.nbytes + arrays.nbytes) // _LARGEST
        if len(old["rows"]) <= pieces:
            return
        for piece in shares(rows.num_rows, pieces):
            part = rows[piece]
            self._write(part, arrays.filter(pc.is_in(arrays["id"], part["id"].combine_chunks())))
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
        sound = []
        for shard in present["rows"]:
            beside = arrays.pop(shard.number, None)
            rows = shard.read()
            if rows is None or beside is None or beside.read() is None:
                self._set_aside([shard, *([beside] if beside else [])])
            else:
                sound.append(rows)
        table = _joined("rows", sound)
        names, statuses = table["id"].to_pylist(), table["status"].to_pylist()
        for place in self._tasks.ordered(table):
            self._note(names[place], TaskStatus(statuses[place]))
        for orphan in arrays.values():
            if orphan.read() is None:  # damaged, or another's under such a name
                self._set_aside([orphan])
            else:
                orphan.path.unlink()

    def _set_aside(self, damaged: Sequence[Shard]) -> None:
        quarantine = own_folder(self._folder / "quarantine")
        for shard in damaged:
            place = quarantine / f"{shard.path.parent.name}-{shard.path.name}"
            shard.path.replace(place)
            self.quarantined.append(place)


@contextmanager
def writing(out: str | Path, tasks: Tasks) -> Iterator[Store]:
    """Open a run's folder for writing, made if need be, with its lock held.

    Refused are folders of something else, of another version, or in which a sweep is running.
    """
    folder = checked(Path(out), _strange)
    with locked(folder):
        before = read_header(folder)
        if before is not None and before.version != __version__:
            raise other_version(folder, before.version)
        for kind in KINDS:
            own_folder(folder / kind)
        header = Header(tasks)
        if header != before:
            header.write(folder)
        store = Store(folder, tasks)
        store.tidy()
        yield store


def read(out: str | Path, kind: str) -> Contents:
    """Return what a run's folder holds of ``"rows"`` or ``"arrays"``, while it is written to or not."""
    folder = Path(out)
    header = read_header(folder)
    if header is None:
        raise arguments.refuse(
            "out", str(out), "the folder of a sweep", "name one that 'sweep run --out' wrote"
        )
    rows, damaged = _whole(folder, "rows")
    rows = _taken(rows, header.tasks.ordered(rows))
    if kind == "rows":
        return Contents(header, rows, damaged)
    arrays, damaged = _whole(folder, kind)
    places = {name: place for place, name in enumerate(arrays["id"].to_pylist())}
    ordered = [places[name] for name in rows["id"].to_pylist() if name in places]
    return Contents(header, _taken(arrays, ordered), damaged)


def _strange(folder: Path) -> list[Path]:
    """Return what lies where shards are kept, or set aside, and no sweep wrote."""
    strange = []
    for inside in (folder / "quarantine", *(folder / kind for kind in KINDS)):
        if inside.is_dir():
            aside = inside.name == "quarantine"
            ours = {
                *leftovers(inside),
                *(path for path in inside.iterdir() if aside and _ASIDE.fullmatch(path.name)),
                *(shard.path for shard in shards(inside) if not aside and shard.read() is not None),
            }
            strange += [path for path in inside.iterdir() if path not in ours]
    return sorted(strange)


def _whole(folder: Path, kind: str, listings: int = _LISTINGS) -> tuple[pa.Table, int]:
    """Return a folder's shards as one table, and how many of them are damaged."""
    try:
        tables = [shard.read() for shard in shards(folder / kind)]
    except FileNotFoundError:  # joined with others since it was listed
        if listings == 1:
            raise
        return _whole(folder, kind, listings - 1)
    sound = [table for table in tables if table is not None]
    return _joined(kind, sound), len(tables) - len(sound)


def _joined(kind: str, tables: Sequence[pa.Table]) -> pa.Table:
    """Return tables as one, with the last row of each task; columns that a table lacks are empty in it."""
    empty = _SCHEMAS[kind].empty_table()
    table = pa.concat_tables([empty, *tables], promote_options="default")
    last = {name: place for place, name in enumerate(table["id"].to_pylist())}
    if len(last) == table.num_rows:
        return table
    return _taken(table, list(last.values()))


def _taken(table: pa.Table, places: list[int]) -> pa.Table:
    return table.take(pa.array(places, pa.int64()))


def _checked(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns in order, or raise ``ValueError`` if one of them is not as we write it."""
    table = table.select([name for name in schema.names if name in table.column_names])
    for field in schema:
        if field.name not in table.column_names:
            sound = field.nullable  # added since that table was written
        else:
            sound = field.nullable or not table[field.name].null_count
        if not sound:
            raise ValueError(f"{field.name} is not as we write it")
    if "status" in schema.names:
        for status in table["status"].unique().to_pylist():
            TaskStatus(status)
    return table


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
