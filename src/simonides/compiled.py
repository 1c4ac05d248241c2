"""Compiled kernels: one decorator for all, and Ctrl-C that waits while the compiler is at work.

An interrupt in the middle of loading or compiling would leave the compiler half imported, so that nothing
could be computed any more: neither the answer nor the best so far.
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile

from simonides.interrupts import HOLD

_DIGEST = hashlib.sha256().digest_size

_SAID: set[str] = set()
"""Faults of the cache that this process has told of."""


class _Compiling(event.Listener):
    """Told when this process takes the compiler's lock, and when it gives it back."""

    def on_start(self, _event: event.Event) -> None:
        HOLD.begin()

    def on_end(self, _event: event.Event) -> None:
        HOLD.end()


event.register("numba:compiler_lock", _Compiling())


class _Files(IndexDataCacheFile):
    """Kernels on disk, each file behind its digest: what was damaged is compiled again, and said.

    Without it an emptied file fails every call, and a flipped bit of machine code runs.
    """

    def _load_index(self) -> dict[Any, str]:
        version, stamp, names = self._read(self._index_path) or (None, None, {})
        return names if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, names: dict[Any, str]) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, names))

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, code: Any) -> None:
        self._write(self._data_path(name), code)

    def _read(self, path: str) -> Any:
        try:
            content = Path(path).read_bytes()
        except FileNotFoundError:
            return None
        digest, pickled = content[:_DIGEST], content[_DIGEST:]
        if hashlib.sha256(pickled).digest() == digest:
            return pickle.loads(pickled)
        if not content.startswith(
            pickle.PROTO
        ):  # as the compiler by itself writes it, without a digest
            _say("damaged", f"compiled code such as {path} was damaged: compiled again")
        return None

    def _write(self, path: str, content: Any) -> None:
        pickled = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(pickled).digest() + pickled)


class _Cache(FunctionCache):
    """The compiler's cache, which a disk that cannot be written makes slower but not useless."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file.__class__ = _Files

    def load_overload(self, signature: Any, target: Any) -> Any:
        with self._unless_the_disk_fails():
            return super().load_overload(signature, target)

    def save_overload(self, signature: Any, code: Any) -> None:
        with self._unless_the_disk_fails():
            super().save_overload(signature, code)

    @contextmanager
    def _unless_the_disk_fails(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.disable()
            _say("unkept", f"compiled code cannot be kept, and is compiled anew each time: {error}")


def _say(fault: str, note: str) -> None:
    """Warn once of each fault: a cache has a file or two for every kernel."""
    if fault not in _SAID:
        _SAID.add(fault)
        warnings.warn(note, RuntimeWarning, stacklevel=2)


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return the decorator of a kernel: compiled when first called, cached on disk.

    It releases the interpreter lock and uses one thread: who calls it decides about threads, so that
    they never fight with those of the matrix products.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(nogil=True, **options)(function)
        try:
            dispatcher._cache = _Cache(function)
        except RuntimeError:  # neither the package's own folder nor the user's can be written to
            _say(
                "homeless",
                "no folder to keep compiled code in, so that it is compiled anew each time: "
                "name one in the variable NUMBA_CACHE_DIR",
            )
        return dispatcher

    return compiled
