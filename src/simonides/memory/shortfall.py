"""What is said when not every fact is stored: never nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from simonides.formatting import count
from simonides.theory.notes import few_directions, near_outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simonides.theory.capacity import Capacity


class NotAllStoredWarning(UserWarning):
    """Some facts are not recalled; the message says how many, and how far beyond capacity they are."""


_WITHOUT_PROMISE = ("hebbian", "pseudo_inverse", "gradient", "cross_entropy")

_SCATTER = 0.8
"""Relative deviation of single instances' capacities, times the dimension: measured 4% at 20, 2% at 40."""

_DEVIATIONS = 3
"""So close below theory an instance may lie by chance."""


def shortfall(
    facts: int,
    stored: int,
    capacity: Capacity,
    method: str,
    clashes: Sequence[tuple[int, int]] = (),
    empty: Sequence[int] = (),
    *,
    refuted: bool = False,
    interrupted: bool = False,
) -> str:
    """Return how many facts are not stored, and how that compares with theory.

    ``clashes`` are pairs of rows with equal inputs and different targets, ``empty`` rows of zeros.
    ``refuted`` says that it was proved that no weights store all, ``interrupted`` that the search was
    not left to end.
    """
    lost = f"{facts - stored:,} of {facts:,} facts are not stored (failed_ lists them): "
    reasons = ([_contradiction(clashes)] if clashes else []) + ([_nothing(empty)] if empty else [])
    if reasons:
        lost += "; ".join(reasons)
        hopeless = {later for _, later in clashes} | set(empty)
        if facts - stored <= len(hopeless) and method not in _WITHOUT_PROMISE:
            return lost
        lost += "; "
    setting = capacity.setting
    kept = "" if setting.margin == 0 else f" with a margin of {setting.margin:g}"
    lost += f"theory lets {count(capacity.facts)} random facts fit in this shape{kept}"
    over = facts / capacity.facts - 1
    if over > 0:
        wishes = ["take more dimensions", "fewer facts"]
        wishes[1:1] = ["a higher rank"] if setting.rank is not None else []
        wishes[-1:-1] = ["a smaller margin"] if setting.margin > 0 else []
        return f"{lost}, the request is {over:.1%} above; {', '.join(wishes[:-1])} or {wishes[-1]}"
    if interrupted:
        return f"{lost}, and the search was stopped before its end; fit again and let it end"
    if method in _WITHOUT_PROMISE:
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
    setting = capacity.setting
    if refuted:
        return f"no weights store all of these (certificate_ proves it): {_special(over, capacity)}"
    reasons, remedies = [], []
    if setting.margin > 0:
        reasons.append(
            "theory's margins are high (the largest were measured a quarter to a third lower)"
        )
        remedies.append("a smaller margin")
    if setting.rank is not None:
        reasons.append(
            "with a rank it is an upper bound, and the search may miss factors that exist"
        )
        remedies.append("a higher rank or another random_state")
    if not reasons:
        reasons.append("whether any weights store all of these was not decided")
        remedies.append("whiten=True")
    return f"{' and '.join(reasons)}; try {', '.join(remedies)} or fewer facts"


def _special(over: float, capacity: Capacity) -> str:
    """Return what sets facts that cannot be stored apart from as many random ones."""
    setting = capacity.setting
    reason = "they have structure that random ones lack"
    if few_directions(setting, capacity.statistical_dimension) or near_outputs(setting):
        reason += ", or theory is off, as it is for few dimensions or about as many outputs"
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
    one, other = clashes[0]
    more = f" (the first of {len(clashes):,} such pairs)" if len(clashes) > 1 else ""
    return (
        f"rows {one} and {other} have equal inputs and different targets{more}, which no weights "
        "can store both; keep one of the two"
    )


def _nothing(empty: Sequence[int]) -> str:
    more = f" (the first of {len(empty):,} such rows)" if len(empty) > 1 else ""
    return (
        f"row {empty[0]} of X is zero{more}, to which all outputs score alike; leave such rows out"
    )
