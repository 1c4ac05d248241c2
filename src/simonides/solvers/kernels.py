"""Loops over active constraints, compiled once and cached on disk.

Each fact's rivals are rows of a table; a pair costs a few passes over vectors of the output
dimension. The kernels release the interpreter lock and use one thread: who calls them decides about
threads, so that they never fight with those of the matrix products.
"""

from __future__ import annotations

import numba

_jit = numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")


@_jit
def _dot(a, b):  # type: ignore[no-untyped-def]
    # Not np.dot, which would enter the matrix library and its threads for every pair.
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@_jit
def pair_gaps(images, targets, table, pointer, index, gaps):  # type: ignore[no-untyped-def]
    """Write each pair's lead of target over rival, image . (target - rival)."""
    for fact in range(images.shape[0]):
        if pointer[fact] == pointer[fact + 1]:
            continue
        image = images[fact]
        own = _dot(image, targets[fact])
        for pair in range(pointer[fact], pointer[fact + 1]):
            gaps[pair] = own - _dot(image, table[index[pair]])


@_jit
def pull(values, targets, table, pointer, index, out):  # type: ignore[no-untyped-def]
    """Write, per fact, the sum over its pairs of value * (target - rival)."""
    width = out.shape[1]
    for fact in range(out.shape[0]):
        row = out[fact]
        row[:] = 0.0
        total = 0.0
        for pair in range(pointer[fact], pointer[fact + 1]):
            value = values[pair]
            if value != 0.0:
                rival = table[index[pair]]
                total += value
                for k in range(width):
                    row[k] -= value * rival[k]
        if total != 0.0:
            target = targets[fact]
            for k in range(width):
                row[k] += total * target[k]


@_jit
def curve(images, targets, table, pointer, index, out):  # type: ignore[no-untyped-def]
    """Write, per fact, the sum over its pairs of gap * (target - rival): a Hessian's action."""
    width = out.shape[1]
    for fact in range(images.shape[0]):
        row = out[fact]
        row[:] = 0.0
        if pointer[fact] == pointer[fact + 1]:
            continue
        image, target = images[fact], targets[fact]
        own = _dot(image, target)
        total = 0.0
        for pair in range(pointer[fact], pointer[fact + 1]):
            rival = table[index[pair]]
            gap = own - _dot(image, rival)
            total += gap
            for k in range(width):
                row[k] -= gap * rival[k]
        for k in range(width):
            row[k] += total * target[k]
