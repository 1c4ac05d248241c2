"""A record: a task, how it ended, and what was measured; failures are records too."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from simonides import __version__
from simonides.experiments.measure import measure, warm_up
from simonides.theory.setting import load as load_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simonides.experiments.measure import Measurement
    from simonides.experiments.task import Task


class Status(StrEnum):
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
    status: Status
    seconds: float
    reason: str | None = None
    found: Measurement | None = None
    version: str = __version__


def attempt(task: Task) -> Record:
    """Measure a task and return its record, whatever happens."""
    began = time.perf_counter()
    try:
        warm_up(task.problem, task.solver, task.rank is not None)
        began = time.perf_counter()
        found = measure(task)
    except MemoryError as error:
        status, reason = Status.OUT_OF_MEMORY, str(error) or "no memory left"
    except Exception as error:  # noqa: BLE001 - a sweep records any failure and goes on
        status, reason = Status.FAILED, f"{type(error).__name__}: {error}"
    else:
        return Record(task, Status.DONE, time.perf_counter() - began, found=found)
    return Record(task, status, time.perf_counter() - began, " ".join(reason.split()))


_TEXT, _WHOLE, _REAL = pa.string(), pa.int64(), pa.float64()

INPUTS = pa.schema(
    [
        pa.field("id", _TEXT, nullable=False),
        pa.field("problem", _TEXT, nullable=False),
        pa.field("dim", _WHOLE, nullable=False),
        pa.field("facts", _WHOLE),
        pa.field("load", _REAL),
        pa.field("rank_fraction", _REAL, nullable=False),
        pa.field("rank", _WHOLE, nullable=False),
        pa.field("solver", _TEXT, nullable=False),
        pa.field("options", _TEXT, nullable=False),
        pa.field("instance", _WHOLE, nullable=False),
        pa.field("seed", _WHOLE, nullable=False),
        pa.field("problem_seed", _WHOLE, nullable=False),
        pa.field("solver_seed", _WHOLE, nullable=False),
        pa.field("candidates", _WHOLE),
        pa.field("ensemble", _TEXT),
    ]
)
"""What a task depends on, and its name. Rows of before there were ensembles have none."""

ENDS = pa.schema(
    [
        pa.field("version", _TEXT, nullable=False),
        pa.field("status", _TEXT, nullable=False),
        pa.field("reason", _TEXT),
        pa.field("seconds", _REAL, nullable=False),
    ]
)
"""How a task ended."""

VALUES = pa.schema(
    [
        ("solver_seconds", _REAL),
        ("outcome", _TEXT),
        ("recalled", _WHOLE),
        ("accuracy", _REAL),
        ("loss", _REAL),
        ("steps", _WHOLE),
        ("margin_lower", _REAL),
        ("margin_upper", _REAL),
        ("norm", _REAL),
        ("target_mean", _REAL),
        ("target_std", _REAL),
        ("best_rival_mean", _REAL),
        ("best_rival_std", _REAL),
        ("rival_mean", _REAL),
        ("rival_std", _REAL),
        ("threshold", _WHOLE),
        ("left_open", _WHOLE),
        ("decisions", _WHOLE),
    ]
)
"""Numbers that were measured."""

ROWS = pa.unify_schemas([INPUTS, ENDS, VALUES])
"""The columns of the results."""

ARRAYS = pa.schema(
    [
        pa.field("id", _TEXT, nullable=False),
        ("singular_values", pa.list_(_REAL)),
        ("target_counts", pa.list_(_WHOLE)),
        ("best_rival_counts", pa.list_(_WHOLE)),
        ("rival_counts", pa.list_(_WHOLE)),
    ]
)
"""The columns of the arrays, one row per task that has any."""

TIMES = ("seconds", "solver_seconds")
"""The only columns that two runs of a task do not share."""


def tables(records: Sequence[Record]) -> tuple[pa.Table, pa.Table]:
    """Return the rows and the arrays of records."""
    rows = [_row(record) for record in records]
    arrays = [
        {"id": record.task.id, **_values(record, ARRAYS.names[1:])}
        for record in records
        if record.found is not None and record.found.singular_values is not None
    ]
    return pa.Table.from_pylist(rows, schema=ROWS), pa.Table.from_pylist(arrays, schema=ARRAYS)


def _row(record: Record) -> dict[str, Any]:
    task = record.task
    load = None
    if task.facts is not None:
        load = load_of(task.facts, task.dim, candidates=task.candidates)
    return {
        "id": task.id,
        "problem": task.problem,
        "dim": task.dim,
        "facts": task.facts,
        "load": load,
        "rank_fraction": task.rank_fraction,
        "rank": task.dim if task.rank is None else task.rank,
        "solver": task.solver,
        "options": json.dumps(dict(task.options), sort_keys=True),
        "instance": task.instance,
        "seed": task.seed,
        "problem_seed": task.problem_seed,
        "solver_seed": task.solver_seed,
        "candidates": task.candidates,
        "ensemble": task.ensemble,
        "version": record.version,
        "status": str(record.status),
        "reason": record.reason,
        "seconds": record.seconds,
        **_values(record, VALUES.names),
    }


def _values(record: Record, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(record.found, name, None) for name in names}
