"""Inputs as callers pass them: checked block by block, so that a file larger than memory stays one."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from simonides.failures import BadArgumentError
from simonides.memory.budget import is_mapped
from simonides.problems import checked
from simonides.problems.scan import row_blocks


def checked_inputs(X: Any, estimator: Any, *, to_store: bool) -> Any:
    """Return inputs as a matrix of finite numbers; single precision and files stay as they are.

    Where memory is limited, so do numbers of any other kind: who reads them converts a block at a time.
    Those to be stored must also have sizes that solvers can calculate with.
    """
    checked.refuse_hidden("X", X)
    uncopied = _is_real(X) and (is_mapped(X) or estimator.max_memory is not None)
    try:
        rows = check_array(
            X,
            dtype=None if uncopied else [np.float64, np.float32],
            order=None if uncopied else "C",
            ensure_all_finite=False,  # below: scikit-learn would not say where
            estimator=estimator,
            input_name="X",
        )
    except ValueError as error:  # which does not say whose array it is
        # Lines in between, or after the first, may be the whole array.
        first, *rest = str(error).splitlines()
        remedy = [line for line in rest[-1:] if line.startswith("Reshape")]
        reason = ". ".join([first.rstrip(":"), *remedy])
        raise BadArgumentError(
            f"X must be a matrix of numbers, a row for each input: {reason}"
        ) from None
    for some in row_blocks(len(rows), rows.itemsize * rows.shape[1]):
        checked.refuse_not_finite("X", rows[some], first=some.start)
        if to_store:
            checked.refuse_odd_sizes("X", rows[some], first=some.start)
    return rows


def _is_real(X: Any) -> bool:
    """Whether this is an array of numbers that double precision can hold."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "fiu" and X.dtype.itemsize <= 8
