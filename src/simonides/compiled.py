"""Compiled kernels: one decorator for all, and Ctrl-C that waits while the compiler is at work.

An interrupt in the middle of loading or compiling would leave the compiler half imported, so that nothing
could be computed any more: neither the answer nor the best so far.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core import event

from simonides.interrupts import HOLD


class _Compiling(event.Listener):
    """Told when this process takes the compiler's lock, and when it gives it back."""

    def on_start(self, _event: event.Event) -> None:
        HOLD.begin()

    def on_end(self, _event: event.Event) -> None:
        HOLD.end()


event.register("numba:compiler_lock", _Compiling())  # type: ignore[no-untyped-call]


def kernel(**options: Any) -> Any:
    """Return the decorator of a kernel: compiled when first called, cached on disk.

    It releases the interpreter lock and uses one thread: who calls it decides about threads, so that
    they never fight with those of the matrix products.
    """
    return numba.njit(cache=True, nogil=True, **options)
