"""Checks of arrays: finite numbers in two dimensions, kept as they must not change."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simonides import arguments
from simonides.arrays import Integers, Reals
from simonides.problems.problem import Problem

SHORTEST, LONGEST = 1e-70, 1e70
"""Products of four such lengths, as in the square of a score, are numbers of double precision."""

_EXACT = 2**53
"""Up to here double precision holds every whole number; beyond, neighbours become one."""


def matrix(name: str, value: object, *, columns: int | None = None, each_row: bool = True) -> Reals:
    """Return ``value`` as a read-only C-ordered float64 matrix with at least one row and column.

    Its size is that of each row, or else of the whole.
    """
    array = array_of(name, value)
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
    refuse_not_finite(name, kept)
    refuse_rounded(name, array)
    if each_row:
        refuse_odd_sizes(name, kept)
    else:
        _refuse_odd(name, _largest(kept).max(keepdims=True), None)
    kept.flags.writeable = False
    return kept


def array_of(name: str, value: object) -> NDArray[Any]:
    """Return ``value`` as an array."""
    refuse_hidden(name, value)
    try:
        return np.asarray(value)
    except ValueError:  # rows of different lengths
        raise arguments.refuse(name, type(value), "rows of equal length", "pad them") from None


def refuse_hidden(name: str, value: Any) -> None:
    """Refuse a masked array that hides entries: as an array it would show them."""
    parts = value if isinstance(value, list | tuple) else [value]
    masks = [np.ma.getmask(part) for part in parts if isinstance(part, np.ma.MaskedArray)]
    hidden = sum(int(np.count_nonzero(mask)) for mask in masks)
    if hidden:
        raise arguments.refuse(
            f"masked entries of {name}", hidden, "none", "fill them or drop their rows"
        )


def refuse_not_finite(name: str, rows: Reals, *, first: int = 0) -> None:
    """Refuse rows, counted from ``first``, that hold NaN or infinity."""
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = (int(place) for place in np.argwhere(~finite)[0])
        raise arguments.refuse(
            f"{name}[{first + row}, {column}]",
            float(rows[row, column]),
            "finite, not NaN or infinite",
            "clean the data",
        )


def refuse_rounded(name: str, rows: NDArray[Any], *, first: int = 0) -> None:
    """Refuse finite numbers, in rows counted from ``first``, that double precision would round."""
    kind = rows.dtype.kind
    if rows.dtype.itemsize < 8 or rows.dtype == np.float64:
        return
    if kind == "O":  # of decimal numbers, fractions and text, the nearest number is meant
        rounded = np.vectorize(_is_beyond, otypes=[bool])(rows)
    else:
        rounded = _is_beyond(rows) if kind in "iu" else rows != rows.astype(np.float64)
    if rounded.any():
        row, column = (int(place) for place in np.argwhere(rounded)[0])
        raise arguments.refuse(
            f"{name}[{first + row}, {column}]",
            rows[row : row + 1, column].tolist()[0],
            "a number that double precision holds",
            "rounding could make two of them one: shift or scale them, and convert to float64",
        )


def _is_beyond(number: Any) -> Any:
    """Return whether this is a whole number, or which of an array are, that double precision may round."""
    if not isinstance(number, np.ndarray | np.integer | int):
        return False
    return (number > _EXACT) | (number < -_EXACT)


def refuse_odd_sizes(name: str, rows: Reals, *, first: int = 0) -> None:
    """Refuse rows, counted from ``first``, too long or too short to calculate with."""
    _refuse_odd(name, _largest(rows), first)


def _largest(rows: Reals) -> Reals:
    """Return the largest entry of each row in size, without a copy of them all."""
    ends = (rows.max(axis=1), rows.min(axis=1))
    high, low = (end.astype(np.float64) for end in ends)
    return np.asarray(np.maximum(high, -low))


def _refuse_odd(name: str, lengths: Reals, first: int | None) -> None:
    # Squares and products of lengths in this range neither overflow nor underflow.
    odd = np.flatnonzero((lengths > LONGEST) | ((lengths < SHORTEST) & (lengths > 0)))
    if odd.size:
        row = int(odd[0])
        condition = f"zero, or of a size from {SHORTEST:g} to {LONGEST:g}"
        named = name if first is None else f"{name}[{first + row}]"
        raise arguments.refuse(named, float(lengths[row]), condition, "rescale it")


def indices(
    name: str, value: object, *, size: int, below: int, numbered: str = "an output"
) -> Integers:
    """Return ``value`` as a read-only vector of ``size`` indices in [0, ``below``)."""
    array = array_of(name, value)
    if array.shape != (size,):
        raise arguments.refuse(f"{name}.shape", array.shape, f"({size},)", "one per input")
    if size and array.dtype.kind not in "iu":  # an empty list is one of floats
        raise arguments.refuse(name, array.dtype, "an array of integers", "pass row numbers")
    outside = np.flatnonzero((array < 0) | (array >= below))
    if outside.size:
        row = int(outside[0])
        raise arguments.refuse(
            f"{name}[{row}]", int(array[row]), f"from 0 to {below - 1}", f"it numbers {numbered}"
        )
    kept = array.astype(np.int64)
    kept.flags.writeable = False
    return kept


def sizes(facts: object, dim_in: object, dim_out: object, candidates: object) -> dict[str, int]:
    """Return the sizes of a problem; left out, outputs are as long as inputs and as many as facts."""
    dim_in = arguments.whole("dim_in", dim_in, remedy="pass the input dimension")
    dim_out = dim_in if dim_out is None else dim_out
    facts = arguments.whole("facts", facts, remedy="pass the number of facts")
    return {
        "facts": facts,
        "dim_in": dim_in,
        "dim_out": arguments.whole("dim_out", dim_out, remedy="pass the output dimension"),
        "candidates": arguments.candidates(max(facts, 2) if candidates is None else candidates),
    }


def truth(name: str, value: object) -> bool:
    """Return ``value`` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise arguments.refuse(name, value, "true or false", "choose one")
    return bool(value)


def problem(value: object) -> None:
    """Refuse what is no problem: even the facts that a rule streams can do these two."""
    remedy = "pass a problem such as OriginalProblem(inputs, outputs)"
    arguments.able("problem", value, ("images", "recall"), remedy)


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
