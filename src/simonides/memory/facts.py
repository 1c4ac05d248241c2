"""Facts as arrays: inputs, the distinct outputs, and which output belongs to each input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from simonides import arguments
from simonides.failures import BadArgumentError
from simonides.memory.budget import is_mapped
from simonides.problems import checked
from simonides.problems.contradictions import clashing, empty, opposed, row_digest
from simonides.problems.original import OriginalProblem
from simonides.problems.scan import row_blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from simonides.arrays import Integers, Reals

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Facts:
    """Inputs (facts, dim_in), outputs (candidates, dim_out) and the target of each input.

    Inputs stay as they came, so that a memory-mapped file stays one. ``classes`` are the labels of the
    outputs: those given, or else their numbers; None where the outputs were found among repeated rows.
    """

    inputs: Reals
    outputs: Reals
    targets: Integers
    classes: NDArray[Any] | None = None

    @classmethod
    def read(
        cls,
        inputs: Reals,
        y: object,
        outputs: object,
        targets: object,
        *,
        normalize: bool = False,
    ) -> Facts:
        """Return facts from the ways to name them: y alone, or outputs with targets or labels in y.

        Outputs that score the same are refused, once they are of unit length if they are to ``normalize``.
        """
        if outputs is None:
            if targets is not None:
                raise arguments.refuse(
                    "outputs", None, "given with targets", "pass the vectors that targets number"
                )
            facts, rows = _with_distinct_outputs(inputs, y)
            name, remedy = "y", "make the two rows equal"
        else:
            if (y is None) == (targets is None):
                raise arguments.refuse(
                    "targets", targets, "given once with outputs", "pass targets= and leave out y"
                )
            vectors = checked.matrix("outputs", outputs)
            rows = classes = np.arange(len(vectors))
            y = None if y is None else _flat_labels(y)
            if y is not None and y.dtype.kind in "fUO":
                classes, numbers = _labelled(y, len(inputs))
                if len(classes) != len(vectors):
                    raise arguments.refuse(
                        "outputs.shape",
                        vectors.shape,
                        f"with {len(classes)} rows",
                        "one for each distinct label of y, in their sorted order",
                    )
            else:
                source, indices = ("y", y) if targets is None else ("targets", targets)
                numbers = checked.indices(source, indices, size=len(inputs), below=len(vectors))
            facts = cls(inputs, vectors, numbers, classes)
            name, remedy = "outputs", "keep one of them and let targets share it"
        if len(facts.outputs) < 2:
            raise arguments.refuse(
                "y",
                f"one distinct output, n_samples = {len(inputs)}",
                "two at least",
                "add a rival",
            )
        facts.refuse_twins(normalize, lambda place: f"{name}[{rows[place]}]", remedy)
        return facts

    @property
    def paired(self) -> bool:
        """Whether each input has an output of its own."""
        return len(self.outputs) == len(self.targets) and np.array_equal(
            self.targets, np.arange(len(self.targets))
        )

    def candidates(self, normalize: bool) -> Reals:
        """Return the outputs as they are scored: as given, or of unit length (zero ones stay zero)."""
        return unit_rows(self.outputs) if normalize else self.outputs

    def refuse_twins(self, normalize: bool, name: Callable[[int], str], remedy: str) -> None:
        """Refuse outputs that score the same for every input, so that neither is ever the best.

        ``name`` says what a row is called. Rows as given are taken at their word: those that differ in
        their last bit are two outputs, unless only directions are compared.
        """
        condition, pair = "another vector", equal_rows(self.outputs)
        if pair is None and normalize:
            condition = "in another direction, as outputs are normalized"
            rows = self.candidates(normalize=True)
            pair = opposed(rows, np.arange(len(rows)))  # any two of one direction
        if pair is not None:
            raise arguments.refuse(
                name(pair[1]),
                name(pair[0]),
                f"{condition}, since equal ones always score the same and neither is ever stored",
                remedy,
            )

    def problem(self, normalize: bool) -> OriginalProblem:
        """Return what is to be stored."""
        vectors = self.inputs, self.candidates(normalize)
        return OriginalProblem(*vectors) if self.paired else OriginalProblem(*vectors, self.targets)

    def where(self, rows: Any) -> Facts:
        """Return the facts of a mask or an index; outputs keep their numbers."""
        inputs = np.asarray(self.inputs)[rows]
        return replace(self, inputs=inputs, targets=self.targets[rows])

    def hopeless(self) -> tuple[list[tuple[int, int]], list[int], tuple[int, int] | None]:
        """Return pairs of equal inputs with different targets, rows of zeros, and two multiples."""
        if is_mapped(self.inputs):  # a large file is not passed over once more for this
            return [], [], None
        clashes = clashing(self.inputs, self.targets)
        pair = None if clashes else opposed(np.asarray(self.inputs, np.float64), self.targets)
        return clashes, empty(self.inputs), pair

    def with_added(
        self, inputs: Reals, y: object, targets: object, *, normalize: bool = False
    ) -> Facts:
        """Return these facts and further ones; outputs that are new get the next numbers.

        ``y`` holds the target embedding or the label of each new input; or ``targets`` the number of an
        output that is there. New outputs that score as another does are refused.
        """
        if (y is None) == (targets is None):
            raise arguments.refuse(
                "targets", targets, "given, or y, but not both", "pass one of the two"
            )
        outputs, classes = self.outputs, self.classes
        names = [f"outputs_[{place}]" for place in range(len(outputs))]
        if y is None:
            numbers = checked.indices("targets", targets, size=len(inputs), below=len(outputs))
        else:
            rows = checked.array_of("y", y)
            _refuse_other_length(rows, len(inputs))
            new = np.flatnonzero(numbers_of(rows, outputs, classes) < 0)
            if len(new) and (rows.ndim == 1 or not _is_numbered(classes, len(outputs))):
                raise arguments.refuse(
                    f"y[{new[0]}]",
                    rows[new[0]].tolist(),
                    "among classes_, or their outputs",
                    "fit again, with all labels",
                )
            if len(new):
                first = np.unique(numbers_of(rows[new], rows[new]), return_index=True)[1]
                new = new[np.sort(first)]
                outputs = np.concatenate((outputs, np.asarray(rows[new], dtype=np.float64)))
                classes = None if classes is None else np.arange(len(outputs))
                names += [f"y[{row}]" for row in new]
            numbers = numbers_of(rows, outputs, classes)
        facts = Facts(
            np.concatenate((self.inputs, inputs)),
            outputs,
            np.concatenate((self.targets, numbers)),
            classes,
        )
        facts.refuse_twins(normalize, names.__getitem__, "make the two rows equal")
        return facts

    def without(self, indices: object) -> tuple[Facts, Reals]:
        """Return the facts but those at ``indices``, and the inputs of these; outputs stay numbered."""
        array = np.atleast_1d(checked.array_of("indices", indices))
        if array.ndim != 1:
            raise arguments.refuse(
                "indices.shape", array.shape, "one-dimensional", "pass row numbers of facts"
            )
        gone = checked.indices(
            "indices", array, size=array.size, below=len(self.targets), numbered="a fact"
        )
        staying = np.ones(len(self.targets), dtype=bool)
        staying[gone] = False
        if not staying.any():
            raise arguments.refuse(
                "indices", f"all {staying.size} facts", "fewer", "keep one at least"
            )
        return self.where(staying), np.asarray(self.inputs[np.unique(gone)], dtype=np.float64)


def cleared(weights: Reals, forgotten: Reals) -> Reals | None:
    """Return the weights that map the forgotten inputs to zero and change as little as that takes.

    Starting from weights that still recall them would end at once with these very weights, and nothing
    would be forgotten. None if the forgotten inputs span all directions, so that nothing is left.
    """
    _, sizes, directions = np.linalg.svd(forgotten, full_matrices=False)
    spanned = directions[sizes > sizes.max(initial=0.0) * max(forgotten.shape) * _EPS]
    if len(spanned) == weights.shape[1]:
        return None
    return np.asarray(weights - (weights @ spanned.T) @ spanned)


def checked_inputs(X: Any, estimator: Any, *, to_store: bool) -> Any:
    """Return inputs as a matrix of finite numbers; single precision and files stay as they are.

    Where memory is limited, so do numbers of any other kind: who reads them converts a block at a time.
    Those to be stored must also have sizes that solvers can calculate with.
    """
    checked.refuse_hidden("X", X)
    # Double precision holds numbers of these kinds.
    real = isinstance(X, np.ndarray) and X.dtype.kind in "fiu" and X.dtype.itemsize <= 8
    uncopied = real and (is_mapped(X) or estimator.max_memory is not None)
    try:
        rows = check_array(
            X,
            dtype=None if uncopied else "numeric",
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
    given = np.asarray(X)
    if given.dtype.kind == "O":  # whole numbers beyond 64 bits, too
        rows = rows.astype(np.float64)
    else:
        given = rows
    for block in row_blocks(len(rows), rows.itemsize * rows.shape[1]):
        checked.refuse_not_finite("X", rows[block], first=block.start)
        checked.refuse_rounded("X", given[block], first=block.start)
        if to_store:
            checked.refuse_odd_sizes("X", rows[block], first=block.start)
    kept = uncopied or rows.dtype in (np.float32, np.float64)
    return rows if kept else rows.astype(np.float64)


def numbers_of(y: object, outputs: Reals, classes: NDArray[Any] | None = None) -> Integers:
    """Return which of the outputs each row of y, an embedding or a label, is; -1 for none."""
    labelled = classes is not None and outputs.shape[1] > 1
    array = _flat_labels(y) if labelled else checked.array_of("y", y)
    if array.ndim == 1 and classes is not None:
        labels = {label: place for place, label in enumerate(classes.tolist())}
        numbers = np.array([labels.get(label, -1) for label in array.tolist()], dtype=np.int64)
        if len(numbers) and numbers.max() < 0:
            raise arguments.refuse("y[0]", array[0], "in classes_", "pass labels as in fit")
        return numbers
    if array.ndim == 1:
        raise arguments.refuse(
            "y.shape",
            array.shape,
            "that of embeddings, as fit was given",
            "the numbers of outputs_ are not yours; fit with labels, or with outputs= and targets=",
        )
    rows = checked.matrix("y", array, columns=outputs.shape[1])
    places = {row_digest(row): place for place, row in enumerate(outputs)}
    return np.array([places.get(row_digest(row), -1) for row in rows], dtype=np.int64)


def unit_rows(rows: Reals) -> Reals:
    """Return the rows scaled to unit length; zero rows stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def equal_rows(rows: Reals) -> tuple[int, int] | None:
    """Return two rows that are equal, the earlier first, or None."""
    places: dict[bytes, int] = {}
    for place, row in enumerate(rows):
        first = places.setdefault(row_digest(row), place)
        if first != place:
            return first, place
    return None


