"""A claim of the paper, what was found, and the verdicts that compare them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simonides.estimate import Estimate

SIGMAS = 3.0
"""Standard errors by which a measurement may be off and still agree."""


class Verdict(StrEnum):
    """How a measurement compares with a claim."""

    AGREES = "agrees"
    IN_PART = "agrees in part"
    DISAGREES = "disagrees"


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
