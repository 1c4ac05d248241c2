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

from simonides.failures import ConvergenceError
from simonides.problems.original import OriginalProblem
from simonides.problems.scan import row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.arrays import Integers, Reals
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

    Raises ``ConvergenceError`` for weights that are zero or not finite, which have no scale.
    """
    norm = float(np.linalg.norm(weights))
    if not math.isfinite(norm) or norm == 0:
        raise ConvergenceError(f"weights of norm {norm:g} have no scores: take smaller steps")
    tallies = [_Tally() for _ in range(3)]
    for target, rivals in _blocks(problem, problem.inputs @ (weights.T / norm)):
        for tally, part in zip(tallies, (target, rivals.max(axis=1), rivals.ravel()), strict=True):
            tally.add(part)
    return ScoreLaws(*(tally.scores() for tally in tallies))


def _blocks(problem: Problem, images: Reals) -> Iterator[tuple[Reals, Reals]]:
    """Yield the scores of targets and of all their rivals, some facts at a time."""
    if isinstance(problem, OriginalProblem):
        assert problem.targets is not None  # set on construction
        for rows in row_blocks(problem.facts, 8 * problem.candidates):
            scores = images[rows] @ problem.outputs.T
            theirs = np.ones(scores.shape, dtype=bool)
            theirs[np.arange(len(scores)), problem.targets[rows]] = False
            yield scores[~theirs], scores[theirs].reshape(len(scores), -1)
        return
    for rows in row_blocks(problem.facts, 8 * problem.candidates * problem.dim_out):
        outputs = problem.rivals_of(rows).astype(np.float64)
        target = np.einsum("ij,ij->i", images[rows], problem.target_outputs[rows])
        yield target, np.matmul(outputs, images[rows, :, None])[:, :, 0]


class _Tally:
    """Running counts and sums."""

    def __init__(self) -> None:
        self._counts = np.zeros(len(SCORE_EDGES) + 1, dtype=np.int64)
        self._number, self._sum, self._squares = 0, 0.0, 0.0

    def add(self, scores: Reals) -> None:
        places = np.floor((scores - SCORE_EDGES[0]) / _WIDTH) + 1
        places = np.clip(places, 0, len(SCORE_EDGES)).astype(np.int64)
        self._counts += np.bincount(places, minlength=len(SCORE_EDGES) + 1)
        self._number += scores.size
        self._sum += float(scores.sum())
        self._squares += float(scores @ scores)

    def scores(self) -> Scores:
        mean = self._sum / self._number
        return Scores(
            self._counts, mean, math.sqrt(max(self._squares / self._number - mean**2, 0.0))
        )
