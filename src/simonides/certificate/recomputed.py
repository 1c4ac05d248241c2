"""Scores recomputed for a proof, with a bound on their rounding: what the verifier looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from simonides.certificate.rounding import UNDERFLOW, gamma, lengths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.arrays import Integers, Reals

CHUNK = 2**11
"""So many pairs are looked at together."""


class Instance(Protocol):
    """What the verifier asks of a problem: its vectors, and a digest of what defines it."""

    @property
    def facts(self) -> int:
        """Number of facts."""

    @property
    def candidates(self) -> int:
        """Number of candidates of each fact."""

    @property
    def inputs(self) -> Reals:
        """Inputs, one row per fact."""

    @property
    def target_outputs(self) -> Reals:
        """Right outputs, one row per fact."""

    def fingerprint(self) -> str:
        """Return the digest of the problem."""

    @property
    def targets(self) -> Any:
        """Number of each fact's right output among its candidates."""

    def contests(self, facts: int) -> Iterator[tuple[slice, Reals]]:
        """Yield the first facts, those together that share their candidates, and these' vectors.

        Vectors that are read-only and the same object again are the same numbers again.
        """


def fields(
    problem: Instance,
    layers: list[Reals],
    paths: int,
    offsets: Reals | None = None,
    units: Reals | None = None,
) -> Iterator[Field]:
    """Yield the facts, those together that share their candidates, with their scores.

    Images may have ``offsets``; ratios of gaps are then taken in ``units`` other than the inputs' lengths.
    """
    absolute = [np.abs(layer) for layer in layers]
    measured, output_lengths = None, np.empty(0)
    for facts, outputs in problem.contests(problem.facts):
        if outputs is not measured or outputs.flags.writeable:
            measured, output_lengths = outputs, lengths(outputs) + UNDERFLOW
        inputs, targets = problem.inputs[facts], problem.target_outputs[facts]
        images, magnitudes = inputs, np.abs(inputs)
        # What underflow may lose anywhere.
        lost = paths * UNDERFLOW * (1 + magnitudes.sum(axis=1))
        for layer, size in zip(reversed(layers), reversed(absolute), strict=True):
            images, magnitudes = images @ layer.T, magnitudes @ size.T
        if offsets is not None:
            images, magnitudes = images + offsets[facts], magnitudes + np.abs(offsets[facts])
        scores = images @ outputs.T
        scores[np.arange(len(scores)), problem.targets[facts]] = -np.inf
        yield Field(
            first=facts.start,
            targets=targets,
            outputs=outputs,
            input_lengths=lengths(inputs) if units is None else units[facts],
            target_lengths=lengths(targets) + UNDERFLOW,
            output_lengths=output_lengths,
            own=np.einsum("ij,ij->i", images, targets),
            scores=scores,
            magnitudes=magnitudes,
            lost=lost,
            twice_gamma=2 * gamma(paths),
        )


@dataclass(frozen=True, eq=False)
class Field:
    """Some facts and the candidates they share: scores, and what bounds their rounding.

    ``own`` are the targets' scores, which are struck out of ``scores``. ``magnitudes`` bound the images
    entry by entry, with no sign to cancel. A gap is off by at most ``twice_gamma`` times the product of
    magnitudes with both outputs, and by what underflow ``lost``.
    """

    first: int
    targets: Reals
    outputs: Reals
    input_lengths: Reals
    target_lengths: Reals
    output_lengths: Reals
    own: Reals
    scores: Reals
    magnitudes: Reals
    lost: Reals
    twice_gamma: float

    def doubtful(self, least: float) -> Integers:
        """Return the facts with a rival that may be ahead, or have a ratio of gap to span below ``least``.

        One look at each score, with the longest output in the place of every rival.
        """
        reaches = self.target_lengths + self.output_lengths.max()
        blurs = self.lost * (1 + reaches) + self.twice_gamma * lengths(self.magnitudes) * reaches
        gaps = self.own - self.scores.max(axis=1) - blurs
        ratios = gaps / np.maximum(reaches * self.input_lengths, np.finfo(float).tiny)
        return np.flatnonzero(~((gaps > 0) & (ratios >= least)))

    def safe_gaps(self, rows: Integers) -> Reals:
        """Return by how much the targets of some facts lead their rivals at least, in exact arithmetic."""
        reaches = self.target_lengths[rows, None] + self.output_lengths
        gaps = self.own[rows, None] - self.scores[rows] - self.lost[rows, None] * (1 + reaches)
        magnitudes = self.magnitudes[rows]
        blurs = self.twice_gamma * lengths(magnitudes)[:, None] * reaches
        if not (gaps > blurs).all():
            # Entry by entry, which matters where coordinates differ in size.
            blurs = magnitudes @ np.abs(self.outputs).T
            blurs += np.einsum("ij,ij->i", magnitudes, np.abs(self.targets[rows]))[:, None]
            blurs *= self.twice_gamma
        gaps -= blurs
        return gaps

    def least_ratio(self, gaps: Reals, rows: Integers) -> float:
        """Return the smallest gap over span: a span is at most target and rival end to end."""
        longest_spans = self.target_lengths[rows, None] + self.output_lengths
        longest_spans *= self.input_lengths[rows, None]
        low = gaps / np.maximum(longest_spans, np.finfo(float).tiny)

        def ratios(places: Integers, columns: Integers) -> Reals:
            facts = rows[places]
            spans = lengths(self.targets[facts] - self.outputs[columns])
            spans *= self.input_lengths[facts]
            return np.asarray(gaps[places, columns] / np.maximum(spans, np.finfo(float).tiny))

        least = float(ratios(np.arange(len(rows)), low.argmin(axis=1)).min())
        places, columns = np.nonzero(low < least)
        parts = np.array_split(np.arange(len(places)), 1 + places.size // CHUNK)
        return min(
            least,
            *(float(ratios(places[part], columns[part]).min(initial=least)) for part in parts),
        )
