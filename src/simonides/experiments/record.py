"""A record: a task, how it ended, and what was measured; failures are records too."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

import pyarrow as pa

from simonides import __version__
from simonides.experiments.local import TRIES
from simonides.experiments.measure import Measurement, measure, warm_up
from simonides.experiments.task import Task, options_text
from simonides.theory.setting import load as load_of


class TaskStatus(StrEnum):
    """How a task ended."""

    DONE = "done"
    FAILED = "failed"
    OUT_OF_MEMORY = "out-of-memory"
    """More memory was asked for than there is, or than the limit allows."""

    KILLED = "killed"
    """The process that worked on it ended at once, as when the system runs out of memory."""


@dataclass(frozen=True, eq=False)
class Record:
    """One row of the results; ``reason`` says why a task is not done."""

    task: Task
    status: TaskStatus
    seconds: float
    reason: str | None = None
    measurement: Measurement | None = None
    version: str = __version__


def attempt(task: Task) -> Record:
    """Measure a task and return its record, whatever happens."""
    began = time.perf_counter()
    try:
        warm_up(task.problem, task.solver, task.rank is not None)
        began = time.perf_counter()
        measurement = measure(task)
    except MemoryError as error:
        status, reason = TaskStatus.OUT_OF_MEMORY, str(error) or "no memory left"
    except Exception as error:  # noqa: BLE001 - a sweep records any failure and goes on
        status, reason = TaskStatus.FAILED, f"{type(error).__name__}: {error}"
    else:
        return Record(task, TaskStatus.DONE, time.perf_counter() - began, measurement=measurement)
    return Record(task, status, time.perf_counter() - began, " ".join(reason.split()))


def killed(task: Task, seconds: float, reason: str) -> Record:
    """Return the record of a task that was begun as often as it may be."""
    return Record(task, TaskStatus.KILLED, seconds, f"{TRIES} times {reason}")


_TYPES = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
_LISTS = {"Reals": pa.list_(pa.float64()), "Integers": pa.list_(pa.int64())}
_TEXT, _WHOLE, _REAL = _TYPES.values()


def _always(**types: pa.DataType) -> list[pa.Field]:
    """Return columns that no row leaves empty."""
    return [pa.field(name, kind, nullable=False) for name, kind in types.items()]


def _measured(types: dict[str, pa.DataType]) -> list[tuple[str, pa.DataType]]:
    """Return a column for every field of a measurement that is of one of these types."""
    kinds = [(field.name, str(field.type).removesuffix(" | None")) for field in fields(Measurement)]
    return [(name, types[kind]) for name, kind in kinds if kind in types]


ROWS = pa.schema(
    [
        *_always(id=_TEXT, problem=_TEXT, dim=_WHOLE),
        ("facts", _WHOLE),
        ("load", _REAL),
        *_always(rank_fraction=_REAL, rank=_WHOLE, solver=_TEXT, options=_TEXT, instance=_WHOLE),
        *_always(seed=_WHOLE, problem_seed=_WHOLE, solver_seed=_WHOLE),
        ("candidates", _WHOLE),
        ("ensemble", _TEXT),  # empty in rows that are older than ensembles
        *_always(version=_TEXT, status=_TEXT),
        ("reason", _TEXT),
        *_always(seconds=_REAL),
        *_measured(_TYPES),
    ]
)
"""The columns of the results: what a task depends on, how it ended, and what was measured."""

ARRAYS = pa.schema([*_always(id=_TEXT), *_measured(_LISTS)])
"""The columns of the arrays, one row per task that has any."""

TIMES = ("seconds", "solver_seconds")
"""The only columns that two runs of a task do not share."""


def tables(records: Sequence[Record]) -> tuple[pa.Table, pa.Table]:
    """Return the rows and the arrays of records."""
    rows = [_row(record) for record in records]
    arrays = [
        {"id": record.task.id, **vars(record.measurement)}
        for record in records
        if record.measurement is not None and record.measurement.singular_values is not None
    ]
    return pa.Table.from_pylist(rows, schema=ROWS), pa.Table.from_pylist(arrays, schema=ARRAYS)


def _row(record: Record) -> dict[str, Any]:
    task = record.task
    load = None
    if task.facts is not None:
        load = load_of(task.facts, task.dim, candidates=task.candidates)
    return {
        **vars(task),
        **vars(record),
        **({} if record.measurement is None else vars(record.measurement)),
        "id": task.id,
        "load": load,
        "rank": task.dim if task.rank is None else task.rank,
        "options": options_text(task.options),
        "problem_seed": task.problem_seed,
        "solver_seed": task.solver_seed,
        "status": str(record.status),
    }
