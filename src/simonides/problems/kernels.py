"""Loops over scores and constraints, compiled once and cached on disk.

They release the interpreter lock and use one thread: who calls them decides about threads, so that
they never fight with those of the matrix products.
"""

from __future__ import annotations

import numpy as np

from simonides.compiled import kernel

_jit = kernel(
    error_model="numpy",
    # All of fast mathematics but that numbers are finite: squares may overflow in a comparison.
    fastmath={"nnan", "nsz", "arcp", "contract", "reassoc"},
)


@_jit
def close(scores, own, reaches, own_squares, squares, counts, chosen):  # type: ignore[no-untyped-def]
    """Find the scores that trail their row's own by no more than the row's reach times a size.

    The size of a pair is the root of the sum of its squares, the row's own and that of the column;
    ``squares`` has a row for each row of scores, or one for all. To be called twice: with no room in
    ``chosen`` it counts those of each row, and then, with room for all of them, writes their columns.
    """
    place = 0
    for i in range(scores.shape[0]):
        row, square, score = scores[i], squares[i % len(squares)], own[i]
        share = reaches[i] * reaches[i]
        rest = share * own_squares[i]
        if not len(chosen):
            close_rivals = 0
            for j in range(scores.shape[1]):
                gap = score - row[j]
                close_rivals += (gap <= 0) | (gap * gap <= rest + share * square[j])
            counts[i] = close_rivals
        elif counts[i]:
            for j in range(scores.shape[1]):
                gap = score - row[j]
                if (gap <= 0) | (gap * gap <= rest + share * square[j]):
                    chosen[place] = j
                    place += 1


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
