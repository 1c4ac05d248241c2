"""The inverse questions: what does it take to store a given number of facts?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from simonides import arguments
from simonides.theory.capacity import capacity_of, holds, needed_parameters
from simonides.theory.setting import ProblemKind, Setting

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.failures import BadArgumentError

_LARGEST_DIMENSION = 2**40
"""A square matrix of 1e24 entries, beyond any machine; a power of two, which doubling ends at."""


def smallest_dimension(
    facts: int,
    *,
    candidates: int | None = None,
    rank: int | None = None,
    margin: float = 0.0,
    tail_fraction: float | None = None,
    problem: ProblemKind = "original",
) -> int:
    """Return the smallest dimension whose square matrix stores a number of facts.

    The inverse of :func:`simonides.capacity`: Claim 1 at finite size, with a rank bound Claim 2 (eq. 9).

    Parameters
    ----------
    facts : int
        Facts to store.
    candidates, rank, margin, tail_fraction, problem
        As in :func:`simonides.capacity`.

    Returns
    -------
    int
        The dimension of inputs and outputs.

    Raises
    ------
    ValueError
        For what no :class:`Setting` takes, and for more facts than any dimension reaches.

    Examples
    --------
    >>> smallest_dimension(1192)
    100
    """
    facts = arguments.facts(facts)
    smallest = 1 if rank is None else arguments.whole("rank", rank, remedy="leave it out")

    def suffices(dim: int) -> bool:
        return holds(Setting(dim, dim, candidates, rank, margin, tail_fraction, problem), facts)

    if not suffices(_LARGEST_DIMENSION):
        raise arguments.refuse(
            "facts",
            facts,
            f"within reach of dimension {_LARGEST_DIMENSION:.0e}",
            "ask for fewer, raise the rank or the number of candidates",
        )
    return first(suffices, smallest, _LARGEST_DIMENSION)


def smallest_rank(setting: Setting, facts: int) -> int:
    """Return the smallest rank at which a matrix stores a number of facts (eq. 9 at finite size).

    Parameters
    ----------
    setting : Setting
        The matrix and its criterion; its own rank is ignored.
    facts : int
        Facts to store.

    Returns
    -------
    int
        The rank: a lower bound for large dimensions, where capacity under a rank bound is an upper one.

    Raises
    ------
    ValueError
        If not even a matrix of full rank stores them.

    Examples
    --------
    >>> smallest_rank(Setting(4096, 4096), 20_000)
    17
    """
    arguments.instance("setting", setting, Setting, "pass the matrix as Setting(dim_in, dim_out)")
    full = replace(setting, rank=None)
    facts = arguments.facts(facts)
    if not holds(full, facts):
        raise _beyond(full, facts)
    return first(lambda rank: holds(replace(full, rank=rank), facts), 1, full.binding_rank)


def largest_margin(setting: Setting, facts: int) -> float:
    """Return the largest margin with which a matrix stores a number of facts.

    The theory is that of independent features. A matrix of dimension d holds fewer facts, as if the margin
    were larger by 6.2/d of it: by 3.3/d of the facts at a margin of one.

    Parameters
    ----------
    setting : Setting
        The matrix and its criterion; its own margin is ignored.
    facts : int
        Facts to store.

    Returns
    -------
    float
        The margin, in units of a fresh output's score.

    Raises
    ------
    ValueError
        If the facts do not fit even without a margin.

    Examples
    --------
    >>> print(f"{largest_margin(Setting(100, 100), 1000):.3f}")
    0.361
    """
    from scipy.optimize import brentq

    arguments.instance("setting", setting, Setting, "pass the matrix as Setting(dim_in, dim_out)")
    bare = replace(setting, margin=0.0)
    facts = arguments.facts(facts)
    budget = bare.effective_parameters().value

    def unspent(margin: float) -> float:
        return budget - needed_parameters(replace(bare, margin=margin), facts).value

    if not holds(bare, facts):
        raise _beyond(bare, facts)
    # A margin c costs at least (c²/2)(K-1)/K: at most this much of it can be paid for.
    most = 2 * math.sqrt(budget / facts) + 1
    return float(brentq(unspent, 0.0, most, xtol=1e-10))


def first(holds: Callable[[int], bool], low: int, most: int) -> int:
    """Return the first whole number from ``low`` for which a monotone condition holds."""
    if holds(low):
        return low
    high = min(2 * low, most)
    while not holds(high):
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _beyond(setting: Setting, facts: int) -> BadArgumentError:
    most = capacity_of(setting).facts
    enough = smallest_dimension(
        facts,
        candidates=setting.candidates,
        rank=setting.rank,
        margin=setting.margin,
        tail_fraction=setting.tail_fraction,
        problem=setting.problem,
    )
    return arguments.refuse(
        "facts",
        facts,
        f"at most the capacity, {most:,.1f}",
        f"store fewer, or take a square matrix of dimension {enough:,} or more",
    )
