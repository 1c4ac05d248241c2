r"""The mean cross-entropy of a problem, its gradient and its recall, in one pass over all candidates.

With scores :math:`s_{ij} = y_j \cdot W x_i` and target :math:`t_i`,

.. math:: L(W) = \frac1p \sum_i \Big[\log \sum_j e^{s_{ij}} - s_{i t_i}\Big], \qquad
          \nabla L = \frac1p \sum_i r_i x_i^T, \qquad
          r_i = \sum_j P_{ij} (y_j - y_{t_i}),

:math:`P_{ij}` being the softmax of the scores. Sums run over the rivals alone: where the target leads by
far, loss and gradient are small numbers without cancellation, and keep their digits.

Scores live in a few megabytes at a time: facts x candidates numbers are never held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from simonides import threads
from simonides.problems.problem import sharing
from simonides.problems.scores import struck_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.arrays import Reals
    from simonides.problems.problem import Problem, SharedProblem

Precision = Literal["float32", "float64"]
Floats = NDArray[np.floating[Any]]

_BUFFER_BYTES = 2**21
"""Scores at a time: as much as stays in a core's own cache while it is read three times."""

_LEAST_ROWS = 64
"""Fewer rows at a time would read all outputs too often."""


@dataclass(frozen=True, eq=False)
class Risk:
    r"""The cross-entropy at given weights.

    ``gradient`` has the shape of the weights. ``pull`` is :math:`\frac1p \sum_i |r_i| |x_i|`, what the
    gradient's length would be if its terms did not cancel. ``recalled`` counts the facts whose target
    beats every rival.
    """

    loss: float
    gradient: Reals
    recalled: int
    pull: float


class MeanCrossEntropy:
    """The cross-entropy of a problem, averaged over its facts.

    ``precision`` is that of scores and products; sums over blocks are taken in double precision. ``each``
    does the row blocks: the builtin ``map``, or that of ``threads.crew``. Blocks and the order in
    which they are summed depend on the problem's size alone, so the answer does not depend on ``each``.

    >>> from simonides import OriginalProblem
    >>> problem = OriginalProblem.gaussian(5, 3, seed=0)
    >>> round(float(np.exp(MeanCrossEntropy(problem).at(np.zeros((3, 3))).loss)), 9)
    5.0
    """

    def __init__(
        self,
        problem: Problem,
        precision: Precision = "float64",
        each: threads.Each = map,
    ) -> None:
        self._dtype = np.dtype(precision)
        self._each = each
        self._blocks = threads.blocks(problem.facts)
        self._inputs = problem.inputs.astype(self._dtype)
        self._lengths = np.linalg.norm(problem.inputs, axis=1)
        self._targets = problem.target_outputs.astype(self._dtype)
        shared = sharing(problem)
        self._candidates = (
            _Own(problem, self._targets) if shared is None else _Shared(shared, self._dtype)
        )

    def at(self, weights: Floats) -> Risk:
        """Return loss, gradient and recall at weights of shape (dim_out, dim_in)."""
        weights = np.asarray(weights, dtype=self._dtype)
        sums = list(self._each(lambda part: self._block(part, weights), self._blocks))
        facts = len(self._inputs)
        gradient = np.zeros(weights.shape)
        for block in sums:
            gradient += block.gradient
        return Risk(
            loss=sum(block.loss for block in sums) / facts,
            gradient=gradient / facts,
            recalled=sum(block.recalled for block in sums),
            pull=sum(block.pull for block in sums) / facts,
        )

    def _block(self, part: slice, weights: Floats) -> Risk:
        """Return sums over the facts of a block."""
        inputs = self._inputs[part]
        standing, terms = self._candidates.rivalry(part, inputs @ weights.T)
        terms /= standing.total.astype(self._dtype)[:, None]
        terms -= standing.share.astype(self._dtype)[:, None] * self._targets[part]
        lengths = np.sqrt(np.einsum("ij,ij->i", terms, terms))
        pull, gradient = float(lengths @ self._lengths[part]), cast("Reals", terms.T @ inputs)
        return Risk(standing.loss, gradient, standing.recalled, pull)


