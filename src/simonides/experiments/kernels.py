"""Counting scores in one pass over them, compiled once and cached on disk."""

from __future__ import annotations

from simonides.compiled import kernel


@kernel()
def count_rivals(scores, own, first_edge, width, counts, highest):  # type: ignore[no-untyped-def]
    """Add every score but those in column ``own`` of each row to the bins' counts.

    The first and the last bin take what is beyond the edges. Writes each row's highest score; returns
    the number of scores, their sum and that of their squares.
    """
    last = len(counts) - 1
    number, total, squares = 0, 0.0, 0.0
    for row in range(scores.shape[0]):
        best = -1e300
        for column in range(scores.shape[1]):
            if column == own[row]:
                continue
            score = float(scores[row, column])
            best = max(best, score)
            number += 1
            total += score
            squares += score * score
            place = (score - first_edge) / width + 1.0
            counts[int(min(max(place, 0.0), float(last)))] += 1
        highest[row] = best
    return number, total, squares
