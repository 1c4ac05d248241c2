"""What is said when not every fact is stored: never nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.formatting import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simonides.theory.capacity import Capacity


class NotAllStoredWarning(UserWarning):
    """Some facts are not recalled; the message says how many, and how far beyond capacity they are."""


_WITHOUT_PROMISE = ("hebbian", "pseudo_inverse", "gradient", "cross_entropy")


def shortfall(
    facts: int,
    stored: int,
    capacity: Capacity,
    method: str,
    clashes: Sequence[tuple[int, int]] = (),
    empty: Sequence[int] = (),
) -> str:
    """Return how many facts are not stored, and how that compares with theory.

    ``clashes`` are pairs of rows with equal inputs and different targets, ``empty`` rows of zeros.
    """
    lost = f"{facts - stored:,} of {facts:,} facts are not stored (failed_ lists them): "
    reasons = ([_contradiction(clashes)] if clashes else []) + ([_nothing(empty)] if empty else [])
    if reasons:
        lost += "; ".join(reasons)
        hopeless = {later for _, later in clashes} | set(empty)
        if facts - stored <= len(hopeless) and method not in _WITHOUT_PROMISE:
            return lost
        lost += "; "
    fit = count(capacity.facts)
    over = facts / capacity.facts - 1
    if over > 0:
        return lost + (
            f"theory lets {fit} random facts fit in this shape, the request is {over:.1%} above; "
            "take more dimensions, a higher rank or fewer facts"
        )
    remedy = "these have structure that random ones lack"
    if method in _WITHOUT_PROMISE:
        remedy = "method='feasibility' stores all that can be stored"
    return lost + f"theory lets {fit} random facts fit in this shape, so {remedy}"


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
