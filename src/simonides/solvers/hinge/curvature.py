"""The Hessian of the hinge on its active pairs, by blocks of facts that threads share."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import threads
from simonides.solvers.hinge import kernels
from simonides.solvers.hinge.bells import A_WHILE, OVER, hear, ring
from simonides.solvers.hinge.hinge import SLACK_PRICE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

    from simonides.arrays import Reals
    from simonides.solvers.hinge.hinge import Hinge

_SPARSE_ROWS = 0.8
"""With fewer facts than this fraction active, their inputs are gathered first."""


class Curvature:
    """The curvature at one point.

    A product with a direction costs two thin matrix products and two passes over the active pairs; in
    single precision it is twice as fast, and as good for a Newton direction.
    """

    def __init__(self, hinge: Hinge, precision: type[np.floating[Any]]) -> None:
        pairs, task = hinge.scan.pairs, hinge.task
        inputs, targets, pointer = task.inputs, task.problem.target_outputs, pairs.pointer
        active = np.flatnonzero(np.diff(pointer))
        if len(active) < _SPARSE_ROWS * len(inputs):
            inputs, targets = inputs[active], targets[active]
            pointer = np.append(pointer[active], pointer[-1])
        blocks, shape = threads.blocks(len(inputs)), hinge.weights.shape
        self._rows = max(block.stop - block.start for block in blocks)
        self._terms = (
            np.array([0, *(block.stop for block in blocks)]),
            inputs.astype(precision),
            (targets.astype(precision), pairs.table.astype(precision), pointer, pairs.index),
            (1 / hinge.units).astype(precision),
            precision(SLACK_PRICE),
            np.empty(len(pairs), precision),
        )
        self._search = np.empty(shape, precision)
        self._bent = np.empty((len(blocks), *shape), precision)
        self._asked, self._done = np.zeros((2, 1), np.int64)
        self._own, self._due = self._work(slice(0, len(blocks))), 0
        self._serving: list[Future[None]] = []
        self._each = task.each
        self.precision = precision
        self.trace = float(len(pairs))

    def __call__(self, direction: Reals) -> Reals:
        """Return the Hessian times a direction."""
        self._search[:] = direction
        if len(self._bent) == 1:
            return self._whole()
        self._due += len(self._serving)
        ring(self._asked)
        kernels.bend(*self._own)
        while hear(self._done, self._due, A_WHILE) < self._due:
            for one in self._serving:
                if one.done():
                    one.result()  # it did not end by itself: this raises what went wrong
        return np.asarray(self._bent.sum(axis=0))

    def _whole(self) -> Reals:
        """Return the product where all facts are one block, which spares what threads need compiled."""
        _, inputs, pairs, *rest = self._terms
        images, pulled = self._own[-3]
        np.matmul(inputs, self._search.T, out=images)
        kernels.curve(images, *pairs, *rest, pulled)
        return np.asarray(pulled.T @ inputs)

    @property
    def rows(self) -> int:
        """Number of facts that take part."""
        return len(self._terms[1])

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Have the crew's other threads take their share of the products.

        They stay awake for it, and do nothing else meanwhile.
        """
        crew, whole = self._each, self._own
        if not isinstance(crew, threads.Crew):
            yield
            return
        own, *rest = threads.shares(len(self._bent), crew.size)
        asked, done = self._asked, self._done = np.zeros((2, 1), np.int64)
        self._due = 0
        try:
            for part in rest:
                self._serving.append(crew.start(kernels.serve, asked, done, self._work(part)))
            self._own = self._work(own)
            yield
        finally:
            asked[0] = OVER  # before anything else: who is not told would wait forever
            serving, self._serving, self._own, self._due = self._serving, [], whole, 0
            self._asked, self._done = np.zeros((2, 1), np.int64)
            for one in serving:
                one.result()

    def _work(self, blocks: slice) -> tuple[Any, ...]:
        scratch = np.empty((2, self._rows, len(self._search)), self._search.dtype)
        return ((blocks.start, blocks.stop), *self._terms, tuple(scratch), self._search, self._bent)
