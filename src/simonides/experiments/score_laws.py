r"""How a memory's scores are distributed, counted in bins that are the same for all.

The score of output :math:`y_j` at input :math:`x_i` is :math:`y_j^T W x_i / |W|_F`. For Gaussian vectors
that know nothing of :math:`W` its variance is one. Those a memory was trained on know it; their standard
deviation is recorded, and bin edges divided by it give the counts of scores with variance one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simonides.arrays import Integers, Reals
from simonides.compiled import kernel
from simonides.failures import ConvergenceError
from simonides.problems.problem import Problem

SCORE_EDGES: Reals = np.linspace(-8.0, 16.0, 481)
"""Edges of the bins. Counts have one number more at each end: scores below them, and from the last on."""

_WIDTH = 0.05
"""Of a bin: a twentieth of the standard deviation of a score, finer than any picture shows."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Counts, means and standard deviations of scores.

    ``counts`` has ``len(SCORE_EDGES) + 1`` numbers.
    """

    counts: Integers
    mean: float
    std: float


@dataclass(frozen=True, eq=False)
class ScoreLaws:
    """The scores of the targets, of each fact's best rival, and of all rivals."""

    target: Scores
    best_rival: Scores
    rival: Scores


def score_laws(problem: Problem, weights: Reals) -> ScoreLaws:
    """Return how the scores of a problem's outputs are distributed.

    Scores are computed in single precision, far finer than the bins. Raises ``ConvergenceError`` for
    weights that are zero or not finite, which have no scale.
    """
    norm = float(np.linalg.norm(weights))
    if not math.isfinite(norm) or norm == 0:
        raise ConvergenceError(f"weights of norm {norm:g} have no scores: take smaller steps")
    images = problem.images(weights / norm)
    counts = np.zeros(len(SCORE_EDGES) + 1, dtype=np.int64)
    number, total, squares, best = 0, 0.0, 0.0, []
    for block in problem.score_blocks(images.astype(np.float32), np.float32):
        highest = np.empty(len(block.rivals))
        part = _count_rivals(block.rivals, SCORE_EDGES[0], _WIDTH, counts, highest)
        number, total, squares = number + part[0], total + part[1], squares + part[2]
        best.append(highest)
    mean = total / number
    return ScoreLaws(
        target=_scores(np.einsum("ij,ij->i", images, problem.target_outputs)),
        best_rival=_scores(np.concatenate(best)),
        rival=Scores(counts, mean, math.sqrt(max(squares / number - mean**2, 0.0))),
    )


def _scores(scores: Reals) -> Scores:
    places = np.floor((scores - SCORE_EDGES[0]) / _WIDTH) + 1
    places = np.clip(places, 0, len(SCORE_EDGES)).astype(np.int64)
    counts = np.bincount(places, minlength=len(SCORE_EDGES) + 1)
    return Scores(counts, float(scores.mean()), float(scores.std()))


@kernel()
def _count_rivals(scores, first_edge, width, counts, highest):  # type: ignore[no-untyped-def]
    """Add every score to the bins' counts, but for minus infinity, which stands where a target is.

    The first and the last bin take what is beyond the edges. Writes each row's highest score; returns
    the number of scores, their sum and that of their squares.
    """
    last = len(counts) - 1
    number, total, squares = 0, 0.0, 0.0
    for row in range(scores.shape[0]):
        best = -np.inf
        for column in range(scores.shape[1]):
            score = float(scores[row, column])
            if score == -np.inf:
                continue
            best = max(best, score)
            number += 1
            total += score
            squares += score * score
            place = (score - first_edge) / width + 1.0
            counts[int(min(max(place, 0.0), float(last)))] += 1
        highest[row] = best
    return number, total, squares
