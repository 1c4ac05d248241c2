r"""Facts whose images are to move, and the constraints on them that are looked at.

The unit of a fact is what it lacks of its margin to begin with. In it fact :math:`i` has an input
:math:`x_i`, an image :math:`b_i` and a margin :math:`m_i`, and every constraint (fact :math:`i`, rival
:math:`j`) is

.. math:: \langle M, A_{ij} \rangle + o_{ij} \ge m_i , \qquad
          A_{ij} = \frac{(y_i - y_j) x_i^T}{|y_i - y_j|} , \quad
          o_{ij} = \frac{(y_i - y_j)^T b_i}{|y_i - y_j|} .

The change is always a sum of constraints, :math:`M = \sum_i r_i x_i^T`, so it is kept as one pull
:math:`r_i` per fact and never formed: images move by the inputs' Gram matrix times the pulls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh

from simonides import threads
from simonides.problems import kernels as gap_kernels
from simonides.problems.scan import Pairs
from simonides.solvers.hinge import kernels as hinge_kernels

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals
    from simonides.problems.problem import SharedProblem
    from simonides.threads import Each

_REACH = 2**0.5
"""In sizes: a span is at most so many of them, so that no constraint below its margin is missed."""

_AHEAD = 0.02
"""Lead above the margin that is looked at, in what facts lack at first: a late step undoes no more."""

_LEAST_UNIT = 0.1
"""Of the median lack over its input's length: a fact that lacks less is moved by the others."""

_MOST_CLOSE = 64
"""Close rivals of a fact, on average, up to which all are looked at: some thirty are active at most."""

_MOST_SCANNED = 256
"""Rivals of a fact, on average, that a pass may name: of those close by sizes few are close by spans."""

_HIGHEST_RIVALS = 8
"""Where more are close, the highest of each fact that are new: with more, steps follow the irrelevant."""

_SLACK = 1.01
"""Factor of a span that covers its rounding in single precision."""

_BLUR = 2.0**-21
"""Relative rounding of a single precision score, with room for a sum that is long."""


