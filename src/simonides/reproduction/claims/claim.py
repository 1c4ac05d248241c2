"""A claim of the paper: what is stated, how it is checked, and how the two agree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from simonides.estimate import Estimate
from simonides.reproduction.claims.criteria import CRITERIA
from simonides.reproduction.results import Results

SIGMAS = 3.0
"""Standard errors by which a measurement may be off and still agree: a chance of 0.3% to be further."""


class Agreement(StrEnum):
    """How a measurement compares with a claim."""

    AGREES = "agrees"
    IN_PART = "agrees in part"
    DISAGREES = "disagrees"
    UNDECIDED = "not decided"
    """Too little was measured, as when tasks failed."""


class MissingError(Exception):
    """What was measured cannot decide a claim; the message names what is missing."""


@dataclass(frozen=True)
class PaperClaim:
    """One row of the table of claims.

    ``paper`` and ``found`` are the two values in words and numbers; ``data`` names the sweeps or the
    computation behind them, ``criterion`` says when the verdict is that they agree, and why then;
    ``topic`` says which of the two papers, on storage or on signals.
    """

    name: str
    statement: str
    paper: str
    found: str
    verdict: Agreement
    data: str
    criterion: str = ""
    topic: str = "storage"


@dataclass(frozen=True)
class Finding:
    """What a check came to, in words and numbers, and the verdict on it."""

    words: str
    verdict: Agreement


@dataclass(frozen=True)
class Check:
    """A claim as its module states it, once: the words, the sweeps it needs, and how it is checked.

    What is stated stands, whatever could be measured: where ``measure`` raises ``MissingError`` the claim
    says that it is not decided.
    """

    claim: PaperClaim
    needs: tuple[str, ...]
    measure: Callable[[Results], Finding]

    def __call__(self, results: Results) -> PaperClaim:
        """Return the claim beside what these results say."""
        try:
            finding = self.measure(results)
        except MissingError as error:
            finding = undecided(str(error))
        return replace(self.claim, found=finding.words, verdict=finding.verdict)


def stated(
    name: str, statement: str, paper: str, *, data: str, needs: tuple[str, ...] = ()
) -> Callable[[Callable[[Results], Finding]], Check]:
    """Make a check of the function that measures what a claim states.

    It needs the sweeps that ``data`` names, unless others are given. Its criterion is that of its name in
    ``CRITERIA``, up to a colon.
    """
    criterion = CRITERIA[name.partition(":")[0]].words
    claim = PaperClaim(name, statement, paper, "", Agreement.UNDECIDED, data, criterion)
    needs = needs or tuple(re.findall(r"sweeps/(\w+)", data))
    return lambda measure: Check(claim, needs, measure)


def undecided(missing: str, words: str = "") -> Finding:
    """Return that a claim is not decided, for want of what, after the words on what there is.

    >>> undecided("thresholds").words
    'not decided for want of thresholds; --retry-failed measures failed tasks once more'
    """
    remedy = "--retry-failed measures failed tasks once more"
    parts = [words, f"not decided for want of {missing}", remedy]
    return Finding("; ".join(filter(None, parts)), Agreement.UNDECIDED)


def is_near(estimate: Estimate, expected: float, slack: float = 0.0) -> bool:
    """Return whether an estimate lies within three standard errors and a stated slack of a value.

    >>> from simonides.estimate import Estimate
    >>> is_near(Estimate(1.05, 0.02), 1.0), is_near(Estimate(1.05, 0.01), 1.0)
    (True, False)
    """
    return abs(estimate.value - expected) <= SIGMAS * estimate.stderr + slack


def graded(whole: bool, part: bool) -> Agreement:
    """Return AGREES, or IN_PART if only the weaker statement holds, or DISAGREES."""
    if whole:
        return Agreement.AGREES
    return Agreement.IN_PART if part else Agreement.DISAGREES


def worst(verdicts: Iterable[Agreement]) -> Agreement:
    """Return the verdict on a statement of several parts: one that disagrees decides it.

    >>> str(worst([Agreement.AGREES, Agreement.UNDECIDED, Agreement.IN_PART]))
    'not decided'
    """
    order = (Agreement.DISAGREES, Agreement.UNDECIDED, Agreement.IN_PART, Agreement.AGREES)
    return min(verdicts, key=order.index)
