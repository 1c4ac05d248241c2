"""What a pass over all constraints finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simonides.arrays import Integers, Reals


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


@dataclass(frozen=True)
class Scan:
    """A pass over all rivals: the close ones, and how recall stands.

    ``recalled`` counts facts whose target beats every rival; ``smallest_gap`` is the smallest lead of
    a target over a rival.
    """

    pairs: Pairs
    recalled: int
    smallest_gap: float


def pointers(counts: Iterable[Integers]) -> Integers:
    """Return where each fact's pairs begin, from the number of pairs of each fact."""
    return np.concatenate(([0], np.cumsum(np.concatenate(list(counts))))).astype(np.int64)
