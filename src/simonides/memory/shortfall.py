"""What is said when not every fact is stored: never nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from simonides.formatting import count
from simonides.theory.notes import deviations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simonides.theory.capacity import Capacity


class NotAllStoredWarning(UserWarning):
    """Some facts are not stored; the message says how many, how that compares with theory, and what to do.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from simonides import AssociativeMemory
    >>> X, Y = np.random.default_rng(0).standard_normal((2, 60, 8))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     memory = AssociativeMemory().fit(X, Y)
    >>> caught[0].category.__name__, len(memory.failed_) == 60 - memory.n_stored_
    ('NotAllStoredWarning', True)
    """


_SCATTER = 0.8
"""Relative deviation of single instances' capacities, times the dimension: measured 4% at 20, 2% at 40."""

_OFF = "theory is off, as capacity_.notes says"
"""Which way and by how much, the notes know; they are not said again here."""

_DEVIATIONS = 3
"""So close below theory an instance may lie by chance: one of a Gaussian's in 700 lies further."""


def shortfall(
    facts: int,
    stored: int,
    capacity: Capacity,
    clashes: Sequence[tuple[int, int]] = (),
    empty: Sequence[int] = (),
    multiples: tuple[int, int] | None = None,
    *,
    strict: bool = True,
    refuted: bool = False,
    interrupted: bool = False,
    timed_out: bool = False,
    short_of_memory: bool = False,
) -> str:
    """Return how many facts are not stored, and how that compares with theory.

    ``clashes`` are pairs of rows with equal inputs and different targets, ``empty`` rows of zeros,
    ``multiples`` two rows that exclude each other as their inputs are multiples of one another.
    ``strict`` says that the method looks for weights that store all, ``refuted`` that there are none, as
    was proved, ``interrupted`` and ``timed_out`` that the search was not left to end, ``short_of_memory``
    that it did not look where it had no room.
    """
    lost = f"{facts - stored:,} of {facts:,} facts are not stored (failed_ lists them): "
    lost += "the time limit ended the search, these are the best weights by then; " * timed_out
    lost += "max_memory kept the search from going further; " * short_of_memory
    reasons = ([_contradiction(clashes)] if clashes else []) + ([_nothing(empty)] if empty else [])
    if multiples:
        reasons.append(
            f"the inputs of rows {multiples[0]} and {multiples[1]} are multiples of each other up to "
            "rounding, so that no weights store both by a margin above it; keep one of the two"
        )
    if reasons:
        lost += "; ".join(reasons)
        hopeless = {later for _, later in clashes} | set(empty) | set((multiples or ())[1:])
        if facts - stored <= len(hopeless) and strict:
            return lost
        lost += "; "
    setting = capacity.setting
    margin = "" if setting.margin == 0 else f" with a margin of {setting.margin:g}"
    lost += f"theory lets {count(capacity.facts)} random facts fit in this shape{margin}"
    over = facts / capacity.facts - 1
    if over > 0:
        wishes = ["take more dimensions", "fewer facts"]
        wishes[1:1] = ["a higher rank"] if setting.rank is not None else []
        wishes[-1:-1] = ["a smaller margin"] if setting.margin > 0 else []
        better = "" if strict else f"{_better(capacity)}; otherwise "
        advice = f"{better}{', '.join(wishes[:-1])} or {wishes[-1]}"
        return f"{lost}, the request is {over:.1%} above; {advice}"
    if interrupted or timed_out:
        return f"{lost}, and the search was stopped before its end; fit again and let it end"
    if short_of_memory and not refuted:
        return f"{lost}, so allow more memory"
    if not strict:
        return f"{lost}, so {_better(capacity)}"
    return f"{lost}, but {_below(over, capacity, refuted)}"


def _better(capacity: Capacity) -> str:
    """Return which method looks for weights that store everything."""
    if capacity.setting.rank is not None:
        return "method='low_rank' may find two factors that store all: it searches for them"
    if capacity.setting.margin > 0:
        return "method='margin' may store all: it looks for the largest margin there is"
    return "method='feasibility' stores all if any weights do"


def _below(over: float, capacity: Capacity, refuted: bool) -> str:
    """Return why a method that looks for all facts falls short below capacity, and what to do."""
    if refuted:
        return f"no weights store all of these (certificate_ proves it): {_special(over, capacity)}"
    setting, remedies = capacity.setting, []
    reasons = [_OFF] if deviations(setting, capacity.facts) else []
    if setting.margin > 0:
        remedies.append("a smaller margin")
    if setting.rank is not None:
        reasons.append("the search may miss factors that exist")
        remedies.append("a higher rank or another random_state")
    if not remedies:
        reasons.append("whether any weights store all of these was not decided")
        remedies.append("whiten=True")
    return f"{' and '.join(reasons)}; try {', '.join(remedies)} or fewer facts"


def _special(over: float, capacity: Capacity) -> str:
    """Return what sets facts that cannot be stored apart from as many random ones."""
    reason = "they have structure that random ones lack"
    if deviations(capacity.setting, capacity.facts):
        reason += f", or {_OFF}"
    elif _is_near(over, capacity):
        reason = (
            "they are just below theory, about which single sets of facts scatter (by 4% at dimension "
            "20, by 2% at 40)"
        )
    return f"{reason}; leave out those that failed, or take more dimensions"


def _is_near(over: float, capacity: Capacity) -> bool:
    dimension = math.sqrt(capacity.setting.dim_in * capacity.setting.dim_out)
    return over > -_DEVIATIONS * _SCATTER / dimension


def _contradiction(clashes: Sequence[tuple[int, int]]) -> str:
    first, later = clashes[0]
    more = f" (the first of {len(clashes):,} such pairs)" if len(clashes) > 1 else ""
    return (
        f"rows {first} and {later} have equal inputs and different targets{more}, which no weights "
        "can store both; keep one of the two"
    )


def _nothing(empty: Sequence[int]) -> str:
    more = f" (the first of {len(empty):,} such rows)" if len(empty) > 1 else ""
    return (
        f"row {empty[0]} of X is zero{more}, to which all outputs score alike; leave such rows out"
    )
