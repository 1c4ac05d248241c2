r"""How a memory's scores are distributed, counted in bins that are the same for all.

The score of output :math:`y_j` at input :math:`x_i` is :math:`y_j^T W x_i / |W|_F`. For Gaussian vectors
that know nothing of :math:`W` its variance is one. Those a memory was trained on know it; their standard
deviation is recorded, and bin edges divided by it give the counts of scores with variance one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simonides.compiled import kernel
from simonides.failures import ConvergenceError
from simonides.problems.original import OriginalProblem
from simonides.problems.scan import row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.arrays import Integers, Reals, Singles
    from simonides.problems.problem import Problem

SCORE_EDGES: Reals = np.linspace(-8.0, 16.0, 481)
"""Edges of the bins. Counts have one number more at each end: scores below them, and from the last on."""

_WIDTH = 0.05


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
    images = problem.inputs @ (weights.T / norm)
    counts = np.zeros(len(SCORE_EDGES) + 1, dtype=np.int64)
    number, total, squares, best = 0, 0.0, 0.0, []
    for scores, own in _blocks(problem, images.astype(np.float32)):
        highest = np.empty(len(scores))
        part = _count_rivals(scores, own, SCORE_EDGES[0], _WIDTH, counts, highest)
        number, total, squares = number + part[0], total + part[1], squares + part[2]
        best.append(highest)
    mean = total / number
    return ScoreLaws(
        target=_scores(np.einsum("ij,ij->i", images, problem.target_outputs)),
        best_rival=_scores(np.concatenate(best)),
        rival=Scores(counts, mean, math.sqrt(max(squares / number - mean**2, 0.0))),
    )


def _blocks(problem: Problem, images: Singles) -> Iterator[tuple[Singles, Integers]]:
    """Yield scores, some facts at a time, and in which column the target is (-1: in none)."""
    if isinstance(problem, OriginalProblem):
        assert problem.targets is not None  # set on construction
        outputs = problem.outputs.astype(np.float32)
        for rows in row_blocks(problem.facts, 4 * problem.candidates):
            yield images[rows] @ outputs.T, problem.targets[rows]
        return
    absent = np.full(problem.facts, -1)
    for rows in row_blocks(problem.facts, 4 * problem.candidates * problem.dim_out):
        scores = np.matmul(problem.rivals_of(rows), images[rows, :, None])[:, :, 0]
        yield scores, absent[rows]


def _scores(scores: Reals) -> Scores:
    places = np.floor((scores - SCORE_EDGES[0]) / _WIDTH) + 1
    places = np.clip(places, 0, len(SCORE_EDGES)).astype(np.int64)
    counts = np.bincount(places, minlength=len(SCORE_EDGES) + 1)
    return Scores(counts, float(scores.mean()), float(scores.std()))


@kernel()
def _count_rivals(scores, own, first_edge, width, counts, highest):  # type: ignore[no-untyped-def]
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
