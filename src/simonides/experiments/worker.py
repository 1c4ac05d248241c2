"""A process that measures tasks one after the other: ``python -m simonides.experiments.worker``.

It is started with the number of an open socket, over which tasks come and records go, and the bytes it may
allocate (0 for any). It ends with its parent, also in the middle of a task.
"""

from __future__ import annotations

import os
import resource
import select
import sys
import threading
from multiprocessing.connection import Connection

from threadpoolctl import threadpool_limits

from simonides.experiments.record import attempt


def serve(connection: Connection, memory_limit: int) -> None:
    """Measure what comes until nothing more does."""
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
