"""Bells between threads of compiled code: a count in memory that one thread raises and another awaits.

Handing work to a sleeping thread through the interpreter takes about a tenth of a millisecond, a good part
of what a short piece of work takes. A thread that stays awake and watches a bell begins at once. A bell is
an array of one 64-bit integer.
"""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from simonides.compiled import kernel

_jit = kernel()

_PATIENCE = 2000
"""Looks at a bell before the processor is offered to others at every look."""

OVER = 2**62
"""Set to this, a bell says that it will not be rung again."""

FOREVER = 2**62
"""Looks that never end."""

A_WHILE = 100_000
"""Looks that end in a fraction of a second: compiled code does not see an interrupt."""

_ORDER = "seq_cst"
_ALIGNMENT = 8

_give_way = types.ExternalFunction(
    "SwitchToThread" if sys.platform == "win32" else "sched_yield", types.int32()
)


def _loading(_context: Any, address: Any) -> Any:
    def emit(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.load_atomic(pointer, _ORDER, _ALIGNMENT)

    return types.int64(address), emit


def _adding(_context: Any, address: Any, amount: Any) -> Any:
    def emit(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", pointer, arguments[1], _ORDER)

    return types.int64(address, amount), emit


# Not as decorators: these take one argument less than what they are made of.
_load: Any = intrinsic(_loading)
_add: Any = intrinsic(_adding)


@_jit
def ring(bell):  # type: ignore[no-untyped-def]
    """Ring a bell once more; who hears it also sees all that was written before."""
    _add(bell.ctypes.data, 1)


@_jit
def hear(bell, times, looks):  # type: ignore[no-untyped-def]
    """Wait until a bell has been rung so many times in all, for so many looks at most; return its count."""
    rung = _load(bell.ctypes.data)
    for look in range(looks):
        if rung >= times:
            break
        if look > _PATIENCE:
            _give_way()
        rung = _load(bell.ctypes.data)
    return rung
