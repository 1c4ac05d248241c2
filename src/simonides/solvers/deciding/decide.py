"""Can these facts be stored? A verdict, and the proof of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

from simonides import arguments
from simonides.interrupts import Keyboard
from simonides.problems import checked
from simonides.solvers.deciding.contradiction import contradicted
from simonides.solvers.deciding.linear_program import linear_program
from simonides.solvers.deciding.preconditioning import is_out_of_range, preconditioned_feasibility
from simonides.solvers.deciding.prefix import telling_prefix
from simonides.solvers.deciding.proof import proved, unproved
from simonides.solvers.hinge.feasibility import feasibility
from simonides.solvers.hinge.low_rank import low_rank
from simonides.solvers.hinge.margin import maximum_margin, without_margin
from simonides.solvers.solution import Solution, Status, Verdict
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.threads import crew

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals
    from simonides.certificate import Certificate
    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Progress


_TRAINING = 5
"""Steps of training for each of a search on the hinge, which costs as much or more."""

_STEPS = 400
"""Newton steps of each search; near capacity, where most are needed, 23 were taken at d = 60."""

_MANY_STEPS = 100
"""Where Newton's method has not decided a small problem after so many, a linear program may."""


@dataclass(frozen=True, eq=False)
class Decision:
    r"""A verdict with its proof, and a bracket of the largest normalised margin.

    The margin is that of :math:`\max_{|W|_F = 1} \min_{ij} (y_i - y_j)^T W x_i / (|y_i - y_j| |x_i|)`.

    Attributes
    ----------
    verdict : Verdict
        What is known about the facts.
    margin_lower, margin_upper : float
        Proved bounds; infinite where nothing was proved. With a rank bound the lower one is that of weights
        of this rank; the upper one always holds for any weights.
    certificate : Certificate or None
        The proof, as the verifier accepted it.
    solution : Solution
        The weights behind it, and what they recall of all facts.
    seconds : float
        What it all took, checks included.
    told_by : int or None
        Where the first facts alone told, their number.

    Examples
    --------
    >>> from simonides import OriginalProblem
    >>> decision = decide(OriginalProblem.gaussian(20, 10, seed=0))
    >>> str(decision.verdict), decision.solution.recalled, decision.margin_lower > 0
    ('storable', 20, True)
    """

    verdict: Verdict
    margin_lower: float
    margin_upper: float
    certificate: Certificate | None
    solution: Solution
    seconds: float = 0.0
    told_by: int | None = None