@dataclass(frozen=True, eq=False)
class Standing:
    """How facts stand: ``total`` sums exponentials of their scores, of which rivals have a ``share``."""

    loss: float
    recalled: int
    total: Reals
    share: Reals

    @classmethod
    def of(cls, target: Floats, best: Floats, mass: Floats) -> Standing:
        """Take scores of target and best rival, and the rivals' exponentials above the higher one."""
        # Scores are counted from the row's highest, so that no exponential overflows.
        behind = np.maximum(best - target, 0).astype(np.float64)
        rivals = mass.astype(np.float64)
        total = rivals + np.exp(-behind)
        losses = behind + np.log1p(rivals + np.expm1(-behind))
        recalled = int(np.count_nonzero(target > best))
        return cls(float(losses.sum()), recalled, total, rivals / total)


class _Shared:
    """Outputs that all facts share."""

    def __init__(self, problem: SharedProblem, dtype: np.dtype[np.floating[Any]]) -> None:
        self._exponentials = Exponentials(problem, dtype)
        self._outputs = problem.outputs.astype(dtype)

    def rivalry(self, part: slice, images: Floats) -> tuple[Standing, Floats]:
        """Return how facts stand, and rivals' outputs summed with the exponentials of their scores."""
        target, best, mass = (np.empty(len(images), images.dtype) for _ in range(3))
        pulled = np.empty_like(images)
        for chunk in self._exponentials.of(part, images, self._outputs):
            rows = chunk.rows
            target[rows], best[rows], mass[rows] = chunk.target, chunk.best, chunk.mass
            np.matmul(chunk.rivals, self._outputs, out=pulled[rows])
        return Standing.of(target, best, mass), pulled


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a block: scores of target and best rival, and exponentials above the higher one.

    ``rivals`` holds those of all outputs, the target's being zero, and ``mass`` their sum.
    """

    rows: slice
    target: Floats
    best: Floats
    rivals: Floats
    mass: Floats


class Exponentials:
    """Exponentials of the scores of outputs that all facts share, a few rows at a time."""

    def __init__(self, problem: SharedProblem, dtype: np.dtype[np.floating[Any]]) -> None:
        self._targets = problem.targets
        fitting = _BUFFER_BYTES // (dtype.itemsize * problem.candidates)
        self._rows = min(max(fitting, _LEAST_ROWS), problem.facts)
        self._spare: list[Floats] = []

    def of(self, part: slice, images: Floats, outputs: Floats) -> Iterator[Chunk]:
        """Yield the chunks of a block of facts; each is gone when the next one comes."""
        targets = self._targets[part]
        # Threads take a buffer and give it back; there are never more than threads.
        shape = self._rows, len(outputs)
        buffer = self._spare.pop() if self._spare else np.empty(shape, images.dtype)
        for low in range(0, len(images), self._rows):
            rows = slice(low, min(low + self._rows, len(images)))
            scores = np.matmul(images[rows], outputs.T, out=buffer[: rows.stop - rows.start])
            target = struck_out(scores, targets[rows])
            best = scores.max(axis=1)
            scores -= np.maximum(target, best)[:, None]
            np.exp(scores, out=scores)
            yield Chunk(rows, target, best, scores, scores.sum(axis=1))
        self._spare.append(buffer)


class _Own:
    """Outputs of each fact's own."""

    def __init__(self, problem: Problem, targets: Floats) -> None:
        self._problem = problem
        self._targets = targets
        rival_bytes = targets.itemsize * (problem.candidates - 1) * problem.dim_out
        self._rows = max(_BUFFER_BYTES // rival_bytes, 1)

    def rivalry(self, part: slice, images: Floats) -> tuple[Standing, Floats]:
        """Return how facts stand, and rivals' outputs summed with the exponentials of their scores."""
        size = len(images)
        target = np.einsum("ij,ij->i", images, self._targets[part])
        best, mass, pulled = np.empty_like(target), np.empty_like(target), np.empty_like(images)
        for low in range(0, size, self._rows):
            rows = slice(low, min(low + self._rows, size))
            drawn = self._problem.rivals_of(slice(part.start + rows.start, part.start + rows.stop))
            outputs = drawn.astype(images.dtype, copy=False)
            scores = np.matmul(outputs, images[rows, :, None])[:, :, 0]
            scores.max(axis=1, out=best[rows])
            scores -= np.maximum(target[rows], best[rows])[:, None]
            np.exp(scores, out=scores)
            scores.sum(axis=1, out=mass[rows])
            np.matmul(scores[:, None, :], outputs, out=pulled[rows, None, :])
        return Standing.of(target, best, mass), pulled
