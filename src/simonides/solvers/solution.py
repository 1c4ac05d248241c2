"""What every solver returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals
    from simonides.certificate import Certificate
    from simonides.problems.scan import Recall


class Status(StrEnum):
    """How a solver ended; the value says what it means for the facts."""

    STORED = "stored"
    """Every target beats every rival, as far as the solver's own arithmetic tells."""

    INFEASIBLE = "infeasible"
    """Multipliers were found that leave no room for a margin above the tolerance."""

    CONVERGED = "converged"
    """The solver's own objective is at a minimum, and not every fact is recalled there."""

    STOPPED = "stopped"
    """The step limit was reached, no step helps any more, or the work was cut short."""


class Verdict(StrEnum):
    """What is known about the facts."""

    STORABLE = "storable"
    NOT_STORABLE = "not-storable"
    NOT_FOUND = "not-found"
    """No weights of the given rank were found; there may be some."""

    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Progress:
    """One step of a solver: what a person watching wants to know.

    ``violations`` counts the facts not recalled; the margins bracket the largest normalised margin, as
    far as the solver knows it.
    """

    step: int
    objective: float
    violations: int
    seconds: float
    margin_lower: float = -math.inf
    margin_upper: float = math.inf


@dataclass(frozen=True)
class Multipliers:
    """Non-negative weights on constraints (fact, rival): the proof that facts do not fit."""

    facts: Integers
    rivals: Integers
    values: Reals


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights and how they were found.

    ``recalled`` counts the facts whose target beats every rival, ``smallest_gap`` is the smallest lead
    of a target over a rival, ``history`` the steps taken. A rank-bounded solver also leaves its
    ``factors``, whose product is ``weights``; one that trains leaves its final ``loss``. The margins
    bracket the largest normalised margin of any weights, as far as the solver's own arithmetic tells; with
    a ``verdict`` they were proved, and the ``certificate`` is the proof that the verifier accepted.
    ``interrupted`` and ``timed_out`` say that the weights are the best by then.
    """

    weights: Reals
    status: Status
    recalled: int
    smallest_gap: float
    steps: int = 0
    seconds: float = 0.0
    history: tuple[Progress, ...] = ()
    multipliers: Multipliers | None = None
    factors: tuple[Reals, Reals] | None = None
    loss: float | None = None
    margin_lower: float = -math.inf
    margin_upper: float = math.inf
    interrupted: bool = False
    timed_out: bool = False
    verdict: Verdict | None = None
    certificate: Certificate | None = None

    @property
    def cut_short(self) -> bool:
        """Whether it was not left to end."""
        return self.interrupted or self.timed_out

    @classmethod
    def of_recall(cls, weights: Reals, status: Status, recall: Recall) -> Solution:
        """Return the solution of weights whose recall was counted."""
        return cls(weights, status, recall.recalled, recall.smallest_gap)
