"""Recall: what a fitted linear map makes of inputs, as scikit-learn's estimators answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from simonides import arguments
from simonides.memory.facts import checked_inputs, numbers_of, unit_rows
from simonides.memory.scoring import Scorer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simonides.arrays import Integers, Reals


class LinearRecall(BaseEstimator):  # type: ignore[misc]
    """Whoever has ``weights_`` (and ``factors_``) and ``outputs_`` recalls an output for an input."""

    normalize_outputs: bool
    max_memory: int | None
    weights_: Reals
    factors_: tuple[Reals, Reals] | None
    outputs_: Reals
    classes_: NDArray[Any] | None

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of the output recalled for each input, or its number: a row of ``outputs_``.

        Parameters
        ----------
        X : array (inputs, dim_in)
            An input a row.

        Returns
        -------
        array (inputs,)
            Labels, as :meth:`fit` was given them; or else numbers of outputs.

        Raises
        ------
        NotFittedError
            Before any fit, as all methods below do.
        """
        check_is_fitted(self)
        return self._labels(self._scorer().best(self._inputs(X)))

    def predict_topk(self, X: Any, k: int = 5) -> NDArray[Any]:
        """Return labels or numbers of the ``k`` outputs that score highest, best first: (inputs, k).

        Raises
        ------
        BadArgumentError
            If there are fewer outputs.
        """
        check_is_fitted(self)
        k = arguments.whole("k", k, remedy="pass how many outputs to list")
        if k > len(self.outputs_):
            raise arguments.refuse("k", k, f"at most {len(self.outputs_)}", "there are no more")
        return self._labels(self._scorer().top(self._inputs(X), k))

    def decision_function(self, X: Any) -> Reals:
        """Return the score of every output for every input, shape (inputs, outputs).

        Raises
        ------
        BadArgumentError
            If they take more than ``max_memory``.
        """
        check_is_fitted(self)
        inputs = self._inputs(X)
        needed = 8 * len(inputs) * len(self.outputs_)
        if self.max_memory is not None and needed > self.max_memory:
            raise arguments.refuse(
                "max_memory",
                self.max_memory,
                f"at least {needed} bytes for all scores at once",
                "use predict or predict_topk, which go block by block",
            )
        return self._scorer().scores(np.asarray(inputs, dtype=np.float64))

    def score(self, X: Any, y: Any) -> float:
        """Return the fraction of inputs whose output is recalled.

        Parameters
        ----------
        X : array (inputs, dim_in)
            An input a row.
        y : array (inputs, dim_out), or (inputs,)
            Embeddings, or labels: those of ``classes_``. Others are never recalled. Numbers of outputs
            that :meth:`fit` found among repeated rows are refused: their order is not yours.

        Returns
        -------
        float
            From 0 to 1.
        """
        check_is_fitted(self)
        recalled = self._scorer().best(self._inputs(X))
        wanted = numbers_of(y, self.outputs_, self.classes_)
        if len(wanted) != len(recalled):
            raise arguments.refuse(
                "y.shape", np.shape(y), f"with {len(recalled)} rows", "one per row of X"
            )
        return float(np.mean(recalled == wanted))

    def _inputs(self, X: Any, *, to_store: bool = False) -> Any:
        """Return checked inputs, in the dimension and under the names that were fitted."""
        inputs = checked_inputs(X, self, to_store=to_store)
        validate_data(self, X, skip_check_array=True, reset=False)
        return inputs

    def _labels(self, numbers: Integers) -> NDArray[Any]:
        return numbers if self.classes_ is None else self.classes_[numbers]

    def _scorer(self) -> Scorer:
        outputs = unit_rows(self.outputs_) if self.normalize_outputs else self.outputs_
        return Scorer(self.weights_, self.factors_, outputs)
