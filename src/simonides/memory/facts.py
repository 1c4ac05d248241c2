"""Facts as arrays: inputs, the distinct outputs, and which output belongs to each input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.failures import BadArgumentError
from simonides.memory.equal_outputs import refuse_twins
from simonides.problems import checked
from simonides.problems.contradictions import row_digest
from simonides.problems.original import OriginalProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Integers, Reals

_ONE_D = "pass the target embedding of each row, or outputs= and targets="


@dataclass(frozen=True, eq=False)
class Facts:
    """Inputs (facts, dim_in), outputs (candidates, dim_out) and the target of each input.

    Inputs are kept as they came, so that a memory-mapped file stays one.
    """

    inputs: Reals
    outputs: Reals
    targets: Integers

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
        """Return facts from the ways to name them: y alone, or outputs with targets (or y) as numbers.

        Outputs that score the same are refused, once they are of unit length if they are to ``normalize``.
        """
        if outputs is None:
            if targets is not None:
                raise arguments.refuse(
                    "outputs", None, "given with targets", "pass the vectors that targets number"
                )
            kept, numbers, rows = _distinct_targets(y, len(inputs))
        else:
            if (y is None) == (targets is None):
                raise arguments.refuse(
                    "targets", targets, "given once with outputs", "pass targets= and leave out y"
                )
            kept = checked.matrix("outputs", outputs)
            rows = np.arange(len(kept))
            name, given = ("y", y) if targets is None else ("targets", targets)
            numbers = checked.indices(name, given, size=len(inputs), below=len(kept))
        if len(kept) < 2:
            raise arguments.refuse(
                "y",
                f"one distinct output, n_samples = {len(inputs)}",
                "two at least",
                "add a rival",
            )
        whose, remedy = "y", "make the two rows equal"
        if outputs is not None:
            whose, remedy = "outputs", "keep one of them and let targets share it"
        found = cls(inputs, kept, numbers)
        found.refuse_twins(normalize, lambda place: f"{whose}[{rows[place]}]", remedy)
        return found

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
        """Refuse outputs that score the same, as they are scored; ``name`` is what a row is called."""
        directions = self.candidates(normalize=True) if normalize else None
        refuse_twins(self.outputs, directions, name, remedy)

    def problem(self, normalize: bool) -> OriginalProblem:
        """Return what is to be stored."""
        vectors = self.inputs, self.candidates(normalize)
        return OriginalProblem(*vectors) if self.paired else OriginalProblem(*vectors, self.targets)

    def where(self, kept: Any) -> Facts:
        """Return the facts that a mask or an index keeps; outputs keep their numbers."""
        return Facts(np.asarray(self.inputs)[kept], self.outputs, self.targets[kept])

    def numbers_of(self, y: object) -> Integers:
        """Return the number of each row's output, -1 for one that is not among the outputs.

        y holds embeddings, or already the numbers.
        """
        return numbers_of(y, self.outputs)


def numbers_of(y: object, outputs: Reals) -> Integers:
    """Return which of the outputs each row of y is, -1 for none; numbers stay as they are."""
    array = checked.array_of("y", y)
    if array.ndim == 1:
        return checked.indices("y", array, size=len(array), below=len(outputs))
    rows = checked.matrix("y", array, columns=outputs.shape[1])
    places = {row_digest(row): place for place, row in enumerate(outputs)}
    return np.array([places.get(row_digest(row), -1) for row in rows], dtype=np.int64)


def unit_rows(rows: Reals) -> Reals:
    """Return the rows scaled to unit length; zero rows stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def _distinct_targets(y: object, facts: int) -> tuple[Reals, Integers, Integers]:
    """Return the distinct rows of y in order of appearance, which of them each row is, and their places."""
    if y is None:
        raise BadArgumentError(
            f"AssociativeMemory requires y to be passed, but the target y is None: {_ONE_D}"
        )
    array = _numbers(y)
    if array.ndim != 2:
        raise arguments.refuse("y.shape", array.shape, "two-dimensional", _ONE_D)
    rows = checked.matrix("y", array)
    if len(rows) != facts:
        raise arguments.refuse("y.shape", rows.shape, f"with {facts} rows", "one per row of X")
    places: dict[bytes, int] = {}
    numbers = np.array(
        [places.setdefault(row_digest(row), len(places)) for row in rows], dtype=np.int64
    )
    _, first = np.unique(numbers, return_index=True)
    kept = rows[first]
    kept.flags.writeable = False
    return kept, numbers, first


def _numbers(y: Any) -> Any:
    """Return y as an array that is not one of objects."""
    array = checked.array_of("y", y)
    if array.dtype.kind == "O":
        raise arguments.refuse(
            "y", array.dtype, "an array of real numbers", "Unknown label type: convert it first"
        )
    return array
