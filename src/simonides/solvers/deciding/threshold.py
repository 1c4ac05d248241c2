"""The measured capacity of an instance: the largest number of its facts that can be stored.

A problem's first facts can be stored if all of them can, so the threshold is found by bisection over
nested prefixes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from simonides import arguments
from simonides.failures import BadArgumentError
from simonides.solvers.deciding.decide import decide
from simonides.solvers.solution import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals
    from simonides.problems.problem import Problem

_FIRST_STRIDE = 0.02
"""About by how much single instances scatter about theory at dimension 40; it doubles from there."""


@dataclass(frozen=True)
class Threshold:
    """The largest number of facts with a proof that they can be stored.

    Attributes
    ----------
    facts : int
        That number.
    open : int
        Larger numbers tried that were neither proved nor disproved; with a rank bound, failed searches.
    decisions : int
        Numbers tried.
    seconds : float
        What it all took.

    Examples
    --------
    >>> from simonides import OriginalProblem
    >>> result = threshold(lambda facts: OriginalProblem.gaussian(facts, 5, seed=0), guess=9)
    >>> result.facts, result.open
    (10, 0)
    """

    facts: int
    open: int
    decisions: int
    seconds: float


def threshold(
    draw: Callable[[int], Problem],
    guess: float,
    *,
    most: int | None = None,
    rank: int | None = None,
    threads: int | None = None,
    watch: Callable[[int, str], None] | None = None,
) -> Threshold:
    """Find how many facts of an instance can be stored, by bisection with a proof on both sides.

    Parameters
    ----------
    draw : callable
        Returns the problem of the first n facts; for data of your own ``problem.prefix``.
    guess : float
        Where the search begins, say the predicted capacity.
    most : int, optional
        How many facts there are.
    rank : int, optional
        Rank bound; a search that fails then proves nothing.
    threads : int, optional
        Threads to use.
    watch : callable, optional
        Called with each number of facts tried, and the verdict.

    Returns
    -------
    Threshold
        The largest number proved storable, and how many larger ones stayed open.

    Raises
    ------
    BadArgumentError
        If more facts are needed than can be drawn.

    Examples
    --------
    >>> from simonides import OriginalProblem
    >>> threshold(lambda facts: OriginalProblem.gaussian(facts, 6, seed=0), guess=12).facts
    15
    """
    began = time.perf_counter()
    arguments.function("draw", draw, "pass a function of a number of facts")
    if watch is not None:
        arguments.function("watch", watch, "pass a function of a number of facts and a verdict")
    guess = arguments.real("guess", guess, least=1, remedy="pass the predicted number of facts")
    limit = inf if most is None else arguments.whole("most", most, remedy="pass how many there are")
    weights: Reals | None = None
    stored, refused, verdicts = 0, 0, []
    trial, stride = int(min(round(guess), limit)), max(1, round(_FIRST_STRIDE * guess))
    while refused - stored != 1 and stored < limit:
        # Weights that store fewer facts are a good start for more.
        problem = _drawn(draw, trial, most)
        decision = decide(problem, rank, start=weights if rank is None else None, threads=threads)
        if decision.solution.interrupted:
            raise KeyboardInterrupt
        verdicts.append((trial, decision.verdict))
        if watch is not None:
            watch(trial, str(decision.verdict))
        if decision.verdict is Verdict.STORABLE:
            stored, weights = trial, decision.solution.weights
        else:
            refused = trial
        if not refused:
            trial, stride = int(min(trial + stride, limit)), 2 * stride
        elif not stored and refused > 1:
            trial, stride = max(1, trial - stride), 2 * stride
        else:
            trial = (stored + refused) // 2
    unproved = [number for number, verdict in verdicts if verdict not in _PROVED]
    return Threshold(
        stored,
        sum(number > stored for number in unproved),
        len(verdicts),
        time.perf_counter() - began,
    )


def _drawn(draw: Callable[[int], Problem], facts: int, most: int | None) -> Problem:
    try:
        return draw(facts)
    except BadArgumentError as refusal:
        if most is not None or refusal.argument != "facts":
            raise
        # The search asked for so many, not the caller.
        raise arguments.refuse(
            "most",
            None,
            f"given where {facts} facts cannot be drawn ({refusal})",
            "pass how many facts there are, such as most=problem.facts",
        ) from refusal


_PROVED = (Verdict.STORABLE, Verdict.NOT_STORABLE)
