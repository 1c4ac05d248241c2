"""The decoupled problem: every input has its own outputs (eq. 2)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from simonides import arguments
from simonides.arrays import Integers, Reals, Singles
from simonides.problems import checked
from simonides.problems.scan import (
    Pairs,
    Precision,
    Recall,
    Scanned,
    Screen,
    pointers,
    row_blocks,
)
from simonides.problems.scores import ScoreBlock
from simonides.problems.vectors import GAUSSIAN, VectorLaw
from simonides.threads import Each

IN_MEMORY_BYTES = 2**30
"""Instances up to this size keep their outputs; larger ones draw them anew on every pass."""


@dataclass(frozen=True, eq=False)
class DecoupledProblem(Scanned):
    """Random inputs, and for each of them its own ``candidates`` random outputs, target first.

    All vectors follow from ``seed`` and the row they belong to, by a counter-based generator: the same
    on any machine, whether they are kept or drawn anew (eq. 2). What is never held is all outputs of a
    large instance, facts x candidates x dim_out numbers.

    Parameters
    ----------
    facts, dim_in, dim_out, candidates, seed : int
        What defines the instance; ``gaussian`` has defaults.
    all_compete : bool
        Whether there are as many candidates as facts, also in a prefix.
    in_memory_bytes : int
        Size up to which all outputs are kept.
    vectors : VectorLaw
        Law of inputs and outputs.

    Raises
    ------
    BadArgumentError
        For sizes that are none.

    Examples
    --------
    >>> print(DecoupledProblem.gaussian(5, 3, seed=0))
    decoupled problem: 5 facts, 3 to 3 dimensions, 5 candidates
    """

    kind: ClassVar[Literal["decoupled"]] = "decoupled"

    facts: int
    dim_in: int
    dim_out: int
    candidates: int
    seed: int
    all_compete: bool = False
    in_memory_bytes: int = IN_MEMORY_BYTES
    vectors: VectorLaw = GAUSSIAN

    def __post_init__(self) -> None:
        kept = checked.sizes(self.facts, self.dim_in, self.dim_out, self.candidates)
        kept["seed"] = arguments.seed(self.seed)
        remedy = "pass 0 to draw outputs anew on every pass"
        kept["in_memory_bytes"] = arguments.whole(
            "in_memory_bytes", self.in_memory_bytes, least=0, remedy=remedy
        )
        for name, value in kept.items():
            object.__setattr__(self, name, value)
        if checked.truth("all_compete", self.all_compete) and self.candidates != max(self.facts, 2):
            raise arguments.refuse(
                "candidates",
                self.candidates,
                f"{max(self.facts, 2)}, the number of facts, where all compete",
                "leave all_compete out",
            )

    @classmethod
    def gaussian(
        cls,
        facts: int,
        dim_in: int,
        dim_out: int | None = None,
        *,
        candidates: int | None = None,
        seed: int,
    ) -> DecoupledProblem:
        """Return an instance; as many candidates as facts, and at least two, unless said otherwise."""
        facts, dim_in, dim_out, number = checked.sizes(facts, dim_in, dim_out, candidates).values()
        return cls(facts, dim_in, dim_out, number, seed, all_compete=candidates is None)

    @cached_property
    def inputs(self) -> Reals:
        """Inputs, shape (facts, dim_in)."""
        return self._first_vectors(0, self.dim_in)

    @cached_property
    def target_outputs(self) -> Reals:
        """The right output of each input, shape (facts, dim_out)."""
        return self._first_vectors(1, self.dim_out)

    def prefix(self, facts: int) -> DecoupledProblem:
        """Return the problem of the first facts, each with its outputs.

        Where all facts compete, each keeps as many of its first outputs as there are facts.
        """
        facts = self._first(facts)
        candidates = max(facts, 2) if self.all_compete else self.candidates
        fewer = replace(self, facts=facts, candidates=candidates)
        drawn = self.__dict__.get("_kept")
        if drawn is not None:  # or it is drawn when it is first needed
            fewer.__dict__["_kept"] = drawn[:facts, : candidates - 1]
        return fewer

    def fingerprint(self) -> str:
        """Return a digest of everything that defines the problem."""
        numbers = (self.facts, self.dim_in, self.dim_out, self.candidates, self.seed)
        law = "" if self.vectors == GAUSSIAN else f" {self.vectors}"
        return hashlib.sha256(f"decoupled philox single {numbers}{law}".encode()).hexdigest()

    def rivals(self, row: int) -> Reals:
        """Return the rivals of an input, shape (candidates - 1, dim_out)."""
        return np.asarray(self.rivals_of(slice(row, row + 1))[0], dtype=np.float64)

    @cached_property
    def targets(self) -> Integers:
        """Number of the right output of each input among its candidates: the first."""
        targets = np.zeros(self.facts, dtype=np.int64)
        targets.flags.writeable = False
        return targets

    def contests(self, facts: int) -> Iterator[tuple[slice, Reals]]:
        """Yield each of the first facts with its candidates' vectors, by their numbers."""
        for fact in range(facts):
            yield slice(fact, fact + 1), np.vstack((self.target_outputs[fact], self.rivals(fact)))

    def competitors(self, fact: int) -> tuple[Integers, Reals]:
        """Return the numbers and the vectors of a fact's rivals; number 0 is the target."""
        return np.arange(1, self.candidates), self.rivals(fact)

    @cached_property
    def _impossible_pair(self) -> tuple[int, int] | None:
        """A fact and a rival equal to its target: vectors of signs may be equal."""
        # Other laws are continuous, and have vectors that coincide with probability zero.
        signs = self.vectors.name == "rademacher" or (
            self.vectors.name == "unit" and self.dim_out == 1
        )
        if not signs:
            return None
        for rows in self._row_blocks:
            equal = (self.rivals_of(rows) == self.target_outputs[rows, None]).all(axis=2)
            if equal.any():
                row, rival = np.argwhere(equal)[0].tolist()
                return rows.start + row, rival + 1  # candidate 0 is the target
        return None

    @property
    def _length_range(self) -> tuple[float, float]:
        return 1.0, 1.0  # of moderate lengths, as all laws are

    def _screening(self, images: Reals, screen: Screen) -> Callable[[slice], tuple[Any, ...]]:
        targets = np.einsum("ij,ij->i", images, self.target_outputs)
        target_squares = np.einsum("ij,ij->i", self.target_outputs, self.target_outputs)

        def look(rows: slice) -> tuple[Any, ...]:
            drawn = self.rivals_of(rows)
            outputs: Any = np.asarray(drawn, dtype=screen.precision)
            kept = self._kept_squares if screen.precision is np.float32 else None
            squares = _squares(outputs) if kept is None else kept[rows]
            scores = _scores(outputs, images[rows])
            counts, columns = screen.close(
                scores, targets[rows], target_squares[rows], squares, rows
            )
            facts = np.repeat(np.arange(len(counts)), counts)
            close = drawn[facts, columns].astype(np.float64)
            return counts, columns, close

        _ = self._kept_squares  # measured here, before threads ask for them
        return look

    def _screened(self, counts: Sequence[Integers], *named: Any) -> Pairs:
        columns, vectors = named
        rivals = np.concatenate(columns) + 1  # candidate 0 is the target
        return Pairs(pointers(counts), rivals, np.arange(len(rivals)), np.concatenate(vectors))

    def recall(self, images: Reals, each: Each = map, facts: Integers | None = None) -> Recall:
        """Count the facts, of all or of some, whose target beats every rival.

        ``images`` holds W x for the input of each of them.
        """
        numbers = np.arange(self.facts) if facts is None else facts
        targets = np.einsum("ij,ij->i", images, self.target_outputs[numbers])

        def leads(rows: slice) -> Reals:
            some = rows if facts is None else numbers[rows]
            outputs = np.asarray(self.rivals_of(some), dtype=np.float64)
            return np.asarray(targets[rows] - _scores(outputs, images[rows]).max(axis=1))

        return Recall.of(np.concatenate(list(each(leads, self._blocks(len(numbers))))))

    def score_blocks(self, images: Any, precision: Precision = np.float64) -> Iterator[ScoreBlock]:
        """Yield the scores of all facts, some at a time, in that precision."""
        own = np.einsum("ij,ij->i", images, self.target_outputs.astype(images.dtype))
        for rows in self._row_blocks:
            outputs = np.asarray(self.rivals_of(rows), dtype=precision)
            yield ScoreBlock(rows, own[rows].astype(precision), _scores(outputs, images[rows]))

    @property
    def shared_outputs(self) -> None:
        """None: each input has candidates of its own."""
        return

    @property
    def shortest(self) -> float:
        """Length that no output falls below: rivals that are not drawn are not measured."""
        return 0.0

    @property
    def _row_bytes(self) -> int:
        return 4 * (self.candidates - 1) * self.dim_out

    def _blocks(self, facts: int) -> list[slice]:
        _ = self._kept  # drawn here, before threads ask for it
        return row_blocks(facts, 2 * self._row_bytes)

    def rivals_of(self, rows: slice | Integers) -> Singles:
        """Return the rivals of some inputs, shape (rows, candidates - 1, dim_out), as they are drawn."""
        return self._draw(rows) if self._kept is None else self._kept[rows]

    @cached_property
    def _kept(self) -> Singles | None:
        squares_bytes = 4 * (self.candidates - 1)
        if self.facts * (self._row_bytes + squares_bytes) > self.in_memory_bytes:
            return None
        kept = self._draw(slice(0, self.facts))
        kept.flags.writeable = False
        return kept

    @cached_property
    def _kept_squares(self) -> Singles | None:
        if self._kept is None:
            return None
        return _squares(np.asarray(self.rivals_of(slice(0, self.facts)), dtype=np.float32))

    def _draw(self, rows: slice | Integers) -> Singles:
        # Rivals are drawn in order, so that fewer candidates are a prefix of more.
        numbers = np.arange(self.facts)[rows]
        drawn = np.empty((len(numbers), self.candidates - 1, self.dim_out), dtype=np.float32)
        for row, place in zip(numbers.tolist(), drawn, strict=True):
            place[:] = self.vectors.draw(self._generator(row, 2), place.shape, np.float32)
        return drawn

    def _first_vectors(self, stream: int, dim: int) -> Reals:
        rows = [
            self.vectors.draw(self._generator(row, stream), (1, dim)) for row in range(self.facts)
        ]
        vectors = np.concatenate(rows)
        vectors.flags.writeable = False
        return vectors

    def _generator(self, row: int, stream: int) -> np.random.Generator:
        key = np.array([self.seed % 2**64, row * 4 + stream], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=key))


def _squares(outputs: Any) -> NDArray[Any]:
    """Return the square of each output's length."""
    return np.asarray(np.einsum("ijk,ijk->ij", outputs, outputs))


def _scores(outputs: Any, images: Reals) -> Any:
    """Return each row's outputs times its image, in the outputs' precision."""
    return np.matmul(outputs, np.asarray(images[:, :, None], dtype=outputs.dtype))[:, :, 0]