@dataclass(frozen=True, eq=False)
class MovingFacts:
    """Inputs, first images and margins of all facts in their units, and the threads to work with."""

    problem: SharedProblem
    inputs: Reals
    offsets: Reals
    margins: Reals
    units: Reals
    each: Each

    @classmethod
    def of(
        cls, problem: SharedProblem, inputs: Reals, offsets: Reals, margins: Reals, each: Each
    ) -> MovingFacts:
        """Return the facts in units of what each lacks at first."""
        lacks = _lacks(problem, offsets, margins)
        lengths = np.linalg.norm(inputs, axis=1)
        heard = lengths > 0
        needs = np.divide(lacks, lengths, out=np.zeros_like(lacks), where=heard)
        least = _LEAST_UNIT * float(np.median(needs[needs > 0])) if (needs > 0).any() else 0.0
        units = np.where(heard, lengths * np.maximum(needs, least), lacks)
        units = np.where(units > 0, units, margins)
        column = units[:, None]
        return cls(problem, inputs / column, offsets / column, margins / units, units, each)

    @cached_property
    def _gram(self) -> Reals | None:
        """Products of inputs, where that is the smaller matrix."""
        facts, dim = self.inputs.shape
        return self.inputs @ self.inputs.T if facts <= dim else None

    def moved(self, pulls: Reals) -> Reals:
        """Return by how much pulls, a row per fact, move every image."""
        left, right = (
            (self._gram, pulls) if self._gram is not None else (self.inputs, self.change(pulls).T)
        )
        images = np.empty_like(pulls)

        def work(part: slice) -> None:
            np.matmul(left[part], right, out=images[part])

        list(self.each(work, threads.blocks(len(pulls))))
        return images

    def change(self, pulls: Reals) -> Reals:
        """Return the change itself, shape (dim_out, dim)."""
        return np.asarray(pulls.T @ self.inputs)

    @cached_property
    def squares(self) -> Reals:
        """Square of each input's length."""
        return np.asarray(np.einsum("ij,ij->i", self.inputs, self.inputs))

    @cached_property
    def common(self) -> Reals:
        """Component of each input along the direction that the inputs share most."""
        facts, dim = self.inputs.shape
        matrix = self.inputs.T @ self.inputs if self._gram is None else self._gram
        last = len(matrix) - 1
        value, vector = eigh(matrix, subset_by_index=(last, last))
        if facts <= dim:
            return np.asarray(vector[:, 0] * np.sqrt(max(float(value[0]), 0.0)))
        return np.asarray(self.inputs @ vector[:, 0])

    def none(self) -> Constraints:
        """Return no constraints."""
        empty = np.empty(0)
        pointer = np.zeros(self.problem.facts + 1, np.int64)
        whole = empty.astype(np.int64)
        pairs = Pairs(pointer, whole, whole, self.problem.outputs)
        return Constraints(self, pairs, empty, empty, empty, empty)

    def close_rivals(self, images: Reals, known: Constraints) -> tuple[Integers, Integers, bool]:
        """Return pairs (fact, rival) that may break their constraint, and whether these are all.

        Where too many do, they are the highest of each fact beside those known already, more of them from
        pass to pass. Those known are not named again, and count as named.
        """
        problem = self.problem
        scaled = images / (self.margins + _AHEAD)[:, None]
        scan = problem.scan_within(_MOST_SCANNED * problem.facts, scaled, _REACH, self.each)
        if scan is not None:
            pairs = scan.pairs.where(scan.gaps < scan.spans)
            if len(pairs) <= _MOST_CLOSE * problem.facts:
                return pairs.facts, pairs.rivals, True
        return self._highest(scaled, known)

    def seen(self, images: Reals, known: Constraints) -> tuple[Constraints, Reals, int, float]:
        """Return the constraints after a pass, their leads, the number of facts lost, and the worst lack.

        That is what the worst constraint lacks, infinite where the pass did not see every one.
        """
        facts, rivals, every = self.close_rivals(images, known)
        constraints = known.joined(facts, rivals)
        leads = constraints.leads(images)
        lost = np.unique(constraints.pairs.facts[leads <= 0]).size
        worst = float((constraints.margins - leads).max(initial=-np.inf)) if every else np.inf
        return constraints, leads, lost, worst

    def _highest(self, images: Reals, known: Constraints) -> tuple[Integers, Integers, bool]:
        """Return the highest rivals of each fact that are close and not known yet, and if these are all."""
        problem, pairs = self.problem, known.pairs
        average = len(pairs) // problem.facts
        count = min(max(_HIGHEST_RIVALS, average), problem.candidates - 1)
        longest = float(np.linalg.norm(problem.outputs, axis=1).max())
        # Spans do not change if all outputs are shifted, and about their mean least is lost to rounding.
        centred = (problem.outputs - problem.outputs.mean(axis=0)).astype(np.float32)
        squares = np.einsum("ij,ij->i", centred, centred)
        blurs = 2 * _BLUR * longest * np.linalg.norm(images, axis=1)
        blurred = float(blurs.max()) > 0.2 * _REACH * longest
        blurred |= not 1e-8 < longest < 1e8  # beyond what single precision squares
        facts, rivals, complete = [], [], True
        for block in problem.score_blocks(images, np.float64 if blurred else np.float32):
            rows, scores = block.rows, block.rivals
            first, last = pairs.pointer[rows.start], pairs.pointer[rows.stop]
            names = np.repeat(
                np.arange(rows.stop - rows.start),
                np.diff(pairs.pointer[rows.start : rows.stop + 1]),
            )
            scores[names, pairs.rivals[first:last]] = -np.inf
            targets = problem.targets[rows]
            spans = squares[targets, None] + squares - 2 * centred[targets] @ centred.T
            spans = np.sqrt(np.maximum(spans, 0.0, out=spans), out=spans)
            close = block.own[:, None] - scores <= _SLACK * spans + blurs[rows, None]
            scores[~close] = -np.inf
            highest = np.argpartition(scores, -count, axis=1)[:, -count:]
            places, columns = np.nonzero(np.take_along_axis(close, highest, axis=1))
            complete &= places.size == np.count_nonzero(close)
            facts.append(places + rows.start)
            rivals.append(highest[places, columns])
        return np.concatenate(facts), np.concatenate(rivals), complete


