r"""The squared hinge with a slack for every fact, and its gradient.

Every constraint (fact :math:`i`, rival :math:`j`) is a matrix
:math:`A_{ij} = (y_i - y_j) x_i^T / (u_{ij} |x_i|)`, with a unit :math:`u_{ij}` that makes its length about
one, and

.. math:: f(W) = \min_{s \ge 0} \frac12 \sum_i \Bigl[ \tau s_i^2 + \sum_j r_{ij}^2 \Bigr] , \qquad
          r_{ij} = (1 - s_i - \langle W, A_{ij} \rangle)_+ .

Without the slack, at an infinite price :math:`\tau`, the constraints of a fact all pull along its own
target and the curvature is uneven; at :math:`\tau = 1` the function is the squared distance to the cone in
which the fact is recalled, and pairs come and go too much. In between, steps are few and cheap.

Its derivatives live on the active pairs alone, a few per fact. Since
:math:`\nabla f = -\sum r_{ij} A_{ij}`, the residuals are multipliers that bound the normalised margin of
*any* weights by :math:`|\nabla f|_F / \sum r_{ij} |A_{ij}|_F`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from simonides import threads
from simonides.problems.scan import Recall
from simonides.solvers.hinge import kernels
from simonides.solvers.solution import Multipliers

if TYPE_CHECKING:
    from simonides.arrays import Reals
    from simonides.problems.problem import Problem
    from simonides.problems.scan import Scan
    from simonides.threads import Each

SLACK_PRICE = 20.0
"""Seven decisions at dimensions 30 and 60 took 66 steps at 20, 72 to 80 from 5 to 2,000, 139 at 1."""

_MOST_GROWTH = 4.0
"""A step after which so many times more pairs are close was too long."""

_ALWAYS_FIT = 2e6
"""Close pairs that fit in memory whatever the size: some 100 MB."""


@dataclass(frozen=True, eq=False)
class HingeProblem:
    """A problem with its inputs scaled to unit length, and the threads to work on it with.

    Neither storability nor the normalised margin depends on the inputs' lengths; speed does. The unit
    of a pair's lead is its size, or its exact span, as the largest normalised margin needs it.
    """

    problem: Problem
    each: Each
    exact: bool = False

    @property
    def reach(self) -> float:
        """Lead below which a pair is close, in sizes: a span is at most the root of two of them."""
        return 2**0.5 if self.exact else 1.0

    @cached_property
    def lengths(self) -> Reals:
        """Length of each input."""
        return np.asarray(np.linalg.norm(self.problem.inputs, axis=1))

    @cached_property
    def inputs(self) -> Reals:
        """Inputs of unit length (zero ones stay zero)."""
        return np.asarray(
            self.problem.inputs / np.where(self.lengths > 0, self.lengths, 1.0)[:, None]
        )

    def images(self, weights: Reals) -> Reals:
        """Return W x for every input."""
        images = np.empty((len(self.inputs), len(weights)))

        def work(part: slice) -> None:
            np.matmul(self.inputs[part], weights.T, out=images[part])

        list(self.each(work, threads.blocks(len(images))))
        return images

    def outer(self, rows: Reals) -> Reals:
        """Return the sum over facts of row times input, transposed as weights are."""
        parts = threads.blocks(len(rows))
        return np.asarray(sum(self.each(lambda part: rows[part].T @ self.inputs[part], parts)))


@dataclass(frozen=True, eq=False)
class Hinge:
    """The hinge at some weights: the close pairs, the active ones among them, and their residuals."""

    task: HingeProblem
    weights: Reals
    images: Reals
    close: Scan
    scan: Scan
    units: Reals
    residuals: Reals
    objective: float

    @classmethod
    def at(cls, task: HingeProblem, weights: Reals) -> Hinge:
        """Evaluate the hinge."""
        images = task.images(weights)
        close = task.problem.scan(images, task.reach, task.each)
        return cls._of(task, weights, images, close)

    def try_at(self, weights: Reals, images: Reals | None = None) -> Hinge | None:
        """Evaluate the hinge elsewhere, or return None if far more pairs are close there than here.

        A step that breaks so many was too long, and its pairs might not fit in memory. ``images`` may
        be passed if they are known.
        """
        if images is None:
            images = self.task.images(weights)
        most = max(_MOST_GROWTH * len(self.close.gaps), _ALWAYS_FIT)
        close = self.task.problem.scan_within(most, images, self.task.reach, self.task.each)
        return None if close is None else Hinge._of(self.task, weights, images, close)

    @classmethod
    def _of(cls, task: HingeProblem, weights: Reals, images: Reals, close: Scan) -> Hinge:
        units = close.spans if task.exact else np.where(close.sizes > 0, close.sizes, 1.0)
        excess = 1 - close.gaps / units
        residuals = np.empty_like(excess)
        objective = kernels.share_slack(excess, close.pairs.pointer, SLACK_PRICE, residuals)
        active = residuals > 0
        scan, units, residuals = close.where(active), units[active], residuals[active]
        return cls(task, weights, images, close, scan, units, residuals, objective)

    def doubled(self) -> Hinge:
        """Return the hinge at twice the weights: its close pairs are among those of now."""
        close = replace(self.close, gaps=2 * self.close.gaps)
        close = close.where(close.gaps <= self.task.reach * close.sizes)
        return Hinge._of(self.task, 2 * self.weights, 2 * self.images, close)

    @property
    def lost(self) -> int:
        """Number of facts that are not recalled."""
        return self.task.problem.facts - self.scan.recalled

    @cached_property
    def gradient(self) -> Reals:
        """Derivative with respect to the weights."""
        values, pairs = -self.residuals / self.units, self.scan.pairs
        pulled = np.empty_like(self.images)

        def work(part: slice) -> None:
            pointer = pairs.pointer[part.start : part.stop + 1]
            targets = self.task.problem.target_outputs[part]
            kernels.pull(values, targets, pairs.table, pointer, pairs.index, pulled[part])

        list(self.task.each(work, threads.blocks(len(pulled))))
        return self.task.outer(pulled)

    @property
    def moderate(self) -> bool:
        """Whether single precision holds the outputs and the squares of their sizes."""
        sizes = self.scan.sizes
        return not len(sizes) or bool(sizes.min() > 1e-15 and sizes.max() < 1e15)

    @property
    def margin_upper(self) -> float:
        """Bound on the normalised margin of any weights, from the residuals as multipliers."""
        total = float(self.residuals @ (self.scan.spans / self.units))
        return float(np.linalg.norm(self.gradient)) / total if total > 0 else np.inf

    @property
    def margin_lower(self) -> float:
        """Lower bound on the smallest normalised lead of these weights, exact if a close pair has it."""
        size = float(np.linalg.norm(self.weights))
        if size == 0:
            return -np.inf
        # A pair that is not close leads by more than its reach times its size, a span by 2**0.5 of that.
        beyond = self.task.reach / 2**0.5
        return float((self.close.gaps / self.close.spans).min(initial=beyond)) / size

    def recall(self) -> Recall:
        """Return how recall stands for the inputs as they were given."""
        problem, lengths = self.task.problem, self.task.lengths
        gaps = self.close.gaps * lengths[self.close.pairs.facts]
        smallest = float(gaps.min(initial=np.inf))
        # A pair that is not close leads by more than its reach: may that still be less than the smallest?
        sizes = np.hypot(np.linalg.norm(problem.target_outputs, axis=1), problem.shortest)
        unseen = np.flatnonzero(self.task.reach * sizes * lengths < smallest)
        if not unseen.size:
            return Recall(self.close.recalled, smallest)
        # No close pair is lost, or the smallest gap would not be positive.
        rest = problem.recall(problem.inputs[unseen] @ self.weights.T, self.task.each, unseen)
        lost = unseen.size - rest.recalled
        return Recall(self.close.recalled - lost, min(smallest, rest.smallest_gap))

    def multipliers(self) -> Multipliers:
        """Return the residuals as multipliers of the constraints of the problem as it was given."""
        pairs = self.scan.pairs
        lengths = self.task.lengths[pairs.facts]
        values = self.residuals / self.units / np.where(lengths > 0, lengths, 1.0)
        return Multipliers(pairs.facts, pairs.rivals, values)
