"""Running a sweep, and reading what it found: the front of this room."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from joblib import cpu_count

from simonides import arguments
from simonides.experiments import store as stores
from simonides.experiments.cluster import checked_address, cluster_batches
from simonides.experiments.expand import Tasks, expand
from simonides.experiments.local import OutOfTimeError, pooled
from simonides.experiments.record import Record, TaskStatus, attempt, killed
from simonides.experiments.spec import Spec
from simonides.experiments.store import Contents, Store
from simonides.experiments.task import Task
from simonides.text import cell
from simonides.writing import replacing

_REASONS_SHOWN = 5
"""Different reasons of failures that a tally lists: few enough to read, and the rest are in the rows."""


@dataclass(frozen=True)
class Tally:
    """How a sweep stands: tasks in all, done, and failed for whatever reason.

    ``damaged`` counts files that cannot be read; ``reasons`` are those of failures, most frequent first.
    ``note`` says what a run is waiting for; ``timed_out`` that its time limit ended it.
    """

    total: int
    done: int
    failed: int
    damaged: int = 0
    reasons: tuple[str, ...] = ()
    note: str = ""
    timed_out: bool = False

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
    time_limit: float | None = None,
    watch: Callable[[Tally], None] | None = None,
) -> Tally:
    """Measure what a spec asks for and the folder ``out`` does not hold yet.

    Every task is kept as soon as it is finished: a run that is interrupted or killed loses those under way.
    Tasks run on ``workers`` processes (one per core), each allowed to allocate ``memory_limit`` bytes,
    or on the Dask cluster at the address ``dask``. A task that fails is a record with its reason,
    left alone later unless ``retry_failed``; one whose process is killed is begun `TRIES` times by itself.
    Files whose bytes have changed are set aside and their tasks measured anew. After ``time_limit`` seconds
    what is finished is the answer, and ``timed_out`` says so. ``watch`` is called at the start, or
    once the cluster has answered, and after every batch.

    Raises ``BadArgumentError`` for a folder that is in use, of another version or of something else, and
    ``StorageError`` for a full disk; what was kept stays.
    """
    count = cpu_count() if workers is None else workers
    count = arguments.whole("workers", count, remedy="pass the number of processes")
    if memory_limit is not None:
        memory_limit = arguments.whole("memory_limit", memory_limit, remedy="pass it in bytes")
        if dask is not None:
            raise arguments.refuse(
                "memory_limit", memory_limit, "left out with dask", "limit the cluster's workers"
            )
    if dask is not None:
        checked_address(dask)
    deadline = arguments.deadline(time_limit)
    tasks = expand(spec)
    timed_out = False
    with stores.writing(out, tasks) as store:
        if store.quarantined:
            warnings.warn(
                f"{len(store.quarantined)} damaged files were moved to "
                f"{Path(out) / 'quarantine'}; their tasks are measured again",
                stacklevel=2,
            )

        def tell(note: str = "") -> None:
            if watch is not None:
                failed = len(store.statuses) - store.done
                watch(Tally(tasks.total, store.done, failed, note=note))

        if dask is None:  # a cluster is first to answer
            tell()
        missing = _missing(tasks, store, retry_failed)
        batches = (
            pooled(attempt, missing, count, killed, deadline=deadline, memory_limit=memory_limit)
            if dask is None
            else cluster_batches(missing, dask, deadline=deadline, tell=tell)
        )
        with closing(batches):
            timed_out = _keep(batches, store, tell)
        store.compact()
    return replace(status(out), timed_out=timed_out)


def status(out: str | Path) -> Tally:
    """Return how the sweep in a folder stands, also while it runs."""
    contents = stores.read(out, "rows")
    ends = contents.table.select(["status", "reason"]).to_pylist()
    failures = Counter(
        f"{end['status']}: {end['reason']}" for end in ends if end["status"] != TaskStatus.DONE
    )
    failed = failures.total()
    return Tally(
        contents.header.tasks.total,
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
    target = arguments.new_file("file", path, ".parquet", ".csv")
    contents = _read(out, "rows")
    table, header = contents.table, contents.header
    sink = pa.BufferOutputStream()
    if target.suffix.lower() == ".csv":
        pyarrow.csv.write_csv(_shown(table), sink)
    else:
        origin = {"spec": json.dumps(header.tasks.spec.mapping()), "version": header.version}
        pq.write_table(table.replace_schema_metadata(origin), sink, compression="zstd")
    with replacing(target) as file:
        file.write(sink.getvalue())
    return int(table.num_rows)


def _shown(table: pa.Table) -> pa.Table:
    """Return a table whose texts a spreadsheet shows and does not compute."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            texts = [text and cell(text) for text in table[field.name].to_pylist()]
            table = table.set_column(place, field, pa.array(texts, field.type))
    return table


def _read(out: str | Path, kind: str) -> Contents:
    contents = stores.read(out, kind)
    if contents.damaged:
        warnings.warn(
            f"{contents.damaged} damaged files in {Path(out) / kind} are left out; "
            "run the sweep again to measure them anew",
            stacklevel=3,
        )
    return contents


def _keep(batches: Generator[list[Record]], store: Store, tell: Callable[[], None]) -> bool:
    """Keep what comes, and return whether the time limit ended it."""
    unkept: list[Record] = []
    try:
        for batch in batches:
            unkept = batch
            store.land(batch)
            unkept = []
            tell()
    except KeyboardInterrupt:
        store.land(unkept)  # which may have landed just before; twice does no harm
        raise
    except OutOfTimeError:
        return True
    return False


def _missing(tasks: Tasks, store: Store, retry_failed: bool) -> Iterator[Task]:
    """Yield what is to be measured."""
    if len(store.statuses) == tasks.total and not (retry_failed and store.done < tasks.total):
        return
    settled = {
        name
        for name, status in store.statuses.items()
        if status is TaskStatus.DONE or not retry_failed
    }
    yield from (task for task in tasks.largest_first() if task.id not in settled)
