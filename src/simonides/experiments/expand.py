"""From a spec to its tasks."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, cast

from simonides.experiments.task import THRESHOLD, Task, rank_of
from simonides.theory.capacity import capacity
from simonides.theory.setting import facts_at_load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simonides.experiments.spec import Spec
    from simonides.theory.setting import ProblemKind


def expand(spec: Spec) -> tuple[Task, ...]:
    """Return the tasks of a spec, each once, in the order of its keys.

    Loads that come to the same number of facts are one task.
    """
    tasks: dict[Task, None] = {}
    for problem, law, rivals, dim, fraction, choice in product(
        spec.problems,
        spec.ensembles,
        spec.candidates,
        spec.dims,
        spec.rank_fractions,
        spec.solvers,
    ):
        amounts: Sequence[int | None] = [None]
        if choice.name != THRESHOLD:
            amounts = facts_of(spec, problem, dim, fraction, rivals)
        for facts, instance in product(amounts, range(spec.instances)):
            task = Task(
                *(problem, dim, facts, fraction, choice.name, choice.options, instance, spec.seed),
                candidates=rivals,
                ensemble=law,
            )
            tasks[task] = None
    return tuple(tasks)


def facts_of(
    spec: Spec, problem: str, dim: int, fraction: float, candidates: int | None = None
) -> list[int]:
    """Return the numbers of facts that a spec asks for in one of its cells."""
    if spec.facts:
        return list(spec.facts)
    if spec.loads:
        return [
            max(2, round(facts_at_load(load, dim, candidates=candidates))) for load in spec.loads
        ]
    whole = predicted(problem, dim, rank_of(dim, fraction), candidates)
    return [max(1, round(share * whole)) for share in spec.relative_loads]


@lru_cache(maxsize=1024)
def predicted(problem: str, dim: int, rank: int | None, candidates: int | None = None) -> float:
    """Return the predicted capacity in facts, of Gaussian vectors and equally frequent targets."""
    kind = cast("ProblemKind", problem)
    return capacity(dim, candidates=candidates, rank=rank, problem=kind).facts
