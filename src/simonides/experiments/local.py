"""Running tasks on processes of this machine, one numerical thread each.

A process that dies takes only its own task with it, which becomes a record.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from simonides.experiments.record import Record, Status

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from simonides.experiments.task import Task

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
_QUICK, _AHEAD = 0.1, 8
"""A process whose last task took less than so many seconds is given so many at once."""

_GRACE = 5.0
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
        while any(one.busy or not one.ready for one in crew):
            finished: list[Record] = []
            for connection in wait([one.connection for one in crew]):
                one = next(member for member in crew if member.connection is connection)
                finished += one.received()
                if one.dead:
                    crew.remove(one)
                    left += reversed(one.queue)
                    if left:
                        crew.append(_Worker(memory_limit))
                    continue
                # Work is given out first and results are kept after, so that nobody waits.
                while left and one.wants_more:
                    one.give(left.pop())
            if finished:
                yield finished
    finally:
        for one in crew:
            one.end()
        for one in crew:
            one.reap()


class _Worker:
    """A process and what it is doing."""

    def __init__(self, memory_limit: int | None) -> None:
        self.connection, theirs = Pipe()
        self._limit = memory_limit
        self._log: Any = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process is reaped
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "simonides.experiments.worker"),
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
        return Record(task, Status.KILLED, time.perf_counter() - self._began, reason)

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
