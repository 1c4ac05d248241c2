"""The original problem: outputs are shared by all inputs (eq. 1)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from simonides import arguments
from simonides.arrays import Integers, Reals, Singles
from simonides.problems import checked
from simonides.problems.contradictions import row_digest
from simonides.problems.scan import (
    Pairs,
    Precision,
    Recall,
    Scanned,
    Screen,
    pointers,
    row_blocks,
)
from simonides.problems.scores import ScoreBlock, struck_out
from simonides.threads import Each

_LEAST_ROWS = 512
"""With fewer rows at a time a matrix product spends its time on rearranging the outputs."""

_MOST_BYTES = 2**26
"""Scores of so many rows, where outputs are many: each thread holds them."""

_BELOW_ALL = {np.float32: -1e18, np.float64: -np.inf}
"""Below every score; its square is still a number in single precision, where the scan squares gaps."""


@dataclass(frozen=True, eq=False)
class OriginalProblem(Scanned):
    """Inputs, the outputs that they all share, and which output belongs to each input (eq. 1).

    Parameters
    ----------
    inputs : array (facts, dim_in)
        One row for each fact.
    outputs : array (candidates, dim_out)
        One row for each candidate; there may be more of them than inputs.
    targets : array of int (facts,), optional
        Row of the right output for each input; several may share one. Left out, input i belongs to
        output i.

    Attributes
    ----------
    all_compete : bool
        Whether each input came with an output of its own, so that there are as many candidates as facts
        also in a prefix.

    Raises
    ------
    BadArgumentError
        For arrays that are not finite numbers of fitting shapes.

    Examples
    --------
    >>> print(OriginalProblem.gaussian(5, 3, seed=0))
    original problem: 5 facts, 3 to 3 dimensions, 5 candidates
    """

    kind: ClassVar[Literal["original"]] = "original"

    inputs: Reals
    outputs: Reals
    targets: Integers = None  # type: ignore[assignment]  # set on construction where it is left out
    all_compete: bool = field(init=False)

    def __post_init__(self) -> None:
        inputs = checked.matrix("inputs", self.inputs)
        outputs = checked.matrix("outputs", self.outputs)
        if len(outputs) < 2:
            raise arguments.refuse(
                "outputs.shape", outputs.shape, "with at least two rows", "a fact needs a rival"
            )
        named: Any = self.targets
        if named is None and len(outputs) < len(inputs):
            raise arguments.refuse(
                "targets",
                None,
                "given when there are fewer outputs than inputs",
                "pass the row of the right output for each input",
            )
        targets = np.arange(len(inputs)) if named is None else named
        kept = checked.indices("targets", targets, size=len(inputs), below=len(outputs))
        # Outputs belong to the facts one by one only if no targets were named.
        own = named is None and len(outputs) == len(inputs)
        object.__setattr__(self, "all_compete", own)
        for name, value in (("inputs", inputs), ("outputs", outputs), ("targets", kept)):
            object.__setattr__(self, name, value)

    @classmethod
    def gaussian(
        cls,
        facts: int,
        dim_in: int,
        dim_out: int | None = None,
        *,
        candidates: int | None = None,
        seed: int,
    ) -> OriginalProblem:
        """Draw i.i.d. standard Gaussian embeddings.

        There are as many candidates as facts, and at least two, unless said otherwise. The first inputs
        have an output each; where there are more inputs than outputs, the rest share them at random. More
        facts of the same seed, with the same candidates, are the same facts and further ones.
        """
        facts, dim_in, dim_out, number = checked.sizes(facts, dim_in, dim_out, candidates).values()
        seed = arguments.seed(seed)
        of_inputs, of_outputs, of_targets = np.random.default_rng(seed).spawn(3)
        shared = of_targets.integers(number, size=max(facts - number, 0))
        targets = np.append(np.arange(min(facts, number)), shared)
        vectors = (
            of_inputs.standard_normal((facts, dim_in)),
            of_outputs.standard_normal((number, dim_out)),
        )
        return cls(*vectors) if candidates is None else cls(*vectors, targets)

    @property
    def facts(self) -> int:
        """Number of facts."""
        return len(self.inputs)

    @property
    def candidates(self) -> int:
        """Number of outputs that compete for each input."""
        return len(self.outputs)

    @property
    def dim_in(self) -> int:
        """Input dimension."""
        return int(self.inputs.shape[1])

    @property
    def dim_out(self) -> int:
        """Output dimension."""
        return int(self.outputs.shape[1])

    @cached_property
    def target_outputs(self) -> Reals:
        """The right output of each input, shape (facts, dim_out)."""
        chosen = self.outputs[self.targets]
        chosen.flags.writeable = False
        return chosen

    @property
    def shared_outputs(self) -> Reals:
        """The candidates of every input: all outputs."""
        return self.outputs

    def recoded(self, inputs: Reals, outputs: Reals) -> OriginalProblem:
        """Return the same facts with other vectors."""
        if self.all_compete:
            return OriginalProblem(inputs, outputs)
        return OriginalProblem(inputs, outputs, self.targets)

    def subset(self, facts: Integers) -> OriginalProblem:
        """Return the problem of some facts, all outputs competing as before."""
        return OriginalProblem(self.inputs[facts], self.outputs, self.targets[facts])

    def prefix(self, facts: int) -> OriginalProblem:
        """Return the problem of the first facts (with only their outputs, if input i owns output i)."""
        facts = self._first(facts)
        if self.all_compete:
            return OriginalProblem(self.inputs[:facts], self.outputs[: max(facts, 2)])
        return self.subset(np.arange(facts))

    def fingerprint(self) -> str:
        """Return a digest of everything that defines the problem."""
        return original_fingerprint(self.inputs.shape, [self.inputs], self.outputs, self.targets)

    def contests(self, facts: int) -> Iterator[tuple[slice, Reals]]:
        """Yield the first facts in blocks, each with all outputs."""
        for rows in row_blocks(facts, 8 * self.candidates):
            yield rows, self.outputs

    def competitors(self, fact: int) -> tuple[Integers, Reals]:
        """Return the numbers and the vectors of a fact's rivals."""
        numbers = np.delete(np.arange(self.candidates), self.targets[fact])
        return numbers, self.outputs[numbers]

    @cached_property
    def _impossible_pair(self) -> tuple[int, int] | None:
        """A zero input gives every output the same score, and equal outputs score the same."""
        silent = np.flatnonzero(~self.inputs.any(axis=1))
        if silent.size:
            fact = int(silent[0])
            return fact, int(self.competitors(fact)[0][0])
        digests = [row_digest(row) for row in self.outputs]
        repeated = {digest for digest, times in Counter(digests).items() if times > 1}
        if not repeated:
            return None
        for fact, own in enumerate(self.targets):
            if digests[own] in repeated:
                twins = [k for k, digest in enumerate(digests) if digest == digests[own]]
                return fact, next(twin for twin in twins if twin != own)
        return None

    def _screening(self, images: Reals, screen: Screen) -> Callable[[slice], tuple[Any, ...]]:
        squares = np.asarray(self._squares, dtype=screen.precision)

        def look(rows: slice) -> tuple[Any, ...]:
            own, rivals = self._scores(images[rows], self.targets[rows], screen.precision)
            own_squares = self._squares[self.targets[rows]]
            return tuple(screen.close(rivals, own, own_squares, squares, rows))

        return look

    def _screened(self, counts: Sequence[Integers], *named: Any) -> Pairs:
        rivals = np.concatenate(named[0])
        return Pairs(pointers(counts), rivals, rivals, self.outputs)

    def recall(self, images: Reals, each: Each = map, facts: Integers | None = None) -> Recall:
        """Count the facts, of all or of some, whose target beats every rival.

        ``images`` holds W x for the input of each of them.
        """
        targets = self.targets if facts is None else self.targets[facts]

        def leads(rows: slice) -> Reals:
            own, rivals = self._scores(images[rows], targets[rows], np.float64)
            return np.asarray(own - rivals.max(axis=1))

        return Recall.of(np.concatenate(list(each(leads, self._blocks(len(targets))))))

    def score_blocks(self, images: Any, precision: Precision = np.float64) -> Iterator[ScoreBlock]:
        """Yield the scores of all facts, some at a time, in that precision."""
        outputs: Any = self.outputs if precision is np.float64 else self._single_outputs
        itemsize = np.dtype(precision).itemsize
        for rows in row_blocks(self.facts, itemsize * self.candidates):
            scores = np.asarray(images[rows], dtype=precision) @ outputs.T
            own = struck_out(scores, self.targets[rows])
            yield ScoreBlock(rows, own, scores)

    def rivals_of(self, rows: slice | Integers) -> Singles:
        """Return the rivals of some inputs, shape (rows, candidates - 1, dim_out), in single precision."""
        places = np.arange(self.candidates - 1) + (
            np.arange(self.candidates - 1) >= self.targets[rows, None]
        )
        return self._single_outputs[places]

    @property
    def shortest(self) -> float:
        """Length of the shortest output."""
        return float(np.sqrt(self._squares.min()))

    def _blocks(self, facts: int) -> list[slice]:
        return fact_blocks(facts, self.candidates)

    def _scores(self, images: Reals, targets: Integers, precision: Precision) -> tuple[Reals, Any]:
        """Return the scores of the targets, and those of all outputs with the targets' struck out."""
        outputs: Any = self.outputs if precision is np.float64 else self._single_outputs
        scores = np.asarray(images, dtype=precision) @ outputs.T
        own = struck_out(scores, targets, _BELOW_ALL[precision])
        return own.astype(np.float64), scores

    @cached_property
    def _squares(self) -> Reals:
        """Square of each output's length."""
        return np.asarray(np.einsum("ij,ij->i", self.outputs, self.outputs))

    @cached_property
    def _length_range(self) -> tuple[float, float]:
        squares = self._squares[self._squares > 0]
        return tuple(np.sqrt([squares.min(initial=np.inf), squares.max(initial=0.0)]).tolist())

    @cached_property
    def _single_outputs(self) -> Singles:
        return self.outputs.astype(np.float32)


def fact_blocks(facts: int, candidates: int) -> list[slice]:
    """Cut facts into blocks of which all scores are held at once."""
    row_bytes = 8 * candidates
    return row_blocks(facts, row_bytes, least=min(_LEAST_ROWS, _MOST_BYTES // row_bytes))


def original_fingerprint(
    shape: tuple[int, ...], inputs: Iterable[Reals], outputs: Reals, targets: Integers
) -> str:
    """Return the digest of an original problem, its inputs in blocks of rows."""
    digest = hashlib.sha256(b"original")
    digest.update(repr(shape).encode())
    for block in inputs:
        digest.update(block.tobytes())
    for array in (outputs, targets):
        digest.update(repr(array.shape).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
