r"""A pass over all constraints: which are close to being broken.

Of the pairs (fact, rival) only those matter whose gap :math:`(y_i - y_j)^T W x_i` is small against the
pair's size :math:`\sqrt{|y_i|^2 + |y_j|^2}`, which is known beforehand and close to the span
:math:`|y_i - y_j|` for outputs that point anywhere. They are found in single precision where its
rounding is small against what is looked for; then gaps and spans are computed in double precision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np

from simonides import arguments, threads
from simonides.arrays import Integers, Reals
from simonides.problems import kernels
from simonides.theory.setting import ProblemKind, Setting
from simonides.threads import Each

Precision: TypeAlias = type[np.float32] | type[np.float64]

_SINGLE_UNIT = 2.0**-24
"""Relative rounding of single precision."""

_TOLERABLE_BLUR = 0.1
"""Rounding up to this share of the threshold lets in a few pairs too many, which the second look drops."""

_BLOCK_BYTES = 2**24
"""Scores of a block: a few times what the caches hold, so that a block is worth a matrix product."""

_MODERATE = (1e-8, 1e8)
"""Lengths whose products and squares single precision holds, which ends at 1e-38 and 3e38."""


@dataclass(frozen=True)
class Pairs:
    """Constraints (fact, rival), grouped by fact.

    The rivals of fact i are ``rivals[pointer[i]:pointer[i + 1]]``, numbered as the problem numbers
    its candidates; their vectors are the rows ``index`` of ``table``.
    """

    pointer: Integers
    rivals: Integers
    index: Integers
    table: Reals

    def __len__(self) -> int:
        return len(self.rivals)

    @property
    def facts(self) -> Integers:
        """The fact of each pair."""
        return np.repeat(np.arange(len(self.pointer) - 1), np.diff(self.pointer))

    def where(self, kept: Any) -> Pairs:
        """Return the pairs that a mask keeps."""
        pointer = np.concatenate(([0], np.cumsum(kept)))[self.pointer]
        return Pairs(pointer, self.rivals[kept], self.index[kept], self.table)


@dataclass(frozen=True)
class Scan:
    """What a pass found: the close pairs, with gaps, sizes and spans, and how many facts are recalled."""

    pairs: Pairs
    gaps: Reals
    sizes: Reals
    spans: Reals
    recalled: int

    def where(self, kept: Any) -> Scan:
        """Return the scan with the pairs that a mask keeps."""
        return replace(
            self,
            pairs=self.pairs.where(kept),
            gaps=self.gaps[kept],
            sizes=self.sizes[kept],
            spans=self.spans[kept],
        )


class Scanned(ABC):
    """What a kind of problem need not write itself, having the rest."""

    kind: ClassVar[ProblemKind]
    inputs: Any
    facts: Any
    dim_in: Any
    dim_out: Any
    candidates: Any
    all_compete: Any
    target_outputs: Any
    _impossible_pair: Any
    _length_range: Any

    def __str__(self) -> str:
        shape = f"{self.dim_in:,} to {self.dim_out:,} dimensions, {self.candidates:,} candidates"
        return f"{self.kind} problem: {self.facts:,} facts, {shape}"

    @property
    def setting(self) -> Setting:
        """What theory is to be asked about this problem."""
        candidates = None if self.all_compete else self.candidates
        return Setting(self.dim_in, self.dim_out, candidates, problem=self.kind)

    def impossible_pair(self) -> tuple[int, int] | None:
        """Return a fact and a rival that no weights can tell apart, if there are any."""
        return cast("tuple[int, int] | None", self._impossible_pair)

    @abstractmethod
    def _blocks(self, facts: int) -> list[slice]:
        """Cut so many facts into blocks."""

    @property
    def _row_blocks(self) -> list[slice]:
        return self._blocks(self.facts)

    def _first(self, facts: object) -> int:
        """Return how many facts a prefix keeps, if there are as many."""
        number = arguments.whole("facts", facts, remedy="pass how many facts to keep")
        if number > self.facts:
            raise arguments.refuse("facts", number, f"at most {self.facts}", "there are no more")
        return number

    @abstractmethod
    def _screening(self, images: Reals, screen: Screen) -> Callable[[slice], tuple[Any, ...]]:
        """Return what screens a block of facts: counts of close rivals, and whatever names them."""

    @abstractmethod
    def _screened(self, counts: Sequence[Integers], *named: Any) -> Pairs:
        """Return the close pairs of all blocks."""

    def scan_within(
        self, most: float, images: Reals, threshold: float, each: Each = map
    ) -> Scan | None:
        """Scan, or return None as soon as more than ``most`` pairs turn out to be close.

        So it does beyond what memory allows.
        """
        screen, allowed = (
            Screen.of(images, threshold, self._length_range),
            ALLOWANCE.get(Allowance()),
        )
        tally = PairCount(min(most, allowed.pairs))
        screening = self._screening(images, screen)

        def look(rows: slice) -> tuple[Any, ...] | None:
            if tally.exceeded:
                return None
            block = screening(rows)
            tally.add(block[0])
            return block

        blocks: Any = list(each(look, self._row_blocks))
        if not tally.settle(blocks):
            allowed.exceeded |= allowed.pairs < most
            return None
        allowed.begun = True
        pairs = self._screened(*zip(*blocks, strict=True))
        return screen.finish(images, self.target_outputs, pairs, each)

    def scan(self, images: Reals, threshold: float, each: Each = map) -> Scan:
        """Pass over all rivals; collect those with a gap of at most ``threshold`` times their size.

        ``images`` holds W x for every input, shape (facts, dim_out); ``each`` maps over blocks of rows.
        """
        scan = self.scan_within(np.inf, images, threshold, each)
        if scan is None:
            raise TooManyPairsError(f"more than {ALLOWANCE.get().pairs:,.0f} pairs are close")
        return scan

    def images(self, weights: Reals) -> Reals:
        """Return what the weights make of every input, shape (facts, dim_out)."""
        return np.asarray(self.inputs @ weights.T)


@dataclass(frozen=True)
class Recall:
    """How recall stands: facts whose target beats every rival, and the smallest lead of a target."""

    recalled: int
    smallest_gap: float

    @classmethod
    def of(cls, leads: Reals) -> Recall:
        """Return the recall of facts with these leads over their best rivals."""
        return cls(int(np.count_nonzero(leads > 0)), float(leads.min()))


@dataclass(frozen=True)
class Screen:
    """How scores are screened: a precision, and for every fact a reach that allows for its rounding.

    A pair is close if its gap is at most ``threshold``, a positive number, times its size.
    """

    threshold: float
    precision: Precision
    reaches: Reals

    @classmethod
    def of(cls, images: Reals, threshold: float, lengths: Sequence[float]) -> Screen:
        """Return the fastest screen that is sharp enough, for outputs from shortest to longest."""
        sizes = np.linalg.norm(images, axis=1)
        # Both scores of a gap are off by so much per unit of their outputs' lengths; and squared
        # lengths, whose root the threshold multiplies, by half as much in relative terms.
        blur = (images.shape[1] + 8) * _SINGLE_UNIT * (np.sqrt(2) * sizes + threshold)
        sharp = blur.max() <= _TOLERABLE_BLUR * threshold
        moderate = lengths[0] > _MODERATE[0] and max(lengths[1], sizes.max()) < _MODERATE[1]
        if sharp and moderate and _MODERATE[0] < threshold < _MODERATE[1]:
            return cls(threshold, np.float32, threshold + blur)
        return cls(threshold, np.float64, threshold + blur * 2.0**-29)

    def close(self, scores: Any, own: Reals, own_squares: Reals, squares: Any, rows: slice) -> Any:
        """Return how many candidates of each row are close, and their columns."""
        narrow = [
            np.asarray(array, dtype=self.precision)
            for array in (own, self.reaches[rows], own_squares)
        ]
        counts = np.empty(len(scores), np.int64)

        def look(chosen: Integers) -> None:
            kernels.close(scores, *narrow, np.atleast_2d(squares), counts, chosen)

        look(np.empty(0, np.int64))
        chosen = np.empty(int(counts.sum()), np.int64)
        if len(chosen):
            look(chosen)
        return counts, chosen

    def finish(
        self,
        images: Reals,
        target_outputs: Reals,
        pairs: Pairs,
        each: Each,
    ) -> Scan:
        """Return the scan with the gaps of the screened pairs."""
        gaps, spans = np.empty(len(pairs)), np.empty(len(pairs))

        def measure(part: slice) -> None:
            pointer = pairs.pointer[part.start : part.stop + 1]
            kernels.gaps_and_spans(
                images[part], target_outputs[part], pairs.table, pointer, pairs.index, gaps, spans
            )

        list(each(measure, threads.blocks(len(images))))
        facts = pairs.facts
        lost = np.zeros(len(images), dtype=bool)
        lost[facts[gaps <= 0]] = True
        squares = np.einsum("ij,ij->i", pairs.table, pairs.table)[pairs.index]
        sizes = np.sqrt(np.einsum("ij,ij->i", target_outputs, target_outputs)[facts] + squares)
        recalled = len(images) - int(np.count_nonzero(lost))
        scan = Scan(pairs, gaps, sizes, spans, recalled)
        return scan.where(gaps <= self.threshold * sizes)


@dataclass
class Allowance:
    """Close pairs that any pass may collect, where memory is limited: they are what grows.

    A training, which has memory of its own, may remember steps in so many ``bytes``. A search has
    ``begun`` once a state was within it, and ``exceeded`` it if one would not have been.
    """

    pairs: float = np.inf
    bytes: float = np.inf
    begun: bool = False
    exceeded: bool = False


ALLOWANCE: ContextVar[Allowance] = ContextVar("ALLOWANCE")


class TooManyPairsError(MemoryError):
    """More pairs are close than the memory that is allowed can hold."""


class PairCount:
    """A count of what several threads find, to give up early once it is above a limit."""

    def __init__(self, most: float) -> None:
        self.most, self._seen = most, 0

    @property
    def exceeded(self) -> bool:
        """Whether more than the limit have been seen; threads may miss some, but invent none."""
        return self._seen > self.most

    def add(self, counts: Integers) -> None:
        """Count what a block found."""
        self._seen += int(counts.sum())

    def settle(self, blocks: Sequence[Any]) -> bool:
        """Return whether the blocks are complete and within the limit, whatever threads missed."""
        whole = all(block is not None for block in blocks)
        return whole and sum(int(block[0].sum()) for block in blocks) <= self.most


def row_blocks(rows: int, row_bytes: int, *, least: int = 1) -> list[slice]:
    """Cut rows into blocks of a few megabytes, or of the least number of rows that is worth it.

    There are no fewer blocks than threads can share.
    """
    shared = -(-rows // len(threads.blocks(rows)))
    size = max(1, min(max(least, _BLOCK_BYTES // row_bytes), shared))
    return [slice(low, min(low + size, rows)) for low in range(0, rows, size)]


def pointers(counts: Sequence[Integers]) -> Integers:
    """Return where each fact's pairs begin, from the number of pairs of each fact."""
    return np.concatenate(([0], np.cumsum(np.concatenate(counts)))).astype(np.int64)
