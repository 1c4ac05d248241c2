"""A claim of the paper, what was found, and the verdicts that compare them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from simonides.estimate import Estimate
    from simonides.reproduction.results import Results

SIGMAS = 3.0
"""Standard errors by which a measurement may be off and still agree."""


class Verdict(StrEnum):
    """How a measurement compares with a claim."""

    AGREES = "agrees"
    IN_PART = "agrees in part"
    DISAGREES = "disagrees"
    UNDECIDED = "not decided"
    """Too little was measured, as when tasks failed."""


class MissingError(Exception):
    """What was measured cannot decide a claim; the message names what is missing."""


@dataclass(frozen=True)
class Claim:
    """One row of the table of claims.

    ``paper`` and ``found`` are the two values in words and numbers; ``data`` names the sweeps or the
    computation behind them, ``criterion`` says when the verdict is that they agree, and why then;
    ``topic`` says which of the two papers, on storage or on signals.
    """

    name: str
    statement: str
    paper: str
    found: str
    verdict: Verdict
    data: str
    criterion: str = ""
    topic: str = "storage"


@dataclass(frozen=True)
class Finding:
    """What a check found, in words and numbers, and the verdict on it."""

    words: str
    verdict: Verdict


def stated(
    name: str, statement: str, paper: str, *, data: str, criterion: str
) -> Callable[[Callable[[Results], Finding]], Callable[[Results], Claim]]:
    """Make a claim of a check: what is stated stands, whatever could be measured.

    A check raises ``MissingError`` where the records cannot decide; its claim then says so.
    """

    def claiming(check: Callable[[Results], Finding]) -> Callable[[Results], Claim]:
        @wraps(check)
        def claim(results: Results) -> Claim:
            try:
                found = check(results)
            except MissingError as error:
                found = undecided(str(error))
            return Claim(name, statement, paper, found.words, found.verdict, data, criterion)

        return claim

    return claiming


def undecided(missing: str, words: str = "") -> Finding:
    """Return that a claim is not decided, for want of what, after the words on what there is.

    >>> undecided("thresholds").words
    'not decided for want of thresholds; --retry-failed measures failed tasks once more'
    """
    remedy = "--retry-failed measures failed tasks once more"
    return Finding(
        "; ".join([*([words] if words else []), f"not decided for want of {missing}", remedy]),
        Verdict.UNDECIDED,
    )


def is_near(found: Estimate, expected: float, slack: float = 0.0) -> bool:
    """Return whether an estimate lies within three standard errors and a stated slack of a value.

    >>> from simonides.estimate import Estimate
    >>> is_near(Estimate(1.05, 0.02), 1.0), is_near(Estimate(1.05, 0.01), 1.0)
    (True, False)
    """
    return abs(found.value - expected) <= SIGMAS * found.stderr + slack


def graded(whole: bool, part: bool) -> Verdict:
    """Return AGREES, or IN_PART if only the weaker statement holds, or DISAGREES."""
    if whole:
        return Verdict.AGREES
    return Verdict.IN_PART if part else Verdict.DISAGREES


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on a statement of several parts: one that disagrees decides it.

    >>> str(worst([Verdict.AGREES, Verdict.UNDECIDED, Verdict.IN_PART]))
    'not decided'
    """
    order = (Verdict.DISAGREES, Verdict.UNDECIDED, Verdict.IN_PART, Verdict.AGREES)
    return min(verdicts, key=order.index)
