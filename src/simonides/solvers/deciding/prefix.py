"""Far beyond capacity a few facts prove that all do not fit.

Every constraint of the first facts is one of all facts, so multipliers that leave no room for the first
leave none for all; and far beyond capacity most of all pairs are broken, which costs memory for
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.theory.setting import facts_at_load

if TYPE_CHECKING:
    from simonides.problems.problem import Problem

_PLENTY = 2.0
"""Load that no data without structure fit at: four times the capacity of large matrices, and above
that of every small one."""

_WORTH_IT = 1.5
"""Fewer facts than this times the prefix's cost little more than the prefix itself."""


def telling_prefix(problem: Problem) -> Problem | None:
    """Return the first facts, as many as surely do not fit unless data have structure, or None.

    None means that all facts are hardly more than these.

    >>> from simonides import OriginalProblem
    >>> problem = OriginalProblem.gaussian(5000, 20, seed=0)
    >>> telling_prefix(problem).facts
    158
    """
    candidates = None if problem.all_compete else problem.candidates
    enough = max(
        2,
        round(facts_at_load(_PLENTY, problem.dim_in, problem.dim_out, candidates=candidates)),
    )
    return problem.prefix(enough) if problem.facts > _WORTH_IT * enough else None
