"""Running tasks on a Dask cluster that is already there.

A task is measured on one numerical thread there too, so its record is the same as here, bit for bit on
equal processors. When a worker of the cluster dies, Dask gives its tasks to the others; a task that several
have died of becomes a record. Workers that lack this version of the package are left out.
"""

from __future__ import annotations

import asyncio
import math
import pickle
import re
import time
import warnings
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any

from threadpoolctl import threadpool_limits

from simonides import __version__, arguments
from simonides.experiments.local import OutOfTimeError
from simonides.experiments.record import Record, TaskStatus, attempt
from simonides.experiments.task import Task

_ADDRESS = re.compile(r"(tcp|tls|ws|wss)://[^/\s]+:\d+")
_PATIENCE = 7
"""Seconds to wait for a scheduler, and then for its first worker. A cluster that is there answers at once,
and with what importing Dask takes a person waits less than ten."""

_BUSY = 17
"""Times that patience for a scheduler that was there: one that died is noticed at once, and a busy machine
may keep one that lives from answering."""

_SILENCE = 5.0
"""Seconds without a record after which it is asked whether anyone is still at work."""

_AHEAD = 2000
"""Tasks with the scheduler at a time: more than a large cluster has threads, submitted in a moment."""


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


def cluster_batches(
    tasks: Iterable[Task],
    address: str,
    *,
    deadline: float = math.inf,
    tell: Callable[[str], None] = lambda _: None,
) -> Generator[list[Record]]:
    """Yield the records of tasks as they are finished, those that are ready together.

    At the ``deadline``, a value of ``time.monotonic()``, raises `OutOfTimeError`. ``tell`` is called
    once the cluster has answered, and told in words when nobody is at work.
    """
    checked_address(address)
    with _client(address) as client:
        cluster = _Cluster(client, address)
        tell("")
        left = iter(tasks)
        while True:
            cluster.submit(islice(left, _AHEAD - len(cluster.tasks)))
            if not cluster.tasks:
                return
            if time.monotonic() >= deadline:
                raise OutOfTimeError
            if records := cluster.finished(min(_SILENCE, deadline - time.monotonic())):
                yield records
            else:
                tell(cluster.silence())


class _Cluster:
    """A cluster, what it was given, and which of its workers are left out."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self.tasks: dict[Any, Task] = {}
        self._barred: set[str] = set()
        self._fit: list[str] = []
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
            versions = client.run(_sent(), None, on_error="return")
        except TimeoutError:
            raise arguments.refuse(
                *("dask", address, "a scheduler with workers"),
                f"start one with 'dask worker {address}'",
            ) from None
        for worker, answer in versions.items():
            if answer != (__version__, None):
                self._bar(worker, answer[0] if isinstance(answer, tuple) else None)
        if not self._workers():
            raise arguments.refuse(
                *("dask", address, f"a cluster whose workers have simonides {__version__}"),
                "install it on all of them",
            )

    def submit(self, tasks: Iterable[Task]) -> None:
        """Give tasks to the cluster."""
        for task in tasks:
            future = self._client.submit(
                _sent(), pickle.dumps(task), pure=False, workers=self._fit or None
            )
            self.tasks[future] = task
            future.add_done_callback(self._ended.put)

    def finished(self, seconds: float) -> list[Record]:
        """Return the records that are ready, after waiting at most so long for the first."""
        records = []
        with suppress(Empty):
            future = self._ended.get(timeout=max(0.0, seconds))
            while True:
                task = self.tasks.pop(future, None)
                if task is not None:  # or it was withdrawn
                    records += self._records(future, task)
                future = self._ended.get_nowait()
        return records

    def _records(self, future: Any, task: Task) -> list[Record]:
        """Return a task's record, or none if its worker was not fit for it: then another gets it."""
        if future.status == "error":
            error = future.exception()
            killed = type(error).__name__ == "KilledWorker"
            reason = (
                "the workers that took it died" if killed else f"{type(error).__name__}: {error}"
            )
            status = TaskStatus.KILLED if killed else TaskStatus.FAILED
            return [Record(task, status, 0.0, " ".join(reason.split()))]
        if future.status != "finished":
            raise self._lost()
        version, answer = future.result()
        if isinstance(answer, Record):
            return [answer]
        if self._bar(answer, version):
            self._workers()
        self.submit([task])
        return []

    def _bar(self, worker: str, version: str | None) -> bool:
        """Leave a worker out from now on, and return whether that is new."""
        if worker in self._barred:
            return False
        self._barred.add(worker)
        lacks = "lacks simonides" if version is None else f"has simonides {version}"
        warnings.warn(
            f"the Dask worker {worker} {lacks} and is left out: install {__version__} there",
            stacklevel=2,
        )
        return True

    def _workers(self) -> int:
        """Count the workers that are fit; if they have changed while some are not, tasks are given anew."""
        try:
            ncores = self._client.scheduler.ncores
            workers = self._client.sync(ncores, workers=None, callback_timeout=_BUSY * _PATIENCE)
        except OSError:
            raise self._lost() from None
        fit = sorted(set(workers) - self._barred)
        before, self._fit = self._fit, fit if self._barred else []
        if before and before != self._fit:
            tasks, self.tasks = self.tasks, {}
            self._client.cancel(list(tasks))
            self.submit(tasks.values())
        return len(fit)

    def silence(self) -> str:
        """Return in words why nothing was finished for a while, or nothing if somebody is at work."""
        if self._workers():
            return ""
        return f"the Dask cluster at {self._address} has no workers: waiting for one"

    def _lost(self) -> ConnectionError:
        return ConnectionError(
            f"the Dask scheduler at {self._address} was lost: what was finished is kept; "
            "start it and run the same command again"
        )


def _sent() -> Callable[[bytes | None], tuple[str | None, Any]]:
    """Return what a worker does: a function that is sent whole, also to where the package is not.

    It returns the version there, and the record or who could not measure it.
    """

    def measured(task: bytes | None, version: str = __version__) -> tuple[str | None, Any]:
        import distributed

        try:
            import simonides
            from simonides.experiments.cluster import measured_here
        except ImportError:
            there = None
        else:
            there = simonides.__version__
        if task is None:
            return there, None
        return there, measured_here(task) if there == version else distributed.get_worker().address

    return measured


def measured_here(task: bytes) -> Record:
    """Measure a task on a worker of a cluster."""
    # For good: several tasks of one process must not undo each other's limit.
    threadpool_limits(1)
    return attempt(pickle.loads(task))


def _client(address: str) -> Any:
    """Return a client of the scheduler at an address, once it has answered as one."""
    distributed: Any = import_module("distributed")

    async def greet() -> None:
        options = distributed.Security().get_connection_args("client")
        connect = distributed.comm.connect(address, timeout=_PATIENCE, **options)
        comm = await asyncio.wait_for(connect, _PATIENCE)
        comm.abort()

    try:
        with ThreadPoolExecutor(1) as thread:  # where no loop runs yet
            thread.submit(asyncio.run, greet()).result()
        return distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except Exception as error:
        raise arguments.refuse(
            "dask",
            address,
            "the address of a running scheduler",
            f"start one with 'dask scheduler' ({type(error).__name__})",
        ) from error