def _lacks(problem: SharedProblem, offsets: Reals, margins: Reals) -> Reals:
    """Return what each fact lacks of its margin against its highest rival, zero if nothing."""
    lacks = np.empty(problem.facts)
    for block in problem.score_blocks(offsets, np.float64):
        highest = block.rivals.argmax(axis=1)
        own, rivals = problem.target_outputs[block.rows], problem.outputs[highest]
        spans = np.linalg.norm(own - rivals, axis=1)
        gaps = np.einsum("ij,ij->i", own - rivals, offsets[block.rows])
        leads = gaps / np.maximum(spans, np.finfo(float).tiny)
        lacks[block.rows] = np.maximum(margins[block.rows] - leads, 0.0)
    return lacks


@dataclass(frozen=True, eq=False)
class Constraints:
    """Constraints looked at, ordered by fact and rival.

    ``margins`` are those of their facts, ``initial`` is what each leads by at the offsets alone;
    ``multipliers`` are those of the augmented Lagrangian, and ``prices`` what the last Newton equation
    came to.
    """

    facts: MovingFacts
    pairs: Pairs
    spans: Reals
    initial: Reals
    multipliers: Reals
    prices: Reals

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def margins(self) -> Reals:
        """The margin of each constraint's fact."""
        return np.asarray(self.facts.margins[self.pairs.facts])

    def joined(self, facts: Integers, rivals: Integers) -> Constraints:
        """Return these constraints and those of further pairs, whose multipliers are zero."""
        candidates = self.facts.problem.candidates
        here = self.pairs.facts * candidates + self.pairs.rivals
        numbers = np.union1d(here, facts * candidates + rivals)
        places = np.searchsorted(numbers, here)

        def spread(values: Reals) -> Reals:
            wider = np.zeros(len(numbers))
            wider[places] = values
            return wider

        names, rivals = np.divmod(numbers, candidates)
        pointer = np.searchsorted(names, np.arange(self.facts.problem.facts + 1)).astype(np.int64)
        pairs = Pairs(pointer, rivals, rivals, self.pairs.table)
        gaps, spans = _gaps_and_spans(self.facts, pairs, self.facts.offsets)
        return Constraints(
            self.facts, pairs, spans, gaps / spans, spread(self.multipliers), spread(self.prices)
        )

    def where(self, kept: Any) -> Constraints:
        """Return the constraints that a mask keeps."""
        arrays: Any = {
            name: getattr(self, name)[kept]
            for name in ("spans", "initial", "multipliers", "prices")
        }
        return replace(self, pairs=self.pairs.where(kept), **arrays)

    def leads(self, images: Reals) -> Reals:
        """Return by how much each constraint's target leads, in spans."""
        gaps, spans = _gaps_and_spans(self.facts, self.pairs, images)
        return np.asarray(gaps / spans)

    def pulls(self, values: Reals) -> Reals:
        """Return the sum of constraints times values as a pull per fact."""
        pairs, targets = self.pairs, self.facts.problem.target_outputs
        values, pulled = values / self.spans, np.empty_like(targets)

        def work(part: slice) -> None:
            pointer = pairs.pointer[part.start : part.stop + 1]
            hinge_kernels.pull(
                values, targets[part], pairs.table, pointer, pairs.index, pulled[part]
            )

        list(self.facts.each(work, threads.blocks(len(pulled))))
        return pulled

    def least_length(self, values: Reals) -> float:
        """Return the length that no change with these margins falls below, proved by multipliers.

        For any multipliers and any change that keeps the constraints, its length times that of the sum of
        constraints is at least the sum of what they ask for.
        """
        pulls = self.pulls(values)
        length = float(np.sqrt(max(float(np.vdot(pulls, self.facts.moved(pulls))), 0.0)))
        demand = float(values @ (self.margins - self.initial))
        if length == 0:
            return np.inf if demand > 0 else 0.0
        return demand / length


def _gaps_and_spans(facts: MovingFacts, pairs: Pairs, images: Reals) -> tuple[Reals, Reals]:
    gaps, spans = np.empty(len(pairs)), np.empty(len(pairs))
    targets = facts.problem.target_outputs

    def work(part: slice) -> None:
        pointer = pairs.pointer[part.start : part.stop + 1]
        gap_kernels.gaps_and_spans(
            images[part], targets[part], pairs.table, pointer, pairs.index, gaps, spans
        )

    list(facts.each(work, threads.blocks(len(images))))
    return gaps, spans
