"""Running a sweep, and reading what it found: the front of this room."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from simonides import arguments
from simonides.experiments import store as stores
from simonides.experiments.cluster import checked_address, cluster_batches
from simonides.experiments.expand import expand
from simonides.experiments.local import local_batches
from simonides.experiments.record import TaskStatus
from simonides.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from simonides.experiments.record import Record
    from simonides.experiments.spec import Spec
    from simonides.experiments.store import Contents, Store
    from simonides.experiments.task import Task

_REASONS_SHOWN = 5
"""Different reasons of failures that a tally lists: few enough to read, and the rest are in the rows."""


@dataclass(frozen=True)
class Tally:
    """How a sweep stands: tasks in all, done, and failed for whatever reason.

    ``damaged`` counts files that cannot be read; ``reasons`` are those of failures, most frequent first.
    """

    total: int
    done: int
    failed: int
    damaged: int = 0
    reasons: tuple[str, ...] = ()

    @property
    def left(self) -> int:
        """Tasks that have no record."""
        return self.total - self.done - self.failed


def run(
    spec: Spec,
    out: str | Path,
    *,
    workers: int | None = None,
    dask: str | None = None,
    retry_failed: bool = False,
    memory_limit: int | None = None,
    watch: Callable[[Tally], None] | None = None,
) -> Tally:
    """Measure what a spec asks for and the folder ``out`` does not hold yet.

    Every task is kept as soon as it is finished: a run that is interrupted or killed loses those under way.
    Tasks run on ``workers`` processes (one per core), each allowed to allocate ``memory_limit`` bytes,
    or on the Dask cluster at the address ``dask``. A task that fails is a record with its reason,
    left alone later unless ``retry_failed``. Files whose bytes have changed are set aside and their tasks
    measured anew. ``watch`` is called at the start and after every batch.

    Raises ``BadArgumentError`` for a folder that is in use, of another version or of something else, and
    ``StorageError`` for a full disk; what was kept stays.
    """
    count = arguments.whole(
        "workers", _cores() if workers is None else workers, remedy="pass the number of processes"
    )
    if memory_limit is not None:
        memory_limit = arguments.whole("memory_limit", memory_limit, remedy="pass it in bytes")
        if dask is not None:
            raise arguments.refuse(
                "memory_limit", memory_limit, "left out with dask", "limit the cluster's workers"
            )
    if dask is not None:
        checked_address(dask)
    tasks = expand(spec)
    with stores.writing(out, spec, tasks) as store:
        if store.quarantined:
            warnings.warn(
                f"{len(store.quarantined)} damaged files were moved to "
                f"{Path(out) / 'quarantine'}; their tasks are measured again",
                stacklevel=2,
            )
        missing = _missing(tasks, store, retry_failed)
        if watch is not None:
            watch(_tally(tasks, store))
        if missing:
            batches = (
                local_batches(missing, count, memory_limit)
                if dask is None
                else cluster_batches(missing, dask)
            )
            with closing(batches):
                _keep(batches, store, lambda: watch(_tally(tasks, store)) if watch else None)
        store.compact()
    return status(out)


def status(out: str | Path) -> Tally:
    """Return how the sweep in a folder stands, also while it runs."""
    contents = stores.read(out, "rows")
    ends = contents.table.select(["status", "reason"]).to_pylist()
    failures = Counter(
        f"{end['status']}: {end['reason']}" for end in ends if end["status"] != TaskStatus.DONE
    )
    failed = failures.total()
    return Tally(
        len(contents.header.tasks),
        len(ends) - failed,
        failed,
        contents.damaged,
        tuple(f"{times} x {reason}" for reason, times in failures.most_common(_REASONS_SHOWN)),
    )


def rows(out: str | Path) -> pa.Table:
    """Return one row per task that has a record, in the order of the spec.

    The columns are those of ``simonides.experiments.record.ROWS``. Damaged files are left out, with a
    warning.
    """
    return _read(out, "rows").table


def arrays(out: str | Path) -> pa.Table:
    """Return singular values and counts of scores by ``id``, in the order of the spec.

    The columns are those of ``simonides.experiments.record.ARRAYS``, the bins of the counts
    ``simonides.experiments.score_laws.SCORE_EDGES``. Tasks without weights, such as thresholds, have no
    row.
    """
    return _read(out, "arrays").table


def export(out: str | Path, path: str | Path) -> int:
    """Write the rows to one file, ``.parquet`` (its metadata hold the spec) or ``.csv``, and count them."""
    target = Path(path)
    if target.suffix not in (".parquet", ".csv"):
        raise arguments.refuse("file", str(path), "a name ending in .parquet or .csv", "choose one")
    if not target.parent.is_dir():
        raise arguments.refuse("file", str(path), "in a folder that exists", "make it first")
    contents = _read(out, "rows")
    table, header = contents.table, contents.header
    sink = pa.BufferOutputStream()
    if target.suffix == ".csv":
        pyarrow.csv.write_csv(table, sink)
    else:
        origin = {"spec": json.dumps(header.spec.mapping()), "version": header.version}
        pq.write_table(table.replace_schema_metadata(origin), sink, compression="zstd")
    write_whole(target, sink.getvalue().to_pybytes())
    return int(table.num_rows)


def _read(out: str | Path, kind: str) -> Contents:
    contents = stores.read(out, kind)
    if contents.damaged:
        warnings.warn(
            f"{contents.damaged} damaged files in {Path(out) / kind} are left out; "
            "run the sweep again to measure them anew",
            stacklevel=3,
        )
    return contents


def _keep(batches: Generator[list[Record]], store: Store, watch: Callable[[], None]) -> None:
    unkept: list[Record] = []
    try:
        for batch in batches:
            unkept = batch
            store.land(batch)
            unkept = []
            watch()
    except KeyboardInterrupt:
        store.land(unkept)  # which may have landed just before; twice does no harm
        raise


def _missing(tasks: Sequence[Task], store: Store, retry_failed: bool) -> list[Task]:
    """Return what is to be measured, largest first: what takes longest should not come last.

    Tasks of one instance follow each other, so that a process need not draw it anew for each.
    """

    def settled(task: Task) -> bool:
        status = store.statuses.get(task.id)
        return status is TaskStatus.DONE or (status is not None and not retry_failed)

    return sorted((task for task in tasks if not settled(task)), key=_order)


def _order(task: Task) -> tuple[Any, ...]:
    return -task.dim, task.problem, task.instance, -(task.facts or task.dim**2)


def _tally(tasks: Sequence[Task], store: Store) -> Tally:
    statuses = [store.statuses[task.id] for task in tasks if task.id in store.statuses]
    done = statuses.count(TaskStatus.DONE)
    return Tally(len(tasks), done, len(statuses) - done)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
