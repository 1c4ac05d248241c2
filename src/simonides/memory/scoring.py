"""Scores in blocks of rows: no array of all inputs times all outputs unless it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simonides.problems.scan import row_blocks
from simonides.problems.scores import struck_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.arrays import Integers, Reals, Truths


@dataclass(frozen=True, eq=False)
class Scorer:
    """A linear map, whole or as two factors, and the outputs that its images are compared with."""

    weights: Reals
    factors: tuple[Reals, Reals] | None
    outputs: Reals

    def images(self, inputs: Reals) -> Reals:
        """Return W x for every input."""
        if self.factors is None:
            return np.asarray(inputs @ self.weights.T)
        left, right = self.factors
        return np.asarray((inputs @ right) @ left.T)

    def scores(self, inputs: Reals) -> Reals:
        """Return the score of every output for every input, shape (inputs, outputs)."""
        return np.asarray(self.images(inputs) @ self.outputs.T)

    def blocks(self, inputs: Reals) -> Iterator[tuple[slice, Reals]]:
        """Yield the scores of some inputs at a time."""
        width = len(self.outputs) + sum(self.weights.shape)
        for rows in row_blocks(len(inputs), 8 * width):
            yield rows, self.scores(np.asarray(inputs[rows], dtype=np.float64))

    def best(self, inputs: Reals) -> Integers:
        """Return the number of the output that scores highest for each input."""
        best = np.empty(len(inputs), dtype=np.int64)
        for rows, scores in self.blocks(inputs):
            best[rows] = scores.argmax(axis=1)
        return best

    def top(self, inputs: Reals, number: int) -> Integers:
        """Return the numbers of the outputs that score highest, best first, ties in order of number."""
        best = np.empty((len(inputs), number), dtype=np.int64)
        for rows, scores in self.blocks(inputs):
            best[rows] = np.argsort(-scores, axis=1, kind="stable")[:, :number]
        return best

    def leads(self, inputs: Reals, targets: Integers) -> Reals:
        """Return by how much each target leads its strongest rival."""
        return np.subtract(*self.contests(inputs, targets))

    def contests(self, inputs: Reals, targets: Integers) -> tuple[Reals, Reals]:
        """Return the scores of each fact's target and of its strongest rival."""
        own, rival = np.empty((2, len(inputs)))
        for rows, scores in self.blocks(inputs):
            own[rows] = struck_out(scores, targets[rows])
            rival[rows] = scores.max(axis=1)
        return own, rival


def leading(scorer: Scorer, inputs: Reals, targets: Integers, margin: float) -> Truths:
    """Return which targets lead every rival by the margin, in units of the off-target scores."""
    leads = scorer.leads(inputs, targets)
    if margin == 0:
        return np.asarray(leads > 0)
    return np.asarray(leads >= margin * score_unit(scorer, inputs, targets)) & (leads > 0)


def score_unit(scorer: Scorer, inputs: Reals, targets: Integers) -> float:
    """Return the deviation of the off-target scores, in which margins are measured.

    Scores are taken about the mean of all outputs' for the same input, as recall does not see it. Their
    mean square over all pairs follows from second moments; that of the targets is taken off.
    """
    outputs = scorer.outputs - scorer.outputs.mean(axis=0)
    moments, own = np.zeros((inputs.shape[1],) * 2), 0.0
    for rows in row_blocks(len(inputs), 8 * sum(scorer.weights.shape)):
        part = np.asarray(inputs[rows], dtype=np.float64)
        moments += part.T @ part
        target = np.einsum("ij,ij->i", scorer.images(part), outputs[targets[rows]])
        own += float(target @ target)
    pulled = outputs @ scorer.weights
    total = float(np.vdot(pulled @ moments, pulled))
    pairs = len(inputs) * (len(outputs) - 1)
    return float(np.sqrt(max(total - own, 0.0) / pairs))
