"""Facts that contradict each other: one input, two right outputs."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals


def clashing(inputs: Reals, targets: Integers) -> list[tuple[int, int]]:
    """Return pairs of facts with equal inputs and different targets: no weights store both.

    The first fact of an input is paired with each later one that differs from it.
    """
    first: dict[bytes, int] = {}
    pairs = []
    for fact, row in enumerate(inputs):
        # Adding zero makes negative zero positive, so that equal rows have equal bytes.
        digest = hashlib.blake2b(row + 0.0, digest_size=16).digest()
        before = first.setdefault(digest, fact)
        if targets[before] != targets[fact]:
            pairs.append((before, fact))
    return pairs
