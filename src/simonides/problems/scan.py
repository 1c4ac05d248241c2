r"""A pass over all constraints: which are close to being broken.

Of the pairs (fact, rival) only those matter whose lead :math:`(y_i - y_j)^T W x_i` is small against the
span :math:`|y_i - y_j|`. They are found by comparing scores with a bar, in single precision where its
rounding is small against what is looked for; then their leads are computed in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from simonides import threads
from simonides.problems import kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simonides.arrays import Integers, Reals
    from simonides.threads import Each

Precision: TypeAlias = type[np.float32] | type[np.float64]

_SINGLE_UNIT = 2.0**-24
_TOLERABLE_BLUR = 0.1
_BLOCK_BYTES = 2**24
_MODERATE = (1e-15, 1e15)


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
    """What a pass found: the close pairs with their leads per unit of span, and how recall stands.

    ``recalled`` counts facts whose target beats every rival; ``smallest_gap`` is the smallest lead of
    a target over a rival.
    """

    pairs: Pairs
    leads: Reals
    spans: Reals
    recalled: int
    smallest_gap: float


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
    """How scores are screened: a precision, and a reach for every fact.

    A pair is close if its lead is at most ``threshold``, a positive number, per unit of span. A span is
    at most the two outputs' lengths together. So a score, raised by reach times its output's length,
    must top the target's score lowered by reach times the target's length; the reach allows for the
    screen's rounding.
    """

    threshold: float
    precision: Precision
    reaches: Reals

    @classmethod
    def of(cls, images: Reals, threshold: float, lengths: Sequence[float]) -> Screen:
        """Return the fastest screen that is sharp enough for outputs of these shortest, longest lengths."""
        sizes = np.linalg.norm(images, axis=1)
        blur = 2 * (images.shape[1] + 4) * _SINGLE_UNIT * sizes
        sharp = blur.max() <= _TOLERABLE_BLUR * threshold
        moderate = lengths[0] > _MODERATE[0] and max(lengths[1], sizes.max()) < _MODERATE[1]
        if sharp and moderate:
            return cls(threshold, np.float32, threshold + blur)
        return cls(threshold, np.float64, threshold + blur * 2.0**-29)

    def close(
        self, scores: Any, own: Reals, lengths: Any, own_lengths: Reals, rows: slice
    ) -> Any:
        """Return how many candidates of each row are close, their columns, and the best score."""
        reaches = self.reaches[rows]
        bars = np.asarray(own - reaches * own_lengths, dtype=self.precision)
        return kernels.close(
            scores, bars, np.asarray(reaches, dtype=self.precision), np.atleast_2d(lengths)
        )

    def finish(
        self,
        images: Reals,
        target_outputs: Reals,
        pairs: Pairs,
        least_lead: float,
        each: Each,
    ) -> Scan:
        """Return the scan with the leads of the screened pairs; ``least_lead`` is what the screen saw."""
        gaps, spans = np.empty(len(pairs)), np.empty(len(pairs))

        def measure(part: slice) -> None:
            pointer = pairs.pointer[part.start : part.stop + 1]
            kernels.gaps_and_spans(
                images[part], target_outputs[part], pairs.table, pointer, pairs.index, gaps, spans
            )

        list(each(measure, threads.blocks(len(images))))
        lost = np.zeros(len(images), dtype=bool)
        lost[pairs.facts[gaps <= 0]] = True
        leads = np.divide(gaps, spans, out=np.zeros_like(gaps), where=spans > 0)
        kept = leads <= self.threshold
        return Scan(
            pairs.where(kept),
            leads[kept],
            spans[kept],
            len(images) - int(np.count_nonzero(lost)),
            float(min(gaps.min(initial=np.inf), least_lead)),
        )


def row_blocks(rows: int, row_bytes: int) -> list[slice]:
    """Cut rows into blocks of a few megabytes."""
    size = max(1, _BLOCK_BYTES // row_bytes)
    return [slice(low, min(low + size, rows)) for low in range(0, rows, size)]


def pointers(counts: Sequence[Integers]) -> Integers:
    """Return where each fact's pairs begin, from the number of pairs of each fact."""
    return np.concatenate(([0], np.cumsum(np.concatenate(counts)))).astype(np.int64)
