"""Threads, one pool at a time.

Row blocks are handed to a few threads of our own while the matrix library keeps to one: two pools at
once fight for the cores and lose an order of magnitude. How a problem is cut into blocks depends on
its size alone, so results do not depend on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from threadpoolctl import threadpool_info, threadpool_limits

from simonides import arguments

Each: TypeAlias = "Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]"
"""How work is done on each of several items: the builtin ``map``, or a crew's."""

_MOST_BLOCKS = 16
"""More than a desktop's cores; each block costs a call from Python."""

_LEAST_ROWS = 512
"""Of a block: with fewer, matrix products spend their time on rearranging."""


def available_threads() -> int:
    """Return how many threads the matrix library may use now: limits set on it are ours too."""
    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max(pools, default=1)


@contextmanager
def crew(threads: int | None = None) -> Iterator[Crew]:
    """Yield a ``map`` over that many threads, holding the matrix library to one meanwhile.

    >>> with crew(2) as each:
    ...     list(each(abs, [-1, -2]))
    [1, 2]
    """
    if threads is None:
        threads = available_threads()
    threads = arguments.whole("threads", threads, remedy="pass the number of threads to use")
    with threadpool_limits(1, user_api="blas"):
        if threads == 1:
            yield Crew(1, None)
            return
        with ThreadPoolExecutor(threads - 1) as pool:
            yield Crew(threads, pool)


@dataclass(frozen=True)
class Crew:
    """Some threads: that which asks for work, and those of a pool."""

    size: int
    pool: ThreadPoolExecutor | None

    def __call__(self, work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Do the work in equal parts, one of them here: handing over costs time, so it is done once."""
        items = list(items)
        own, *rest = shares(len(items), self.size)
        others = [self.start(_do, work, items[part]) for part in rest]
        answers = _do(work, items[own])
        for other in others:
            answers += other.result()
        return answers

    def start(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have a thread of the pool begin to work."""
        assert self.pool is not None  # who is alone has nobody to ask
        return self.pool.submit(work, *arguments)


def in_turn(
    work: Callable[[Any], Any], items: Iterable[Any], threads: int | None = None
) -> list[Any]:
    """Do long pieces of work, each thread taking the next when it is free, and return their answers.

    An error or Ctrl-C drops those not begun.

    >>> in_turn(abs, [-1, -2])
    [1, 2]
    """
    pool = ThreadPoolExecutor(threads or available_threads())
    with threadpool_limits(1, user_api="blas"), pool:
        return list(pool.map(work, items))


def shares(items: int, threads: int) -> list[slice]:
    """Cut items into equal parts, one for each thread that has any to do; there is always one."""
    parts = max(1, min(threads, items))
    edges = [items * part // parts for part in range(parts + 1)]
    return [slice(low, high) for low, high in pairwise(edges)]


def _do(work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    return [work(item) for item in items]


def blocks(rows: int) -> Sequence[slice]:
    """Cut rows into a power of two of nearly equal blocks, few enough that each is worth a call."""
    count = 1
    while count < _MOST_BLOCKS and rows >= 2 * count * _LEAST_ROWS:
        count *= 2
    edges = [rows * part // count for part in range(count + 1)]
    return [slice(low, high) for low, high in pairwise(edges)]
