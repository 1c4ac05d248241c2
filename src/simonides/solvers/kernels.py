"""Loops over active constraints, compiled once and cached on disk.

Each fact's rivals are rows of a table, each with a scale; a pair costs a few passes over vectors of
the output dimension. The kernels release the interpreter lock and use one thread: who calls them
decides about threads, so that they never fight with those of the matrix products.
"""

from __future__ import annotations

import numba

_jit = numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")


@_jit
def pull(values, targets, table, pointer, index, out):  # type: ignore[no-untyped-def]
    """Write, per fact, the sum over its pairs of value * (target - rival)."""
    width = out.shape[1]
    for fact in range(out.shape[0]):
        row, target = out[fact], targets[fact]
        row[:] = 0.0
        total = values[:1].sum() * 0
        for pair in range(pointer[fact], pointer[fact + 1]):
            value, rival = values[pair], table[index[pair]]
            total += value
            for k in range(width):
                row[k] -= value * rival[k]
        for k in range(width):
            row[k] += total * target[k]


@_jit
def curve(images, targets, table, pointer, index, scales, out):  # type: ignore[no-untyped-def]
    """Write, per fact, the sum over its pairs of scale * gap * (target - rival).

    The gap is image . (target - rival): a Hessian's action.
    """
    width = out.shape[1]
    for fact in range(images.shape[0]):
        row, image, target = out[fact], images[fact], targets[fact]
        row[:] = 0.0
        own = _dot(image, target)
        total = own * 0
        for pair in range(pointer[fact], pointer[fact + 1]):
            rival = table[index[pair]]
            # Not np.dot, which would enter the matrix library and its threads for every pair.
            value = scales[pair] * (own - _dot(image, rival))
            total += value
            for k in range(width):
                row[k] -= value * rival[k]
        for k in range(width):
            row[k] += total * target[k]


@_jit
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = a[0] * b[0]
    for k in range(1, a.shape[0]):
        total += a[k] * b[k]
    return total