def decide(
    problem: Problem,
    rank: int | None = None,
    *,
    method: str | None = None,
    seed: int | None = None,
    start: Reals | None = None,
    margin_gap: float | None = None,
    tolerance: float = 1e-9,
    max_steps: int | None = None,
    time_limit: float | None = None,
    threads: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Decision:
    """Decide whether the facts can be stored (eq. 1, or eq. 2), and prove it.

    A verdict is given only if the independent verifier accepts the proof; "not storable" means that no
    weights have a normalised margin above ``tolerance``.

    Parameters
    ----------
    problem : Problem
        The facts, such as an :class:`OriginalProblem`.
    rank : int, optional
        Store in a product of two factors of this inner dimension. The search for them may fail, which
        proves nothing.
    method : str, optional
        A method of :data:`simonides.methods` to search by instead, or yours as ``module:function``.
    seed : int, optional
        For what ``method`` draws. Default: what it has.
    start : array (dim_out, dim_in), optional
        Weights whose direction to start from.
    margin_gap : float, optional
        Go on until the largest margin is known to this relative gap.
    tolerance : float
        Normalised margin that counts as none.
    max_steps : int, optional
        Most steps of each search. Default: 400, or what ``method`` has.
    time_limit : float, optional
        Seconds after which the best so far is returned, undecided unless a proof is complete. So it is
        when interrupted.
    threads : int, optional
        Threads to use; the answer does not depend on it.
    watch : callable, optional
        Called with the :class:`Progress` of every step.

    Returns
    -------
    Decision
        Verdict, certificate, margins and solution.

    Raises
    ------
    BadArgumentError
        For options that are out of range or do not go together.

    Examples
    --------
    >>> from simonides import OriginalProblem
    >>> str(decide(OriginalProblem.gaussian(20, 10, seed=0)).verdict)
    'storable'
    """
    checked.problem(problem)
    start = None if start is None else checked.weights("start", start, problem)
    rank = None if rank is None else checked.rank(rank, problem)
    if margin_gap is not None:
        arguments.fraction("margin_gap", margin_gap, remedy="pass, say, 1e-3")
    for name, value in (("rank", rank), ("method", method)):
        if value is not None and not (margin_gap is None and start is None):
            raise arguments.refuse(
                name, value, "given without margin_gap and start", "drop one of them"
            )
    began = time.perf_counter()
    search = Search(
        tolerance=arguments.tolerance(tolerance),
        max_steps=_STEPS if max_steps is None else max_steps,
        deadline=arguments.deadline(time_limit),
        threads=threads,
        watch=watch,
    )
    stages = _Stages(problem, search)
    with Keyboard() as keyboard:
        if method is not None:
            limits = {"max_steps": max_steps, "time_limit": time_limit}
            solution = stages.by_method(method, rank, seed, limits)
        elif rank is None:
            solution = stages.full_rank(start, margin_gap)
        else:
            solution = stages.bounded_rank(rank)
        solution = contradicted(problem, solution, search.tolerance)
    if keyboard.interrupted:  # not within a solver, which returns what it has
        best = stages.best or stages.first(rank, start)
        solution = replace(best, interrupted=True)
    verdict, margins = solution.verdict, (solution.margin_lower, solution.margin_upper)
    proof, seconds = solution.certificate, time.perf_counter() - began
    return Decision(
        verdict or Verdict.UNDECIDED, *margins, proof, solution, seconds, stages.told_by
    )


@dataclass(frozen=True)
class Search:
    """What all searches of a decision share; ``deadline`` is a value of ``time.monotonic()``."""

    tolerance: float
    max_steps: int
    deadline: float
    threads: int | None
    watch: Callable[[Progress], None] | None

    @property
    def options(self) -> dict[str, Any]:
        """Options of a solver that searches now."""
        left = max(self.deadline - time.monotonic(), 0.0)
        return {
            "max_steps": self.max_steps,
            "time_limit": None if left == inf else left,
            "threads": self.threads,
            "watch": self.watch,
        }


class _Stages:
    """The searches of a decision, one after the other, each solution with what is proved by it.

    ``best`` is what an interrupt between two of them leaves.
    """

    def __init__(self, problem: Problem, search: Search) -> None:
        self._problem, self._search = problem, search
        self.best: Solution | None = None
        self.told_by: int | None = None

    def first(self, rank: int | None, start: Reals | None) -> Solution:
        """Return the weights from which the search sets out."""
        options: dict[str, Any] = {"start": start, "max_steps": 0, "threads": self._search.threads}
        if rank is None:
            return unproved(feasibility(self._problem, **options))
        return unproved(low_rank(self._problem, rank, **options))

    def _note(self, solution: Solution) -> None:
        """Keep a solution if it is no worse than the best so far."""
        best = self.best
        if best is None or _worth(solution) >= _worth(best):
            self.best = solution

    def _proved(self, solution: Solution) -> Solution:
        return proved(self._problem, solution, self._search.tolerance, self._note)

    def by_method(
        self, name: str, rank: int | None, seed: int | None, limits: dict[str, float | None]
    ) -> Solution:
        """Search by one method, and prove what it finds; limits left out are the method's own."""
        from simonides.solvers.methods import named

        method, options = named(name), self._search.options
        if method.proves:
            options["tolerance"] = self._search.tolerance
        for limit, value in limits.items():
            if value is None:
                del options[limit]
            elif limit not in method.takes:
                raise arguments.refuse(limit, value, f"left out for {name}", "drop it")
        if seed is not None:
            options["seed"] = seed
        solution = method.solve(self._problem, rank=rank, **options)
        if method.proves and solution.verdict is not None:
            return solution
        outcome = self._proved(solution)
        if rank is not None and outcome.verdict is Verdict.UNDECIDED and not outcome.cut_short:
            return replace(outcome, verdict=Verdict.NOT_FOUND)
        return outcome

    def full_rank(self, start: Reals | None, margin_gap: float | None) -> Solution:
        """Decide by the hinge: on a few facts, in better coordinates, then in those given."""
        told = self._by_prefix()
        return self._by_all_facts(start, margin_gap) if told is None else told

    def _by_all_facts(self, start: Reals | None, margin_gap: float | None) -> Solution:
        problem, search = self._problem, self._search
        solution = preconditioned_feasibility(
            problem, start=start, tolerance=search.tolerance, **search.options
        )
        if solution is None:
            return self._as_given(None, start, margin_gap)
        outcome = self._proved(solution)
        if outcome.cut_short or outcome.verdict is Verdict.NOT_STORABLE:
            return outcome
        if outcome.verdict is Verdict.STORABLE and margin_gap is None:
            return outcome
        return self._as_given(outcome, solution.weights, margin_gap)

    def _as_given(
        self, before: Solution | None, start: Reals | None, margin_gap: float | None
    ) -> Solution:
        """Search in the coordinates given; return what is known already if that is more."""
        problem, search = self._problem, self._search
        options = {"start": start, "tolerance": search.tolerance, **search.options}
        if margin_gap is None:
            outcome = self._proved(feasibility(problem, **options))
        else:
            outcome = self._proved(maximum_margin(problem, gap=margin_gap, **options))
        if before is not None and before.verdict is Verdict.STORABLE is not outcome.verdict:
            return _cut_short_as(before, outcome)
        if outcome.verdict is Verdict.UNDECIDED and not outcome.cut_short:
            by_rounding = outcome.status is Status.STORED
            further = self._by_margin if by_rounding else self._by_linear_program
            outcome = further(outcome)
        if outcome.verdict is Verdict.NOT_STORABLE and is_out_of_range(problem):
            return unproved(replace(outcome, status=Status.STOPPED, multipliers=None))
        return outcome

    def _by_margin(self, before: Solution) -> Solution:
        """Return what is proved about facts that are recalled by rounding, or else what was known."""
        problem, search = self._problem, self._search
        known = contradicted(problem, before, search.tolerance)
        if known.verdict is not Verdict.UNDECIDED:
            return known
        further = without_margin(problem, before, search.tolerance, **search.options)
        outcome = self._proved(further)
        return outcome if outcome.certificate else _cut_short_as(before, outcome)

    def _by_linear_program(self, before: Solution) -> Solution:
        """Return what a linear program decides where a long search did not, or else what was known."""
        if before.steps < _MANY_STEPS:
            return before
        left = self._search.options["time_limit"]
        vertex = linear_program(self._problem, before.weights, left)
        if vertex is None:
            return before
        outcome = self._proved(replace(vertex, steps=before.steps, history=before.history))
        return before if outcome.verdict is Verdict.UNDECIDED else outcome

    def _by_prefix(self) -> Solution | None:
        """Return the decision if the first facts alone prove that all do not fit, or it was cut short."""
        problem = self._problem
        few = telling_prefix(problem)
        if few is None:
            return None
        told = _Stages(few, self._search).full_rank(None, None)
        if told.verdict is not Verdict.NOT_STORABLE and not told.cut_short:
            return None
        with crew(self._search.threads) as each:
            recall = problem.recall(problem.images(told.weights), each)
        told = replace(told, recalled=recall.recalled, smallest_gap=recall.smallest_gap)
        if told.verdict is not Verdict.NOT_STORABLE:
            return unproved(told)
        self.told_by = few.facts
        # The same multipliers, in a proof about all facts.
        return self._proved(told)

    def bounded_rank(self, rank: int) -> Solution:
        """Search for two factors; refute them by a proof about any weights, or search by training."""
        problem, search = self._problem, self._search
        told = self._by_prefix()
        if told is not None and told.verdict is not Verdict.NOT_STORABLE:
            begin = replace(self.first(rank, None), steps=told.steps, history=told.history)
            return _cut_short_as(begin, told)
        if told is not None:
            return told
        outcome = self._proved(low_rank(problem, rank, **search.options))
        if outcome.verdict is Verdict.STORABLE or outcome.cut_short:
            return outcome
        unbounded = _Stages(problem, search)._by_all_facts(None, None)  # the first do not tell
        everything = rank >= min(problem.dim_in, problem.dim_out)
        if unbounded.verdict is Verdict.NOT_STORABLE or everything:
            return unbounded
        if unbounded.cut_short:
            return _cut_short_as(outcome, unbounded)
        return self._by_training(rank, outcome)

    def _by_training(self, rank: int, before: Solution) -> Solution:
        """Search once more, by training: at small ranks it passes where steps on the hinge get stuck."""
        problem, search = self._problem, self._search
        if is_out_of_range(problem):
            return replace(before, verdict=Verdict.NOT_FOUND)
        options = {**search.options, "max_steps": _TRAINING * search.max_steps}
        outcome = self._proved(cross_entropy(problem, rank=rank, **options))
        if outcome.verdict is Verdict.STORABLE:
            return outcome
        best = max(before, outcome, key=lambda solution: solution.recalled)
        if outcome.cut_short:
            return _cut_short_as(best, outcome)
        return replace(best, verdict=Verdict.NOT_FOUND)


def _worth(solution: Solution) -> tuple[bool, int]:
    """Return what solutions are compared by: whether anything is proved, then how much is recalled."""
    return solution.certificate is not None, solution.recalled


def _cut_short_as(solution: Solution, other: Solution) -> Solution:
    """Return a solution after which another search was cut short, if it was."""
    return replace(solution, interrupted=other.interrupted, timed_out=other.timed_out)
