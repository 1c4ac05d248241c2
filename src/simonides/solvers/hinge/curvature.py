"""The Hessian of the hinge on its active pairs, by blocks of facts that threads share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import threads
from simonides.solvers.hinge import kernels
from simonides.solvers.hinge.hinge import SLACK_PRICE

if TYPE_CHECKING:
    from simonides.arrays import Reals
    from simonides.solvers.hinge.hinge import Hinge

_SPARSE_ROWS = 0.8
"""With fewer facts than this fraction active, their inputs are gathered first.

Gathering copies the active inputs once, and each of the tens of products after it then spares the idle
rows: it pays unless hardly any row is idle.
"""


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
        self._inputs, self._targets = inputs.astype(precision), targets.astype(precision)
        self._pointer, self._index, self._table = (
            pointer,
            pairs.index,
            pairs.table.astype(precision),
        )
        self._scales = (1 / hinge.units).astype(precision)
        self._leads = np.empty(len(pairs), precision)
        self._images, self._pulled = np.empty((2, *targets.shape), precision)
        self._blocks = list(enumerate(threads.blocks(len(inputs))))
        self._products = np.empty((len(self._blocks), *hinge.weights.shape), precision)
        self._each = task.each
        self.precision = precision
        self.trace = float(len(pairs))

    def __call__(self, direction: Reals) -> Reals:
        """Return the Hessian times a direction."""
        transposed = np.ascontiguousarray(direction, self.precision).T
        list(self._each(lambda block: self._multiply(transposed, *block), self._blocks))
        return np.asarray(self._products.sum(axis=0))

    @property
    def rows(self) -> int:
        """Number of facts that take part."""
        return len(self._inputs)

    def _multiply(self, transposed: Reals, number: int, rows: slice) -> None:
        """Write what a block of facts adds to the product."""
        inputs, images, pulled = self._inputs[rows], self._images[rows], self._pulled[rows]
        np.matmul(inputs, transposed, out=images)
        kernels.curve(
            images,
            self._targets[rows],
            self._table,
            self._pointer[rows.start : rows.stop + 1],
            self._index,
            self._scales,
            self.precision(SLACK_PRICE),
            self._leads,
            pulled,
        )
        np.matmul(pulled.T, inputs, out=self._products[number])
