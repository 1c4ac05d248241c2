"""Sharing work among processes of this machine, one numerical thread each.

A process that dies takes only what it was doing with it, which is tried again. Processes run this file too
(``python -m simonides.experiments.local``): each is started with the number of an open socket, over which
work comes and answers go, and the bytes it may allocate (0 for any).
"""

from __future__ import annotations

import math
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from itertools import islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")

_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
_QUICK, _AHEAD = 0.1, 8
"""A process whose last item took less than so many seconds is given so many at once.

Any numbers near these do: short items should not wait for this process to look up from writing, and of
long ones none should wait behind another while a process is free.
"""

TRIES = 3
"""Times an item is begun: two kills may be bad luck in a full memory, what kills thrice does so itself."""

_STARTS = 3
"""Times in a row that a place in the crew is filled by a process that ends before it is ready."""

_GRACE = 5.0
"""Seconds that a process has to end by itself: work that holds the interpreter needs a kill anyway."""

_MEGABYTE = 10**6


class OutOfTimeError(Exception):
    """The time limit was reached; what was finished by then has been handed over."""


def pooled(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int,
    lost: Callable[[Item, float, str], Result],
    *,
    deadline: float = math.inf,
    memory_limit: int | None = None,
) -> Generator[list[Result]]:
    """Yield what ``work`` makes of items, those results that are ready together.

    Items are taken as they are needed. One whose process ended `TRIES` times is ``lost``, after so many
    seconds and for a reason. ``memory_limit`` is what a process may allocate, in bytes. Raises
    `OutOfTimeError` at the ``deadline``, a value of ``time.monotonic()``. Closed, it ends its processes.
    """
    left = _Left(items, workers)
    crew: list[_Worker[Item, Result]] = []
    stillborn, size, words = 0, len(left.first), ""
    try:
        crew += [_Worker(work, memory_limit) for _ in range(size)]
        while any(worker.queue or not worker.ready for worker in crew):
            seconds = None if deadline == math.inf else max(0.0, deadline - time.monotonic())
            heard = wait([worker.connection for worker in crew], seconds)
            results: list[Result] = []
            for worker in [member for member in crew if member.connection in heard]:
                results += worker.received()
                stillborn = 0 if worker.ready else stillborn + worker.dead
                if worker.dead:
                    words = worker.reason
                    crew.remove(worker)
                    if worker.queue and left.spent(worker.queue[0]):
                        results.append(lost(worker.queue.popleft(), worker.seconds, worker.reason))
                    left.take_back(worker.queue)
                    if left and stillborn < _STARTS * size:
                        crew.append(_Worker(work, memory_limit))
            # Work is given out first and results are kept after, so that nobody waits.
            for worker in crew:
                while worker.wants_more and left:
                    worker.give(left.next())
            if results:
                yield results
            if time.monotonic() >= deadline:
                raise OutOfTimeError
        if left:
            raise ChildProcessError(
                f"{stillborn} worker processes in a row ended before they were ready ({words}): "
                "what was finished is kept; run the same command again"
            )
    finally:
        for worker in crew:
            worker.end()
        for worker in crew:
            worker.reap()


class _Left(Generic[Item]):
    """Items not given out yet, and how often each was."""

    def __init__(self, items: Iterable[Item], workers: int) -> None:
        self._rest = iter(items)
        self.first = deque(islice(self._rest, workers))
        self._again: deque[Item] = deque()
        self._deaths: Counter[Item] = Counter()

    def __bool__(self) -> bool:
        self.first.extend(islice(self._rest, 0 if self.first else 1))
        return bool(self.first or self._again)

    def next(self) -> Item:
        return self.first.popleft() if self.first else self._again.popleft()

    def spent(self, item: Item) -> bool:
        """Count a death in the middle of an item, and return whether that was one too many."""
        self._deaths[item] += 1
        return self._deaths[item] == TRIES

    def take_back(self, queue: deque[Item]) -> None:
        """Take back what a dead process had: what it was doing last, when others may need less memory."""
        if queue and self._deaths[queue[0]]:
            self._again.append(queue.popleft())
        self.first.extendleft(reversed(queue))


class _Worker(Generic[Item, Result]):
    """A process and what it is doing."""

    def __init__(self, work: Callable[[Item], Result], memory_limit: int | None) -> None:
        self.connection, theirs = Pipe()
        self.reason = ""
        self._limit = memory_limit
        self._log: Any = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process is reaped
        self._process = subprocess.Popen(
            [
                # What can be imported here can be there, and nothing else: not what lies in the folder.
                *(sys.executable, "-P", "-m", "simonides.experiments.local"),
                *(str(theirs.fileno()), str(memory_limit or 0)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=[theirs.fileno()],
            env={**os.environ, **_ONE_THREAD, "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,  # an interrupt from the keyboard is for us to handle
        )
        theirs.close()
        self._send(work)
        self.queue: deque[Item] = deque()
        self._began = time.monotonic()
        self._quick = self.ready = self.dead = False

    @property
    def seconds(self) -> float:
        """Since it began what it is doing."""
        return time.monotonic() - self._began

    @property
    def wants_more(self) -> bool:
        """Whether it should be given an item: one at a time, but short ones ahead."""
        return self.ready and len(self.queue) < (_AHEAD if self._quick else 1)

    def give(self, item: Item) -> None:
        if not self.queue:
            self._began = time.monotonic()
        self.queue.append(item)
        self._send(item)

    def _send(self, message: object) -> None:
        # If it has died meanwhile, receiving will tell.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send(message)

    def received(self) -> list[Result]:
        """Return the results that have come; if it has died it says so afterwards."""
        results: list[Result] = []
        while not self.dead and self.connection.poll():
            try:
                answer = self.connection.recv()
            except (EOFError, ConnectionResetError):
                self.dead = True
                self._bury()
                break
            if isinstance(answer, Exception):
                raise answer
            if self.ready:
                self.queue.popleft()
                results.append(answer)
                self._quick = self.seconds < _QUICK
            self.ready, self._began = True, time.monotonic()
        return results

    def _bury(self) -> None:
        code = self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        self.reap()
        cause = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        limit = f"; its memory limit was {self._limit / _MEGABYTE:g} MB" if self._limit else ""
        words = f": {lines[-1].strip()}" if lines else ""
        self.reason = f"its process ended with {cause}{limit}{words}"

    def end(self) -> None:
        self.connection.close()
        if self.queue or not self.ready:
            self._process.terminate()

    def reap(self) -> None:
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def serve(connection: Connection, memory_limit: int) -> None:
    """Do what comes until nothing more does; end with the parent, also in the middle of an item."""
    threadpool_limits(1)
    threading.Thread(target=_end_with_parent, args=(connection.fileno(),), daemon=True).start()
    if memory_limit:
        # Memory that is allocated, not that of code and files, which a limit on addresses would count.
        resource.setrlimit(resource.RLIMIT_DATA, (memory_limit, memory_limit))
    work = connection.recv()  # which imports what it needs
    connection.send(None)  # ready
    while True:
        try:
            item = connection.recv()
        except EOFError:
            return
        try:
            answer = work(item)
        except Exception as error:  # noqa: BLE001 - raised in the process that asked
            answer = error
        connection.send(answer)


def _end_with_parent(handle: int) -> None:
    poll = select.poll()
    poll.register(handle, 0)  # no event but the other end's closing
    poll.poll()
    os._exit(1)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])), int(sys.argv[2]))
