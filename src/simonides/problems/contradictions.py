"""Facts that no weights store: one direction with two right outputs, or an input of zeros."""

from __future__ import annotations

import hashlib

import numpy as np

from simonides.arrays import Integers, Reals

_EPS = float(np.finfo(float).eps)

_ROUNDING = 32 * _EPS
"""By so much, relative to each entry, scaling may part rows of one direction.

A factor, a length, a root and a quotient round a few times; any value far above that and far below what
people mean by another direction does.
"""

SINGLE = 1e-6
"""The same where rows were scaled in single precision: some sixteen roundings of it."""

_SEED = 0
"""Of the line along which rows are sorted: any does, always the same one makes runs repeatable."""


def clashing(inputs: Reals, targets: Integers) -> list[tuple[int, int]]:
    """Return pairs of facts with equal inputs and different targets: no weights store both.

    The first fact of an input is paired with each later one that differs from it.
    """
    first: dict[bytes, int] = {}
    pairs = []
    for fact, row in enumerate(inputs):
        before = first.setdefault(row_digest(row), fact)
        if targets[before] != targets[fact]:
            pairs.append((before, fact))
    return pairs


def row_digest(row: Reals) -> bytes:
    """Return bytes that equal rows share, and others do not."""
    # Adding zero makes negative zero positive, so that equal rows have equal bytes.
    return hashlib.blake2b((row + 0.0).tobytes(), digest_size=16).digest()


def empty(inputs: Reals) -> list[int]:
    """Return the facts whose input is zero: all their outputs score alike, so that none is highest.

    >>> empty(np.array([[0.0, 2.0], [0.0, 0.0]]))
    [1]
    """
    return [int(fact) for fact in np.flatnonzero(~np.any(inputs, axis=1))]


def opposed(inputs: Reals, targets: Integers, apart: float = _ROUNDING) -> tuple[int, int] | None:
    """Return two facts that exclude each other, the earlier first, or None.

    Their inputs are multiples of each other but for rounding, by which each entry may be so much ``apart``:
    positive ones with different targets, or negative ones with the same, which is to score highest and
    lowest. Such rows lie side by side along any line: only neighbours along one are compared.

    >>> opposed(np.array([[3.0, 4.0], [1.0, 0.0], [0.3, 0.4]]), np.array([0, 0, 1]))
    (0, 2)
    >>> opposed(np.array([[3.0, 4.0], [1.0, 0.0], [-0.3, -0.4]]), np.array([0, 0, 1]))
    """
    line = np.random.default_rng(_SEED).standard_normal(inputs.shape[1])
    lengths = np.sqrt(np.einsum("ij,ij->i", inputs, inputs))  # without a copy of all inputs
    lengths[lengths == 0] = 1.0
    places = inputs @ line / lengths
    # Twice what equal directions may lie apart: their distance, and the rounding of the products.
    reach = 2 * (apart + inputs.shape[1] * _EPS) * float(np.linalg.norm(line))
    pairs = []
    for keys in (places, np.abs(places)):
        order = np.argsort(keys, kind="stable")
        order = np.stack((order[:-1], order[1:]))
        alike = np.sign(places[order]).prod(axis=0) > 0
        different = targets[order[0]] != targets[order[1]]
        close = (np.diff(keys[order], axis=0)[0] <= reach) & (alike == different)
        first, later = np.sort(order[:, close], axis=0)
        signs = np.where(alike, 1.0, -1.0)[close, None]
        ahead = signs * inputs[first] / lengths[first, None]
        between = np.abs(ahead - inputs[later] / lengths[later, None])
        parallel = np.all(between <= apart * np.abs(ahead), axis=1)
        pairs += list(zip(later[parallel].tolist(), first[parallel].tolist(), strict=True))
    if not pairs:
        return None
    later, first = min(pairs)
    return first, later
