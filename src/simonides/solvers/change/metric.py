"""The metric that weighs a change, and coordinates in which it is the identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from simonides import arguments
from simonides.problems import checked

if TYPE_CHECKING:
    from simonides.arrays import Reals


@dataclass(frozen=True, eq=False)
class Metric:
    """The metric and its Cholesky factor; both None for the identity."""

    matrix: Reals | None = None
    root: Reals | None = None

    @classmethod
    def of(cls, metric: Any, dim: int) -> Metric:
        """Return what weighs the change of inputs of a dimension, checked."""
        if metric is None:
            return cls()
        matrix = checked.matrix("metric", metric, columns=dim)
        if len(matrix) != dim or not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
            condition = f"symmetric, {dim} by {dim}"
            raise arguments.refuse("metric", f"of shape {matrix.shape}", condition, "pass C")
        matrix = (matrix + matrix.T) / 2
        try:
            return cls(matrix, np.asarray(cholesky(matrix, lower=True)))
        except np.linalg.LinAlgError:
            least = float(np.linalg.eigvalsh(matrix)[0])
            remedy = "add a small multiple of the identity"
            raise arguments.refuse(
                "smallest eigenvalue of metric", least, "positive", remedy
            ) from None

    def whitened(self, inputs: Reals) -> Reals:
        """Return inputs in coordinates where the metric is the identity."""
        if self.root is None:
            return inputs
        return np.asarray(solve_triangular(self.root, inputs.T, lower=True).T)

    def back(self, change: Reals) -> Reals:
        """Return the change that acts on the inputs as they are as this one on whitened ones."""
        if self.root is None:
            return change
        back = solve_triangular(self.root, change.T, lower=True, trans="T").T
        return np.ascontiguousarray(back)
