"""Running tasks on processes of this machine, one numerical thread each.

A process that dies takes only its own task with it, which becomes a record. Processes run this file too
(``python -m simonides.experiments.local``): each is started with the number of an open socket, over which
tasks come and records go, and the bytes it may allocate (0 for any).
"""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from simonides.experiments.record import Record, TaskStatus, attempt

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from simonides.experiments.task import Task

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
_QUICK, _AHEAD = 0.1, 8
"""A process whose last task took less than so many seconds is given so many at once.

Any numbers near these do: short tasks should not wait for this process to look up from writing, and of
long ones none should wait behind another while a process is free.
"""

_GRACE = 5.0
"""Seconds that a process has to end by itself: a task that holds the interpreter needs a kill anyway."""

_MEGABYTE = 10**6


def local_batches(
    tasks: Sequence[Task], workers: int, memory_limit: int | None = None
) -> Generator[list[Record]]:
    """Yield the records of tasks as they are finished, those that are ready together.

    ``memory_limit`` is what a process may allocate, in bytes. Closed or interrupted, it ends its processes.
    """
    left = list(reversed(tasks))
    crew: list[_Worker] = []
    try:
        crew += [_Worker(memory_limit) for _ in range(min(workers, len(tasks)))]
        while any(worker.busy or not worker.ready for worker in crew):
            finished: list[Record] = []
            for connection in wait([worker.connection for worker in crew]):
                worker = next(member for member in crew if member.connection is connection)
                finished += worker.received()
                if worker.dead:
                    crew.remove(worker)
                    left += reversed(worker.queue)
                    if left:
                        crew.append(_Worker(memory_limit))
                    continue
                # Work is given out first and results are kept after, so that nobody waits.
                while left and worker.wants_more:
                    worker.give(left.pop())
            if finished:
                yield finished
    finally:
        for worker in crew:
            worker.end()
        for worker in crew:
            worker.reap()


class _Worker:
    """A process and what it is doing."""

    def __init__(self, memory_limit: int | None) -> None:
        self.connection, theirs = Pipe()
        self._limit = memory_limit
        self._log: Any = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process is reaped
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "simonides.experiments.local"),
                *(str(theirs.fileno()), str(memory_limit or 0)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=[theirs.fileno()],
            env={**os.environ, **_ONE_THREAD},
            start_new_session=True,  # an interrupt from the keyboard is for us to handle
        )
        theirs.close()
        self.queue: deque[Task] = deque()
        self._began = time.perf_counter()
        self._quick = False
        self.ready = self.dead = False

    @property
    def busy(self) -> bool:
        return bool(self.queue)

    @property
    def wants_more(self) -> bool:
        """Whether it should be given a task: one at a time, but short ones ahead."""
        return len(self.queue) < (_AHEAD if self._quick else 1)

    def give(self, task: Task) -> None:
        if not self.queue:
            self._began = time.perf_counter()
        self.queue.append(task)
        # If it has died meanwhile, receiving will tell.
        with suppress(BrokenPipeError):
            self.connection.send(task)

    def received(self) -> Iterator[Record]:
        """Yield the records that have come, the last of them that of its death if it died."""
        while not self.dead and self.connection.poll():
            try:
                record: Record | None = self.connection.recv()
            except (EOFError, ConnectionResetError):
                record = self._death()
            else:
                self.ready, self._began = True, time.perf_counter()
                if record is not None:  # or it says that it is ready
                    self.queue.popleft()
                    self._quick = record.seconds < _QUICK
            if record is not None:
                yield record

    def _death(self) -> Record | None:
        self.dead = True
        code = self._process.wait()
        words = self._last_words()
        self.reap()
        cause = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        if not self.ready:
            raise ChildProcessError(
                f"a worker process ended before it was ready ({cause}): {words or 'no message'}"
            )
        if not self.queue:
            return None
        task = self.queue.popleft()  # the others were only waiting
        limit = f"; its memory limit was {self._limit / _MEGABYTE:g} MB" if self._limit else ""
        reason = f"its process ended with {cause}{limit}{f': {words}' if words else ''}"
        return Record(task, TaskStatus.KILLED, time.perf_counter() - self._began, reason)

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return str(lines[-1]).strip() if lines else ""

    def end(self) -> None:
        self.connection.close()
        if self.busy or not self.ready:
            self._process.terminate()

    def reap(self) -> None:
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def serve(connection: Connection, memory_limit: int) -> None:
    """Measure what comes until nothing more does; end with the parent, also in the middle of a task."""
    threadpool_limits(1)
    threading.Thread(target=_end_with_parent, args=(connection.fileno(),), daemon=True).start()
    if memory_limit:
        # Memory that is allocated, not that of code and files, which a limit on addresses would count.
        resource.setrlimit(resource.RLIMIT_DATA, (memory_limit, memory_limit))
    connection.send(None)  # ready
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        connection.send(attempt(task))


def _end_with_parent(handle: int) -> None:
    poll = select.poll()
    poll.register(handle, 0)  # no event but the other end's closing
    poll.poll()
    os._exit(1)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])), int(sys.argv[2]))