def _with_distinct_outputs(inputs: Reals, y: object) -> tuple[Facts, Integers]:
    """Return facts whose outputs are the distinct rows of y, and which rows these are."""
    remedy = "pass the target embedding of each row, or outputs= and targets="
    if y is None:
        raise BadArgumentError(
            f"AssociativeMemory requires y to be passed, but the target y is None: {remedy}"
        )
    array = _flat_labels(y)
    _refuse_other_length(array, len(inputs))
    if array.ndim == 1:
        classes, labelled = _labelled(array, len(inputs))
        one_hot = checked.matrix("y", np.eye(len(classes)))
        return Facts(inputs, one_hot, labelled, classes), np.unique(labelled, return_index=True)[1]
    if array.dtype.kind == "O":
        raise arguments.refuse(
            "y", array.dtype, "an array of real numbers", "Unknown label type: convert it first"
        )
    if array.ndim != 2:
        raise arguments.refuse("y.shape", array.shape, "two-dimensional", remedy)
    rows = checked.matrix("y", array)
    places: dict[bytes, int] = {}
    numbers = np.array(
        [places.setdefault(row_digest(row), len(places)) for row in rows], dtype=np.int64
    )
    _, first = np.unique(numbers, return_index=True)
    outputs = rows[first]
    outputs.flags.writeable = False
    numbered = np.arange(len(rows)) if len(outputs) == len(rows) else None
    return Facts(inputs, outputs, numbers, numbered), first


