"""Running tasks on a Dask cluster that is already there.

A task is measured on one numerical thread there too, so its record is the same as here, bit for bit on
equal processors. When a worker of the cluster dies, Dask gives its tasks to the others; a task that several
have died of becomes a record.
"""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from simonides import __version__, arguments
from simonides.experiments.record import Record, TaskStatus, attempt

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from simonides.experiments.task import Task

_ADDRESS = re.compile(r"(tcp|tls|ws|wss)://[^/\s]+:\d+")
_PATIENCE = 10
"""Seconds to wait for a scheduler, and then for its first worker. Any number does that a person
waits for: a cluster that is there answers at once."""


def checked_address(address: str) -> str:
    """Return the address if it reads like one and Dask is installed."""
    if not _ADDRESS.fullmatch(address):
        raise arguments.refuse(
            "dask", address, "such as tcp://127.0.0.1:8786", "'dask scheduler' prints it"
        )
    if find_spec("distributed") is None:
        raise arguments.refuse(
            "dask", address, "used with Dask installed", arguments.install("dask")
        )
    return address


def cluster_batches(tasks: Sequence[Task], address: str) -> Generator[list[Record]]:
    """Yield the records of tasks as they are finished, those that are ready together."""
    checked_address(address)
    distributed: Any = import_module("distributed")
    with _client(distributed, address) as client:
        _check_versions(client, address)
        futures = {
            client.submit(_attempt, task, key=f"simonides-{task.id}", pure=False): task
            for task in tasks
        }
        ended = distributed.as_completed(futures, loop=client.loop, raise_errors=False)
        for batch in ended.batches():
            yield [_record(future, futures.pop(future), address) for future in batch]


def _attempt(task: Task) -> Record:
    # For good: several tasks of one process must not undo each other's limit.
    threadpool_limits(1)
    return attempt(task)


def _version() -> str:
    return __version__


def _record(future: Any, task: Task, address: str) -> Record:
    if future.status == "finished":
        record = future.result()
        assert isinstance(record, Record)
        if record.version != __version__:
            raise _other_version(address, [record.version])
        return record
    if future.status != "error":
        raise ConnectionError(
            f"the Dask scheduler at {address} was lost: what was finished is kept; "
            "start it and run the same command again"
        )
    error = future.exception()
    killed = type(error).__name__ == "KilledWorker"
    reason = "the workers that took it died" if killed else f"{type(error).__name__}: {error}"
    return Record(
        task, TaskStatus.KILLED if killed else TaskStatus.FAILED, 0.0, " ".join(reason.split())
    )


def _client(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except OSError:
        raise arguments.refuse(
            "dask", address, "the address of a running scheduler", "start one with 'dask scheduler'"
        ) from None


def _check_versions(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
        versions = set(client.run(_version).values())
    except TimeoutError:
        raise arguments.refuse(
            "dask", address, "a scheduler with workers", f"start one with 'dask worker {address}'"
        ) from None
    except ModuleNotFoundError as missing:
        raise arguments.refuse(
            "dask", address, "a cluster whose workers have simonides", f"they lack {missing.name}"
        ) from None
    if versions != {__version__}:
        raise _other_version(address, sorted(versions))


def _other_version(address: str, versions: Sequence[str]) -> Exception:
    return arguments.refuse(
        "dask",
        address,
        f"a cluster of simonides {__version__}, not {', '.join(versions)}",
        "install the same version on all workers",
    )
