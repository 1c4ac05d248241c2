"""Loops over the constraints of each fact: blocks of a Gram matrix, factored and solved one by one."""

from __future__ import annotations

import numpy as np

from simonides.compiled import kernel

_jit = kernel(error_model="numpy")


@_jit
def factor_blocks(targets, table, pointer, index, spans, squares, shift, places, factors):  # type: ignore[no-untyped-def]
    """Write the Cholesky factor of each fact's Gram matrix of constraints, plus ``shift`` on its diagonal.

    The constraints of a fact are (target - rival) / span times its input, whose square length ``squares``
    holds. The factor of a fact with n pairs is n x n, row after row from ``places`` on; its upper half is
    not used.
    """
    width = targets.shape[1]
    for fact in range(len(pointer) - 1):
        first, count = pointer[fact], pointer[fact + 1] - pointer[fact]
        block = factors[places[fact] : places[fact] + count * count].reshape((count, count))
        rows = np.empty((count, width))
        for i in range(count):
            rival, span = table[index[first + i]], spans[first + i]
            for k in range(width):
                rows[i, k] = (targets[fact, k] - rival[k]) / span
        for i in range(count):
            for j in range(i + 1):
                product = 0.0
                for k in range(width):
                    product += rows[i, k] * rows[j, k]
                block[i, j] = product * squares[fact]
            block[i, i] += shift
        for i in range(count):
            for j in range(i + 1):
                left = block[i, j]
                for k in range(j):
                    left -= block[i, k] * block[j, k]
                block[i, j] = np.sqrt(left) if i == j else left / block[j, j]


@_jit
def solve_blocks(pointer, places, factors, columns):  # type: ignore[no-untyped-def]
    """Solve each fact's equations in place, for several right sides: one row of ``columns`` per pair."""
    width = columns.shape[1]
    for fact in range(len(pointer) - 1):
        first, count = pointer[fact], pointer[fact + 1] - pointer[fact]
        block = factors[places[fact] : places[fact] + count * count].reshape((count, count))
        rows = columns[first : first + count]
        for i in range(count):
            for j in range(i):
                for k in range(width):
                    rows[i, k] -= block[i, j] * rows[j, k]
            for k in range(width):
                rows[i, k] /= block[i, i]
        for i in range(count - 1, -1, -1):
            for j in range(i + 1, count):
                for k in range(width):
                    rows[i, k] -= block[j, i] * rows[j, k]
            for k in range(width):
                rows[i, k] /= block[i, i]
