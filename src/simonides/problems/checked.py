"""Checks of arrays: finite numbers in two dimensions, kept as they must not change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals
    from simonides.problems.problem import Problem

_SHORTEST, _LONGEST = 1e-70, 1e70


def matrix(name: str, value: object, *, columns: int | None = None, each_row: bool = True) -> Reals:
    """Return ``value`` as a read-only C-ordered float64 matrix with at least one row and column.

    Its size is that of each row, or else of the whole.
    """
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        raise arguments.refuse(name, type(value), "rows of equal length", "pad them") from None
    if array.dtype.kind not in "fiu":
        raise arguments.refuse(name, array.dtype, "an array of real numbers", "convert it first")
    if array.ndim != 2 or 0 in array.shape:
        raise arguments.refuse(
            f"{name}.shape", array.shape, "two positive numbers", "one row per vector"
        )
    if columns is not None and array.shape[1] != columns:
        raise arguments.refuse(
            f"{name}.shape", array.shape, f"with {columns} columns", "the dimensions must agree"
        )
    kept = np.array(array, dtype=np.float64, order="C")
    if not np.isfinite(kept).all():
        row = int(np.flatnonzero(~np.isfinite(kept).all(axis=1))[0])
        raise arguments.refuse(f"{name}[{row}]", kept[row].tolist()[:4], "finite", "clean the data")
    # Squares and products of lengths in this range neither overflow nor underflow.
    lengths = np.abs(kept).max(axis=1) if each_row else np.abs(kept).max(keepdims=True)[0]
    odd = np.flatnonzero((lengths > _LONGEST) | ((lengths < _SHORTEST) & (lengths > 0)))
    if odd.size:
        row = int(odd[0])
        condition = f"zero, or of a size from {_SHORTEST:g} to {_LONGEST:g}"
        named = f"{name}[{row}]" if each_row else name
        raise arguments.refuse(named, float(lengths[row]), condition, "rescale it")
    kept.flags.writeable = False
    return kept


def indices(name: str, value: object, *, size: int, below: int) -> Integers:
    """Return ``value`` as a read-only vector of ``size`` indices in [0, ``below``)."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise arguments.refuse(name, array.dtype, "an array of integers", "pass row numbers")
    if array.shape != (size,):
        raise arguments.refuse(f"{name}.shape", array.shape, f"({size},)", "one per input")
    outside = np.flatnonzero((array < 0) | (array >= below))
    if outside.size:
        row = int(outside[0])
        raise arguments.refuse(
            f"{name}[{row}]", int(array[row]), f"from 0 to {below - 1}", "it numbers an output"
        )
    kept = array.astype(np.int64)
    kept.flags.writeable = False
    return kept


def weights(name: str, value: object, problem: Problem) -> Reals:
    """Return ``value`` as weights of the problem's shape."""
    # Only their direction counts, in which a row may be as short as it likes.
    kept = matrix(name, value, columns=problem.dim_in, each_row=False)
    if len(kept) != problem.dim_out:
        raise arguments.refuse(
            f"{name}.shape", kept.shape, f"with {problem.dim_out} rows", "dim_out x dim_in"
        )
    return kept


def rank(value: object, problem: Problem) -> int:
    """Return ``value`` as the rank of a matrix of the problem's shape."""
    return rank_of_shape(value, problem.dim_in, problem.dim_out)


def rank_of_shape(value: object, dim_in: int, dim_out: int) -> int:
    """Return ``value`` as the rank of a matrix of that shape."""
    kept = arguments.whole("rank", value, remedy="pass the inner dimension of the two factors")
    most = min(dim_in, dim_out)
    if kept > most:
        raise arguments.refuse("rank", kept, f"at most {most}", "no matrix has a higher one")
    return kept
