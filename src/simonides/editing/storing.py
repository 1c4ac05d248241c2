"""Facts stored in a layer by the least change of its weights, and the proof about these as written.

Where no change is found that stores all of them, those that fit together are looked for as a memory does
it: what fits without offsets fits with any, by a large change. Of that, of the first attempt, and of no
change at all, what recalls most is taken.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.certificate import ChangeVerification, verify_change
from simonides.interrupts import Keyboard, completed
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
class ChangeProof:
    """What is proved of a change as it is written, and of which of the facts: nothing without a problem."""

    rows: Integers
    verification: ChangeVerification
    problem: OriginalProblem | None = None
    certificate: ChangeCertificate | None = None

    @property
    def facts(self) -> int:
        """Facts that are proved to be recalled."""
        return len(self.rows) if self.verification.valid else 0


@dataclass(frozen=True, eq=False)
class StoredChange:
    """A change as it is written, how it was found, what is proved, and how many more facts it recalls.

    ``whole`` says that all facts are recalled, ``crowded`` that no change gives every fact its margin.
    """

    change: Reals
    solution: Solution
    proof: ChangeProof
    gain: int
    whole: bool
    crowded: bool = False

    @property
    def useful(self) -> bool:
        """Whether anything is gained by it, or nothing was to be gained."""
        return self.gain > 0 or self.whole


def place(
    model: LanguageModel,
    facts: Sequence[TokenFact],
    kept: Sequence[TokenFact],
    margin: float,
    watch: Callable[[int], None] | None = None,
) -> Placed:
    """Read keys and streams of facts, those to be stored first; ``margin`` over the streams' own size."""
    outputs = model.outputs()
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
    rank: int | None = None,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> StoredChange:
    """Return the least change that stores the facts or those that fit, as it is written, with its proof."""
    deadline = arguments.deadline(time_limit)

    def attempt(part: Placed, rows: Integers) -> _Attempt:
        solution = least_change(
            part.problem, part.streams, metric, part.margins,
            rank=rank, time_limit=_left(deadline), threads=threads, watch=watch,
        )  # fmt: skip
        return _Attempt(part, rows, solution, model.written(solution.weights))

    count = placed.problem.facts
    first = attempt(placed, np.arange(count))
    interrupted, timed_out = first.solution.interrupted, first.solution.timed_out
    attempts = [first]
    if first.solution.recalled < count:
        if not first.solution.cut_short:
            rows, interrupted, timed_out = _fitting(placed.problem, rank, _left(deadline), watch)
            if len(rows) and not (interrupted or timed_out):
                attempts.append(attempt(placed.part(rows), rows))
                interrupted = attempts[-1].solution.interrupted
                timed_out = attempts[-1].solution.timed_out
        attempts.append(first.without_change())
    stored, again = completed(lambda: _best(placed, attempts))
    solution = replace(stored.solution, interrupted=interrupted or again, timed_out=timed_out)
    crowded = first.solution.status is Status.INFEASIBLE
    return replace(stored, solution=solution, crowded=crowded)


@dataclass(frozen=True, eq=False)
class _Attempt:
    """A change that was found for some of the facts."""

    part: Placed
    rows: Integers
    solution: Solution
    change: Reals

    def without_change(self) -> _Attempt:
        """Return no change at all, for the same facts."""
        nothing = np.zeros_like(self.change)
        certificate = self.solution.change_certificate
        if certificate is not None:
            none = np.empty(0, np.int64)
            certificate = replace(
                certificate, pair_facts=none, pair_rivals=none, multipliers=np.empty(0)
            )
        solution = replace(
            self.solution,
            weights=nothing,
            change=0.0,
            change_lower=0.0,
            change_certificate=certificate,
            factors=None,
        )
        return _Attempt(self.part, self.rows, solution, nothing)


def _best(placed: Placed, attempts: Sequence[_Attempt]) -> StoredChange:
    """Return the change that recalls most of all facts, the first of several such, with its proof."""
    recalled = [np.count_nonzero(_leads(placed, attempt.change) > 0) for attempt in attempts]
    most = max(recalled)
    best = attempts[recalled.index(most)]
    proof = _proof(best)
    # The last attempt of several is no change.
    gain = most - recalled[-1] if len(attempts) > 1 else most
    whole = bool(most == placed.problem.facts)
    return StoredChange(best.change, best.solution, proof, int(gain), whole)


def _left(deadline: float) -> float | None:
    """Return the seconds until a deadline, None without one."""
    return None if deadline == np.inf else max(deadline - time.monotonic(), 0.0)


def _fitting(
    problem: OriginalProblem,
    rank: int | None,
    time_limit: float | None,
    watch: Callable[[Progress], None] | None,
) -> tuple[Integers, bool, bool]:
    """Return facts that a memory finds to fit together, and if it was interrupted or out of time."""
    facts = Facts(problem.inputs, problem.outputs, problem.targets)
    storing = Storing(facts, Recipe(rank=rank, time_limit=time_limit, watch=watch))
    with Keyboard() as keyboard:
        storing.search()
    rows = np.flatnonzero(storing.outcome().stored)
    return rows, keyboard.interrupted or storing.interrupted, storing.timed_out


def _proof(attempt: _Attempt) -> ChangeProof:
    """Return what is proved of the change as it is written: of all its facts, or else of those recalled."""
    problem, certificate = attempt.part.problem, attempt.solution.change_certificate
    if certificate is None:
        nothing = ChangeVerification(False, reason="there is no certificate")
        return ChangeProof(np.empty(0, np.int64), nothing)
    certificate = replace(certificate, weights=attempt.change)
    verification = verify_change(certificate, problem)
    if verification.valid:
        return ChangeProof(attempt.rows, verification, problem, certificate)
    recalled = np.flatnonzero(_leads(attempt.part, attempt.change) > 0)
    if not recalled.size:
        return ChangeProof(recalled, verification)
    fewer = problem.subset(recalled)
    part = replace(
        certificate,
        fingerprint=fewer.fingerprint(),
        offsets=certificate.offsets[recalled],
        margins=certificate.margins[recalled],
        **_multipliers(certificate, recalled),
    )
    return ChangeProof(attempt.rows[recalled], verify_change(part, fewer), fewer, part)


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


def refuse_twins(model: LanguageModel, facts: Sequence[TokenFact]) -> None:
    """Raise ``ValueError`` for a token whose row in the head is another's: no weights tell them apart."""
    digests = [row_digest(row) for row in model.outputs()]
    counts = Counter(digests)
    for fact in facts:
        if fact.target >= len(digests):
            raise ValueError(
                f"line {fact.lines[0]} asks for token {fact.target}, which the head lacks"
            )
        if counts[digests[fact.target]] > 1:
            twins = (k for k, digest in enumerate(digests) if digest == digests[fact.target])
            twin = next(k for k in twins if k != fact.target)
            raise ValueError(
                f"line {fact.lines[0]} asks for token {fact.target} "
                f"({model.tokenizer.decode([fact.target])!r}), whose row in the head is that of {twin}"
            )
