"""What is said when not every fact is stored: never nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.formatting import count

if TYPE_CHECKING:
    from simonides.theory.capacity import Capacity


class NotAllStoredWarning(UserWarning):
    """Some facts are not recalled; the message says how many, and how far beyond capacity they are."""


def shortfall(facts: int, stored: int, capacity: Capacity, method: str) -> str:
    """Return how many facts are not stored, and how that compares with theory."""
    lost = f"{facts - stored:,} of {facts:,} facts are not stored (failed_ lists them): "
    fit = count(capacity.facts)
    over = facts / capacity.facts - 1
    if over > 0:
        return lost + (
            f"theory lets {fit} random facts fit in this shape, the request is {over:.1%} above; "
            "take more dimensions, a higher rank or fewer facts"
        )
    remedy = "these have structure that random ones lack"
    if method in ("hebbian", "pseudo_inverse", "gradient", "cross_entropy"):
        remedy = "method='feasibility' stores all that can be stored"
    return lost + f"theory lets {fit} random facts fit in this shape, so {remedy}"
