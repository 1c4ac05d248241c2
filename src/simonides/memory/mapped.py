"""Facts whose inputs stay in their file, as the verifier of proofs asks for them: a block at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.problems import checked
from simonides.problems.original import original_fingerprint
from simonides.problems.scan import row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.arrays import Integers, Reals
    from simonides.memory.facts import Facts

_ARRAYS_PER_BLOCK = 4
"""A check holds so many arrays of a block's inputs, images and scores at once."""


@dataclass(frozen=True, eq=False)
class DoubleRows:
    """Rows of an array in any precision, read as double precision where they are asked for."""

    rows: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of all rows."""
        return (int(self.rows.shape[0]), int(self.rows.shape[1]))

    def __getitem__(self, some: slice) -> Reals:
        return checked.matrix("inputs", self.rows[some])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Reals:
        """Return all rows, in memory."""
        return np.array(self[:], dtype=dtype, copy=copy)


@dataclass(frozen=True, eq=False)
class TargetRows:
    """The right output of each input, gathered where it is asked for."""

    outputs: Reals
    targets: Integers

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of all rows."""
        return len(self.targets), int(self.outputs.shape[1])

    def __getitem__(self, some: slice) -> Reals:
        return self.outputs[self.targets[some]]


@dataclass(frozen=True, eq=False)
class MappedProblem:
    """The problem of facts that need not fit in memory, for ``simonides.verify``.

    It has the fingerprint of the :class:`~simonides.problems.original.OriginalProblem` of the same facts:
    a proof about one is a proof about the other. Weights are verified a block at a time. Multipliers pull
    at all facts together: to verify these, the inputs are read into memory.
    """

    inputs: Any
    outputs: Reals
    targets: Integers

    @classmethod
    def of(cls, facts: Facts, *, normalize: bool = False) -> MappedProblem:
        """Return the problem of the facts as they are scored."""
        return cls(DoubleRows(facts.inputs), facts.candidates(normalize), facts.targets)

    @property
    def facts(self) -> int:
        """Number of facts."""
        return len(self.targets)

    @property
    def candidates(self) -> int:
        """Number of outputs that compete for each input."""
        return len(self.outputs)

    @property
    def target_outputs(self) -> Any:
        """The right output of each input."""
        return TargetRows(self.outputs, self.targets)

    def fingerprint(self) -> str:
        """Return a digest of everything that defines the problem."""
        blocks = (self.inputs[rows] for rows in self._blocks)
        return original_fingerprint(self.inputs.shape, blocks, self.outputs, self.targets)

    def contests(self, facts: int) -> Iterator[tuple[slice, Reals]]:
        """Yield the first facts in blocks, each with all outputs."""
        for rows in self._blocks:
            if rows.start < facts:
                yield slice(rows.start, min(rows.stop, facts)), self.outputs

    @property
    def _blocks(self) -> list[slice]:
        width = self.inputs.shape[1] + self.outputs.shape[1] + self.candidates
        return row_blocks(self.facts, 8 * _ARRAYS_PER_BLOCK * width)
