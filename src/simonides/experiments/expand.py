"""From a spec to its tasks, made one by one: a sweep begins at once, however many there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, TypeAlias, cast

from simonides.experiments.spec import Spec
from simonides.experiments.task import THRESHOLD, Task, options_text, rank_of
from simonides.theory.capacity import capacity
from simonides.theory.setting import ProblemKind, facts_at_load

if TYPE_CHECKING:
    import pyarrow as pa

Amounts: TypeAlias = "Mapping[tuple[str, int | None, int, float], Mapping[int, int]]"
"""Numbers of facts and their places, by problem, candidates, dimension and rank fraction."""


@dataclass(frozen=True)
class Tasks:
    """The tasks of a spec, each once, in the order of its keys; ``amounts`` are its numbers of facts."""

    spec: Spec
    amounts: Amounts

    @property
    def total(self) -> int:
        """How many there are."""
        spec = self.spec
        thresholds = sum(solver.name == THRESHOLD for solver in spec.solvers)
        methods = len(spec.solvers) - thresholds
        cells = sum(methods * len(facts) + thresholds for facts in self.amounts.values())
        return cells * len(spec.ensembles) * spec.instances

    def __iter__(self) -> Iterator[Task]:
        numbers = range(self.spec.instances)
        return (replace(cell, instance=number) for cell in self._cells() for number in numbers)

    def largest_first(self) -> Iterator[Task]:
        """Yield them in the order to measure: what takes longest should not come last.

        Tasks of one instance follow each other, so that a process need not draw it anew for each.
        """
        for dim, problem in product(sorted(self.spec.dims)[::-1], sorted(self.spec.problems)):
            cells = list(self._cells([problem], [dim]))
            cells.sort(key=lambda cell: -(cell.facts or cell.dim**2))
            for number in range(self.spec.instances):
                yield from (replace(cell, instance=number) for cell in cells)

    def _cells(
        self, problems: Sequence[str] | None = None, dims: Sequence[int] | None = None
    ) -> Iterator[Task]:
        """Yield the first instance of each."""
        spec = self.spec
        for problem, law, rivals, dim, fraction, choice in product(
            problems or spec.problems,
            spec.ensembles,
            spec.candidates,
            dims or spec.dims,
            spec.rank_fractions,
            spec.solvers,
        ):
            facts = self.amounts[problem, rivals, dim, fraction]
            for number in [None] if choice.name == THRESHOLD else facts:
                yield Task(
                    *(problem, dim, number, fraction, choice.name, choice.options, 0, spec.seed),
                    candidates=rivals,
                    ensemble=law,
                )

    def ordered(self, rows: pa.Table) -> list[int]:
        """Return the places of those rows that are of these tasks, in their order."""
        spec = self.spec
        cells = product(
            spec.problems,
            spec.ensembles,
            spec.candidates,
            spec.dims,
            spec.rank_fractions,
            ((solver.name, options_text(solver.options)) for solver in spec.solvers),
        )
        places = {(*cell, *solver): place for place, (*cell, solver) in enumerate(cells)}
        names = ("problem", "ensemble", "candidates", "dim", "rank_fraction", "solver", "options")
        inputs = [rows[name].to_pylist() for name in (*names, "facts", "instance", "seed")]
        inputs[1] = [law or "gaussian" for law in inputs[1]]  # older than ensembles
        chosen = []
        for row, (*cell, facts, instance, seed) in enumerate(zip(*inputs, strict=True)):
            place = places.get(tuple(cell))
            if place is None or seed != spec.seed or not 0 <= instance < spec.instances:
                continue
            problem, _, rivals, dim, fraction, solver, _ = cell
            of_facts = self.amounts[problem, rivals, dim, fraction]
            if solver == THRESHOLD or facts in of_facts:
                chosen.append((place, of_facts.get(facts, 0), instance, row))
        return [row for *_, row in sorted(chosen)]


def expand(spec: Spec) -> Tasks:
    """Return the tasks of a spec. Loads that come to the same number of facts are one task."""
    shared = _places(spec.facts) if spec.facts else None
    cells = product(spec.problems, spec.candidates, spec.dims, spec.rank_fractions)
    return Tasks(spec, {cell: shared or _places(_at_loads(spec, *cell)) for cell in cells})


def _places(facts: Sequence[int]) -> dict[int, int]:
    return {number: place for place, number in enumerate(dict.fromkeys(facts))}


def _at_loads(
    spec: Spec, problem: str, candidates: int | None, dim: int, fraction: float
) -> list[int]:
    if spec.relative_loads:
        whole = predicted(problem, dim, rank_of(dim, fraction), candidates)
        return [max(1, round(share * whole)) for share in spec.relative_loads]
    return [max(2, round(facts_at_load(load, dim, candidates=candidates))) for load in spec.loads]


@lru_cache(maxsize=1024)
def predicted(problem: str, dim: int, rank: int | None, candidates: int | None = None) -> float:
    """Return the predicted capacity in facts, of Gaussian vectors and equally frequent targets."""
    kind = cast("ProblemKind", problem)
    return capacity(dim, candidates=candidates, rank=rank, problem=kind).facts
