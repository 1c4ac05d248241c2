"""Facts stored in a layer by the least change of its weights, and the proof about these as written.

Where no change stores all of them, those that fit together are looked for as a memory does it, and the
least change that stores these is taken. What fits without offsets fits with any, by a large change.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.certificate import ChangeVerification, verify_change
from simonides.memory.facts import Facts
from simonides.memory.recipe import Recipe
from simonides.memory.storing import Storing
from simonides.problems.contradictions import row_digest
from simonides.problems.original import OriginalProblem
from simonides.solvers.change.least_change import least_change
from simonides.solvers.solution import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simonides.arrays import Integers, Reals
    from simonides.certificate import ChangeCertificate
    from simonides.editing.language_model import LanguageModel
    from simonides.editing.token_facts import TokenFact
    from simonides.solvers.solution import Progress, Solution

_KEPT_SHARE = 0.5
"""Of its present lead, what a fact that holds already must keep: for it no change at all is a solution."""

_LEAST_KEPT = 0.1
"""Of the margin, asked of such a fact at least: beyond the model's own rounding."""


@dataclass(frozen=True, eq=False)
class Placed:
    """Facts in a layer: a problem, the streams without a change, and the distance each fact is to keep."""

    problem: OriginalProblem
    streams: Reals
    margins: Reals

    def part(self, facts: Integers) -> Placed:
        """Return some of the facts."""
        return Placed(self.problem.subset(facts), self.streams[facts], self.margins[facts])


@dataclass(frozen=True, eq=False)
class StoredChange:
    """A change as it is written, how it was found, and what is proved of it.

    ``problem`` and ``certificate`` are about the facts that are proved: all, unless the work was cut short
    or not all of them fit. ``refuted`` says that there is a proof that they do not.
    """

    change: Reals
    solution: Solution
    problem: OriginalProblem | None
    certificate: ChangeCertificate | None
    verification: ChangeVerification
    refuted: bool = False

    @property
    def proved(self) -> int:
        """Facts that are proved to be recalled, those to be kept among them."""
        proved = self.verification.valid and self.problem is not None
        return self.problem.facts if proved and self.problem is not None else 0


def place(
    model: LanguageModel,
    facts: Sequence[TokenFact],
    kept: Sequence[TokenFact],
    margin: float,
    watch: Callable[[int], None] | None = None,
) -> Placed:
    """Read keys and streams of facts, those to be stored first; ``margin`` in root mean squares of streams.

    Raises ``ValueError`` for a token that no weights tell from another.
    """
    outputs = model.outputs()
    _refuse_twins(model, outputs, [*facts, *kept])
    keys, streams = model.read([fact.prefix for fact in (*facts, *kept)], watch)
    targets = np.array([fact.target for fact in (*facts, *kept)])
    margins = margin * np.sqrt(np.mean(streams**2, axis=1))
    for row in range(len(facts), len(targets)):
        lead = _lead(outputs, streams[row], int(targets[row]))
        margins[row] = np.clip(_KEPT_SHARE * lead, _LEAST_KEPT * margins[row], margins[row])
    return Placed(OriginalProblem(keys, outputs, targets), streams, margins)


def store(
    model: LanguageModel,
    placed: Placed,
    metric: Reals,
    *,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> StoredChange:
    """Return the least change that stores the facts or those that fit, as it is written, with its proof."""
    deadline = arguments.deadline(time_limit)

    def solved(part: Placed) -> Solution:
        return least_change(
            part.problem, part.streams, metric, part.margins,
            time_limit=_left(deadline), threads=threads, watch=watch,
        )  # fmt: skip

    solution = solved(placed)
    refuted = solution.status is Status.INFEASIBLE
    missing = solution.recalled < placed.problem.facts
    if missing and not solution.cut_short:
        fitting = _fitting(placed.problem, _left(deadline), watch)
        if len(fitting) > solution.recalled:
            placed = placed.part(fitting)
            solution = solved(placed)
    change = model.written(solution.weights)
    return StoredChange(change, solution, *_proved(placed, solution, change), refuted)


def _left(deadline: float) -> float | None:
    """Return the seconds until a deadline, None without one."""
    return None if deadline == np.inf else max(deadline - time.monotonic(), 0.0)


def _fitting(
    problem: OriginalProblem, time_limit: float | None, watch: Callable[[Progress], None] | None
) -> Integers:
    """Return facts that some weights recall together: as many as a memory finds."""
    facts = Facts(problem.inputs, problem.outputs, problem.targets)
    storing = Storing(facts, Recipe(time_limit=time_limit, watch=watch))
    storing.search()
    return np.flatnonzero(storing.outcome().stored)


def _proved(
    placed: Placed, solution: Solution, change: Reals
) -> tuple[OriginalProblem | None, ChangeCertificate | None, ChangeVerification]:
    """Return what is proved of the change as it is written: of all facts, or else of those recalled."""
    problem, certificate = placed.problem, solution.change_certificate
    if certificate is None:
        return None, None, ChangeVerification(False, reason="there is no certificate")
    certificate = replace(certificate, weights=change)
    verification = verify_change(certificate, problem)
    if verification.valid:
        return problem, certificate, verification
    recalled = np.flatnonzero(_leads(placed, change) > 0)
    if not recalled.size:
        return None, None, verification
    fewer = problem.subset(recalled)
    part = replace(
        certificate,
        fingerprint=fewer.fingerprint(),
        offsets=certificate.offsets[recalled],
        margins=certificate.margins[recalled],
        **_multipliers(certificate, recalled),
    )
    return fewer, part, verify_change(part, fewer)


def _multipliers(certificate: ChangeCertificate, facts: Any) -> dict[str, Any]:
    """Return the multipliers of some facts, numbered as these."""
    places = np.full(len(certificate.offsets), -1)
    places[facts] = np.arange(len(facts))
    there = places[certificate.pair_facts] >= 0
    return {
        "pair_facts": places[certificate.pair_facts[there]],
        "pair_rivals": certificate.pair_rivals[there],
        "multipliers": certificate.multipliers[there],
    }


def _leads(placed: Placed, change: Reals) -> Reals:
    """Return by how much each fact's token leads, in the unit of scores."""
    images = placed.streams + placed.problem.inputs @ change.T
    leads = np.empty(placed.problem.facts)
    for block in placed.problem.score_blocks(images):
        leads[block.rows] = block.own - block.rivals.max(axis=1)
    return leads


def _lead(outputs: Reals, stream: Reals, target: int) -> float:
    """Return how far inside its token's cell a stream lies."""
    apart = outputs[target] - outputs
    spans = np.linalg.norm(apart, axis=1)
    rivals = spans > 0
    return float(np.min(apart[rivals] @ stream / spans[rivals]))


def _refuse_twins(model: LanguageModel, outputs: Reals, facts: Sequence[TokenFact]) -> None:
    digests = [row_digest(row) for row in outputs]
    counts = Counter(digests)
    for fact in facts:
        if counts[digests[fact.target]] > 1:
            twins = (k for k, digest in enumerate(digests) if digest == digests[fact.target])
            twin = next(k for k in twins if k != fact.target)
            raise ValueError(
                f"line {fact.line} asks for token {fact.target} "
                f"({model.tokenizer.decode([fact.target])!r}), which the head does not tell from {twin}"
            )
