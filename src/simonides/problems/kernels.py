"""Loops over scores and constraints, compiled once and cached on disk.

They release the interpreter lock and use one thread: who calls them decides about threads, so that
they never fight with those of the matrix products.
"""

from __future__ import annotations

import numba
import numpy as np

_jit = numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")


@_jit
def close(scores, bars, reaches, lengths):  # type: ignore[no-untyped-def]
    """Find the scores that top their row's bar when raised by the row's reach times their length.

    Returns how many there are in each row, their columns, and the best score of each row. ``lengths``
    has a row for each row of scores, or one for all.
    """
    rows, columns = scores.shape
    counts = np.zeros(rows, np.int64)
    best = np.empty(rows)
    for i in range(rows):
        row, length, reach, bar = scores[i], lengths[i % len(lengths)], reaches[i], bars[i]
        found, top = 0, row[0]
        for j in range(columns):
            found += row[j] + reach * length[j] >= bar
            top = max(top, row[j])
        counts[i], best[i] = found, top
    chosen = np.empty(counts.sum(), np.int64)
    place = 0
    for i in range(rows):
        if counts[i]:
            row, length, reach, bar = scores[i], lengths[i % len(lengths)], reaches[i], bars[i]
            for j in range(columns):
                if row[j] + reach * length[j] >= bar:
                    chosen[place] = j
                    place += 1
    return counts, chosen, best


@_jit
def gaps_and_spans(images, targets, table, pointer, index, gaps, spans):  # type: ignore[no-untyped-def]
    """Write each pair's lead of target over rival, image . (target - rival), and |target - rival|."""
    for fact in range(images.shape[0]):
        image, target = images[fact], targets[fact]
        for pair in range(pointer[fact], pointer[fact + 1]):
            rival = table[index[pair]]
            gap = square = 0.0
            for k in range(image.shape[0]):
                difference = target[k] - rival[k]
                gap += image[k] * difference
                square += difference * difference
            gaps[pair], spans[pair] = gap, np.sqrt(square)
