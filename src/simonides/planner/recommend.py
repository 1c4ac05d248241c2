"""Which rank a number of facts needs, layer by layer and over all of them, and its PEFT spelling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from simonides import arguments
from simonides.planner.model import module_keys
from simonides.planner.plan import Plan, at_rank, bound
from simonides.theory.requirements import first, smallest_rank
from simonides.theory.setting import Setting

_NOTE = (
    "At smaller ranks the matrices, as memories on their own, have no room for the facts. Whether these "
    "ranks are enough, only training can show. In rank_pattern, which is for PEFT, each layer has the "
    "rank at which one of its matrices could hold all the facts."
)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The smallest ranks that suffice for ``facts`` facts.

    Attributes
    ----------
    facts : int
        How many are to be stored.
    alone : tuple of int or None
        For each row of the plan the rank at which one such matrix holds them all; None if not even full
        rank does.
    together : int or None
        The common rank at which all matrices hold them in all.
    rank_pattern : dict
        ``alone`` as PEFT spells it.
    notes : tuple of str
        What the ranks promise and leave out.
    """

    facts: int
    alone: tuple[int | None, ...]
    together: int | None
    rank_pattern: dict[str, int]
    notes: tuple[str, ...]


def recommend(plan: Plan, facts: int) -> Recommendation:
    """Return the smallest ranks at which the layers of a plan can hold that many facts.

    For linear memories on their own, ranks below are ruled out by the upper bound; these are not promised.

    Parameters
    ----------
    plan : Plan
        What the layers could hold.
    facts : int
        How many they are to hold.

    Returns
    -------
    Recommendation
        Ranks, and their spelling for PEFT.

    Raises
    ------
    ValueError
        For a number of facts below one.

    Examples
    --------
    >>> from simonides.planner.plan import plan
    >>> from simonides.planner.source import read_model
    >>> recommend(plan(read_model("gpt2")), 20_000).together
    2
    """
    facts = arguments.whole("facts", facts, remedy="pass the number of facts to store")
    alone = tuple(_alone(row.full.setting, facts) for row in plan.rows)
    keys = module_keys([row.layer.name for row in plan.rows])
    ranks = {key: rank for key, rank in zip(keys, alone, strict=True) if rank is not None}
    notes = [_NOTE]
    if lacking := [name for name, rank in zip(plan.names, alone, strict=True) if rank is None]:
        notes.append(
            "Missing from rank_pattern, since even at full rank one matrix could not hold all the facts: "
            f"{', '.join(lacking)}. PEFT gives these layers its default rank r."
        )
    return Recommendation(
        facts=facts,
        alone=alone,
        together=_together(plan, facts),
        # PEFT takes the first key that fits the end of a module's name: the longer ones come first.
        rank_pattern=dict(sorted(ranks.items(), key=lambda item: -item[0].count("."))),
        notes=tuple(notes),
    )


@lru_cache(maxsize=4096)
def _alone(setting: Setting, facts: int) -> int | None:
    return smallest_rank(setting, facts) if bound(setting).facts >= facts else None


def _together(plan: Plan, facts: int) -> int | None:
    def held(rank: int) -> float:
        return sum(
            row.layer.count * bound(at_rank(row.full.setting, rank)).facts for row in plan.rows
        )

    most = max(row.layer.shortest for row in plan.rows)
    return first(lambda rank: held(rank) >= facts, 1, most) if held(most) >= facts else None
