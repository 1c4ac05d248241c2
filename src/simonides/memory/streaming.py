r"""Rules in one pass over inputs that need not fit in memory, and the proof about such facts.

A rule that streams knows the facts through two sums only, :math:`\sum_i y_i x_i^T` and
:math:`\sum_i x_i x_i^T`: turning all facts among each other changes neither. The second is kept as the
triangular factor of all rows seen: that resolves directions which the sum itself, being of squares, would
round away.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from simonides.interrupts import Keyboard, completed
from simonides.memory.scoring import Scorer
from simonides.problems import checked
from simonides.problems.original import original_fingerprint
from simonides.problems.scan import Recall, row_blocks
from simonides.solvers.solution import Progress, Solution, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from simonides.arrays import Integers, Reals
    from simonides.memory.facts import Facts
    from simonides.problems.problem import Problem
    from simonides.solvers.methods import Method
    from simonides.threads import Each

_ARRAYS_PER_BLOCK = 4
"""A check holds so many arrays of a block's inputs, images and scores at once."""


@dataclass(frozen=True, eq=False)
class Sums:
    """What is known of the facts read so far: their number, the pull on the weights, and the triangle."""

    facts: int
    pull: Reals
    triangle: Reals

    def joined(self, inputs: Reals, target_outputs: Reals) -> Sums:
        """Return the sums with further facts."""
        rows = np.vstack((self.triangle, inputs))
        return Sums(
            self.facts + len(inputs),
            self.pull + target_outputs.T @ inputs,
            np.asarray(np.linalg.qr(rows, mode="r")),
        )

    def compressed(self) -> CompressedFacts:
        """Return at most dim_in facts with the same sums."""
        _, sizes, directions = np.linalg.svd(self.triangle, full_matrices=False)
        # Below this, a singular value is the rounding of zero.
        rounding = sizes[0] * max(self.facts, self.pull.shape[1]) * np.finfo(float).eps
        sizes = np.where(sizes > rounding, sizes, 0.0)
        gains = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        inputs = sizes[:, None] * directions
        return CompressedFacts(self.facts, inputs, gains[:, None] * (directions @ self.pull.T))


@dataclass(frozen=True, eq=False)
class CompressedFacts:
    """Facts turned among each other so that few differ from zero; ``facts`` counts those there were.

    A rule takes them for the problem. What it recalls is counted of the facts themselves, not of these.
    """

    facts: int
    inputs: Reals
    target_outputs: Reals

    @property
    def dim_in(self) -> int:
        """Input dimension."""
        return int(self.inputs.shape[1])

    @property
    def dim_out(self) -> int:
        """Output dimension."""
        return int(self.target_outputs.shape[1])

    def images(self, weights: Reals) -> Reals:
        """Return what the weights make of every input."""
        return np.asarray(self.inputs @ weights.T)

    def recall(self, _images: Reals, _each: Each = map) -> Recall:
        """Return that nothing is known."""
        return Recall(0, -np.inf)


def streamed(
    problem: MappedProblem,
    rule: Method,
    watch: Callable[[Progress], None] | None = None,
) -> Solution:
    """Return the weights of a rule, reading the inputs a block at a time.

    ``watch`` is told after every block how many facts are still to be read. Interrupted, the weights are
    those of the facts read by then.
    """
    began = time.perf_counter()
    (facts, dim_in), dim_out = problem.inputs.shape, problem.outputs.shape[1]
    sums = Sums(0, np.zeros((dim_out, dim_in)), np.zeros((0, dim_in)))
    with Keyboard() as keyboard:
        for step, rows in enumerate(
            row_blocks(facts, 8 * (dim_in + dim_out), least=min(dim_in, facts))
        ):
            sums = sums.joined(problem.inputs[rows], problem.target_outputs[rows])
            if watch is not None:
                watch(Progress(step, np.nan, facts - rows.stop, time.perf_counter() - began))

    def finish() -> Solution:
        weights = sums.pull
        if sums.facts:
            weights = rule.solve(cast("Problem", sums.compressed())).weights
        leads = Scorer(weights, None, problem.outputs).leads(problem.inputs.rows, problem.targets)
        recalled = int(np.count_nonzero(leads > 0))
        status = Status.STORED if recalled == facts else Status.STOPPED
        return Solution(weights, status, recalled, float(leads.min()), steps=1)

    solution, late = completed(finish)
    seconds = time.perf_counter() - began
    return replace(solution, seconds=seconds, interrupted=keyboard.interrupted or late)


@dataclass(frozen=True, eq=False)
class DoubleRows:
    """Rows of an array in any precision, read as double precision where they are needed."""

    rows: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of all rows."""
        return (int(self.rows.shape[0]), int(self.rows.shape[1]))

    def __getitem__(self, block: slice) -> Reals:
        return checked.matrix("inputs", self.rows[block])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Reals:
        """Return all rows, in memory."""
        return np.array(self[:], dtype=dtype, copy=copy)


@dataclass(frozen=True, eq=False)
class TargetRows:
    """The right output of each input, gathered where it is needed."""

    outputs: Reals
    targets: Integers

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of all rows."""
        return len(self.targets), int(self.outputs.shape[1])

    def __getitem__(self, block: slice) -> Reals:
        return self.outputs[self.targets[block]]


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
