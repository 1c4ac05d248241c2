"""What every solver returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals
    from simonides.certificate import Certificate, ChangeCertificate
    from simonides.problems.problem import Problem
    from simonides.problems.scan import Recall
    from simonides.threads import Each


class Status(StrEnum):
    """How a solver ended; the value says what it means for the facts.

    Examples
    --------
    >>> from simonides import OriginalProblem, hebbian
    >>> few, many = (OriginalProblem.gaussian(facts, 40, seed=0) for facts in (10, 100))
    >>> hebbian(few).status is Status.STORED, str(hebbian(many).status)
    (True, 'stopped')
    """

    STORED = "stored"
    """Every target beats every rival, as far as the solver's own arithmetic tells."""

    INFEASIBLE = "infeasible"
    """Multipliers were found that leave no room for a margin above the tolerance."""

    CONVERGED = "converged"
    """The solver's own objective is at a minimum, and not every fact is recalled there."""

    STOPPED = "stopped"
    """The step limit was reached, no step helps any more, or the work was cut short."""


class Verdict(StrEnum):
    """What is known about the facts.

    Examples
    --------
    >>> from simonides import OriginalProblem, decide
    >>> problem = OriginalProblem.gaussian(20, 10, seed=0)
    >>> decide(problem).verdict is Verdict.STORABLE, str(decide(problem, rank=1).verdict)
    (True, 'not-found')
    """

    STORABLE = "storable"
    """Weights are at hand that recall every fact, and it is proved that they do."""

    NOT_STORABLE = "not-storable"
    """No weights have a normalised margin above the tolerance; some may recall all facts by less."""

    NOT_FOUND = "not-found"
    """No weights of the given rank were found; there may be some."""

    UNDECIDED = "undecided"
    """Neither is proved: the search ended or was cut short before."""


@dataclass(frozen=True)
class Progress:
    """One step of a solver: what a person watching wants to know.

    Attributes
    ----------
    step : int
        Counted from zero, where the solver starts.
    objective : float
        What the solver lowers.
    violations : int
        Facts not recalled.
    seconds : float
        Since the solver began.
    margin_lower, margin_upper : float
        Bracket of the largest normalised margin, as far as the solver knows it.

    Examples
    --------
    >>> from simonides import OriginalProblem, decide
    >>> steps = []
    >>> decision = decide(OriginalProblem.gaussian(20, 10, seed=0), watch=steps.append)
    >>> steps[0].step, steps[-1].violations
    (0, 0)
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

    Attributes
    ----------
    weights : array (dim_out, dim_in)
        The matrix.
    status : Status
        How the solver ended.
    recalled : int
        Facts whose target beats every rival (eq. 1, or eq. 2).
    smallest_gap : float
        Smallest lead of a target over a rival.
    steps, seconds, history
        How long it took, and the :class:`Progress` of every step.
    multipliers : Multipliers or None
        Weights on constraints that bound the margin of any weights.
    factors : pair of arrays or None
        Two matrices whose product the weights are, from a rank-bounded solver.
    loss : float or None
        The final loss of a solver that trains.
    margin_lower, margin_upper : float
        Bracket of the largest normalised margin of any weights: as far as the solver's own arithmetic
        tells, or as it was proved where there is a verdict.
    change, change_lower : float or None
        Length of a change, and what no change with the same margins falls below.
    change_certificate : ChangeCertificate or None
        Arrays that prove both to ``verify_change``.
    interrupted, timed_out : bool
        Whether it was cut short; the weights are then the best by then.
    verdict : Verdict or None
        What is proved about the facts, by a method that proves.
    certificate : Certificate or None
        The proof, as the verifier accepted it.

    Examples
    --------
    >>> from simonides import OriginalProblem, hebbian
    >>> solution = hebbian(OriginalProblem.gaussian(10, 40, seed=0))
    >>> solution.weights.shape, solution.recalled, solution.smallest_gap > 0
    ((40, 40), 10, True)
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
    change: float | None = None
    change_lower: float | None = None
    change_certificate: ChangeCertificate | None = None
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

    @classmethod
    def of_weights(
        cls, problem: Problem, weights: Reals, otherwise: Status, each: Each = map
    ) -> Solution:
        """Return the solution of weights: stored if they recall every fact, or else as said."""
        recall = problem.recall(problem.images(weights), each)
        stored = recall.recalled == problem.facts
        return cls.of_recall(weights, Status.STORED if stored else otherwise, recall)