def _flat_labels(y: object) -> NDArray[Any]:
    """Return y as an array; a column of whole numbers or words is one of labels, as in scikit-learn."""
    array = checked.array_of("y", y)
    column = array.ndim == 2 and array.shape[1] == 1 and array.dtype.kind in "biuUO"
    return np.asarray(column_or_1d(array, warn=True)) if column else array


def _labelled(y: object, size: int) -> tuple[NDArray[Any], Integers]:
    """Return the distinct labels in order, and the place among them of each row's."""
    array = checked.array_of("y", y)
    _refuse_other_length(array, size)
    try:
        check_classification_targets(array)
        classes, numbers = np.unique(array, return_inverse=True)
    except ValueError as error:
        reason = str(error).split(".")[0]
        raise BadArgumentError(
            f"y must be labels, or a target embedding for each row of X: {reason}"
        ) from None
    except TypeError as error:  # None or NaN among words
        raise BadArgumentError(
            f"y must be labels of one kind, none of them missing: {error}; drop those rows"
        ) from None
    return classes, numbers.astype(np.int64)


def _refuse_other_length(y: NDArray[Any], rows: int) -> None:
    if y.ndim and len(y) != rows:
        raise arguments.refuse("y.shape", y.shape, f"with {rows} rows", "one per row of X")


def _is_numbered(classes: NDArray[Any] | None, outputs: int) -> bool:
    """Return whether labels are numbers of outputs, so that new outputs have one."""
    return classes is None or np.array_equal(classes, np.arange(outputs))
