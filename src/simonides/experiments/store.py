"""Where results are kept: a folder of Parquet shards, one writer, any number of readers.

``rows`` holds the tidy rows, ``arrays`` what belongs beside them. A batch is a shard in each, under one
number; it counts from the moment its rows appear, so arrays are written first. Of several rows of a task
the latest counts.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from simonides import __version__, arguments
from simonides.experiments import record, shards
from simonides.experiments.header import Header, other_version, read_header
from simonides.experiments.lock import locked
from simonides.experiments.record import Status
from simonides.writing import leftovers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simonides.experiments.record import Record
    from simonides.experiments.spec import Spec
    from simonides.experiments.task import Task

_KINDS = {"rows": record.ROWS, "arrays": record.ARRAYS}
_OWN = {"lock", "run.json", "quarantine", *_KINDS}
_PATIENCE = 5


@dataclass(frozen=True)
class Kept:
    """What a reader found: one row per task, in the order of the spec, and how many shards are damaged."""

    header: Header
    table: pa.Table
    damaged: int


class Store:
    """A run's folder, open for writing; made by ``writing``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._next = 0
        self.statuses: dict[str, Status] = {}
        self.quarantined: list[Path] = []

    def land(self, records: Sequence[Record]) -> None:
        """Keep a batch: all of its records, or after a crash none."""
        if not records:
            return
        rows, arrays = record.tables(records)
        self._write(rows, arrays)
        self.statuses.update({one.task.id: one.status for one in records})

    def compact(self) -> None:
        """Turn all shards into one, so that reading is quick."""
        old = {kind: shards.shards(self._folder / kind) for kind in _KINDS}
        if len(old["rows"]) < 2:
            return
        merged = {}
        for kind, schema in _KINDS.items():
            tables = [table for shard in old[kind] if (table := shard.read()) is not None]
            if len(tables) < len(old[kind]):
                return  # the next run sets the damaged one aside
            merged[kind] = latest(_joined(tables, schema))
        self._write(merged["rows"], merged["arrays"])
        # Rows go first: arrays without rows are leftovers, rows without arrays would be damage.
        for kind in _KINDS:
            for shard in old[kind]:
                shard.path.unlink()

    def _write(self, rows: pa.Table, arrays: pa.Table) -> None:
        shards.write_shard(self._folder / "arrays", self._next, arrays)
        shards.write_shard(self._folder / "rows", self._next, rows)
        self._next += 1

    def tidy(self) -> None:
        """Remove what killed writers left, set damaged batches aside, and take stock."""
        found = {kind: shards.shards(self._folder / kind) for kind in _KINDS}
        begun = [shard.number for batch in found.values() for shard in batch]
        self._next = max(begun, default=-1) + 1
        for folder in (self._folder, *(self._folder / kind for kind in _KINDS)):
            for part in leftovers(folder):
                part.unlink()
        arrays = {shard.number: shard for shard in found["arrays"]}
        for shard in found["rows"]:
            beside = arrays.pop(shard.number, None)
            rows = shard.read()
            if rows is None or beside is None or beside.read() is None:
                self._set_aside([shard, *([beside] if beside else [])])
                continue
            for name, status in zip(
                rows["id"].to_pylist(), rows["status"].to_pylist(), strict=True
            ):
                self.statuses[name] = Status(status)
        for orphan in arrays.values():
            orphan.path.unlink()

    def _set_aside(self, damaged: Sequence[shards.Shard]) -> None:
        quarantine = _own_folder(self._folder / "quarantine")
        for shard in damaged:
            place = quarantine / f"{shard.path.parent.name}-{shard.path.name}"
            shard.path.replace(place)
            self.quarantined.append(place)


@contextmanager
def writing(out: str | Path, spec: Spec, tasks: Sequence[Task]) -> Iterator[Store]:
    """Open a run's folder for writing, made if need be, with its lock held.

    Refused are folders of something else, of another version, or in which a sweep is running.
    """
    folder = _checked(Path(out))
    with locked(folder):
        before = read_header(folder)
        if before is not None and before.version != __version__:
            raise other_version(folder, before.version)
        for kind in _KINDS:
            _own_folder(folder / kind)
        header = Header(spec, tuple(task.id for task in tasks))
        if header != before:
            header.write(folder)
        store = Store(folder)
        store.tidy()
        yield store


def read(out: str | Path, kind: str) -> Kept:
    """Return what a run's folder holds of ``"rows"`` or ``"arrays"``, while it is written to or not."""
    folder = Path(out)
    header = read_header(folder)
    if header is None:
        raise arguments.refuse(
            "out", str(out), "the folder of a sweep", "name one that 'sweep run --out' wrote"
        )
    tables, damaged = _tables(folder / kind)
    schema = _KINDS[kind]
    whole = latest(_joined(tables, schema))
    places = {name: place for place, name in enumerate(whole["id"].to_pylist())}
    asked = [places[name] for name in header.tasks if name in places]
    return Kept(header, whole.take(pa.array(asked, pa.int64())), damaged)


def _tables(folder: Path) -> tuple[list[pa.Table], int]:
    for attempt in range(_PATIENCE):
        try:
            tables = [shard.read() for shard in shards.shards(folder)]
        except FileNotFoundError:  # merged with others since it was listed
            if attempt == _PATIENCE - 1:
                raise
        else:
            break
    sound = [table for table in tables if table is not None]
    return sound, len(tables) - len(sound)


def _joined(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Return tables as one; columns that are younger than a table are empty in its rows."""
    return pa.concat_tables([schema.empty_table(), *tables], promote_options="default")


def latest(table: pa.Table) -> pa.Table:
    """Return the last row of each task."""
    last = {name: place for place, name in enumerate(table["id"].to_pylist())}
    if len(last) == table.num_rows:
        return table
    return table.take(pa.array(last.values(), pa.int64()))


def _own_folder(folder: Path) -> Path:
    """Return a folder of ours, made if need be: what lies behind a link is somebody else's."""
    if folder.is_symlink():
        raise arguments.refuse(
            "out", str(folder), "a folder, not a link", "name a folder of its own for the sweep"
        )
    folder.mkdir(exist_ok=True)
    return folder


def _checked(folder: Path) -> Path:
    if folder.exists() and not folder.is_dir():
        raise arguments.refuse("out", str(folder), "a folder", "name one that may be written to")
    folder.mkdir(parents=True, exist_ok=True)
    ours = {*_OWN, *(path.name for path in leftovers(folder))}
    strange = sorted({path.name for path in folder.iterdir()} - ours)
    if strange and not (folder / "run.json").exists():
        raise arguments.refuse(
            "out",
            str(folder),
            f"empty or the folder of a sweep, without {strange[0]!r}",
            "name another",
        )
    return folder
