"""A task: the smallest thing a sweep measures, named by the hash of its inputs.

Two seeds follow from the inputs. That of the solver comes from all of them, so no two tasks start
alike. That of the problem comes only from what names an instance (kind, dimension, number and the sweep's
seed): all solvers and ranks see the same facts, and since facts are drawn in order, fewer facts are the
first of more. Curves over the load are then smooth and solvers are compared in pairs; what is independent
are instances, not the points of one curve.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simonides.experiments.methods import Option
    from simonides.problems.problem import Problem

PROBLEMS: Mapping[str, type[OriginalProblem] | type[DecoupledProblem]] = {
    "original": OriginalProblem,
    "decoupled": DecoupledProblem,
}
"""The kinds of problem by name."""


@dataclass(frozen=True)
class Task:
    """Everything a measurement depends on.

    ``facts`` is None for a threshold, which is what is measured. ``rank_fraction`` is the rank bound over
    the dimension; 1 is no bound. ``seed`` is the sweep's.

    >>> task = Task("original", 10, 20, 1.0, "hebbian", (), instance=0, seed=1)
    >>> task.id
    '3dbd8b9e5bcba9f858084f2602b2070a'
    """

    problem: str
    dim: int
    facts: int | None
    rank_fraction: float
    solver: str
    options: tuple[tuple[str, Option], ...]
    instance: int
    seed: int

    @cached_property
    def id(self) -> str:
        """The name of the task: a digest of its inputs."""
        return _digest(asdict(self), 16).hex()

    @property
    def rank(self) -> int | None:
        """Rank bound, at least 1, or None."""
        return rank_of(self.dim, self.rank_fraction)

    @property
    def problem_seed(self) -> int:
        """Seed of the facts, the same for all solvers, ranks and numbers of facts."""
        return _seed({"draw": [self.problem, self.dim, self.instance, self.seed]})

    @property
    def solver_seed(self) -> int:
        """Seed of what the solver draws."""
        return _seed({"solve": asdict(self)})

    def draw(self, facts: int) -> Problem:
        """Return the instance's first facts."""
        return PROBLEMS[self.problem].gaussian(facts, self.dim, seed=self.problem_seed)


def rank_of(dim: int, fraction: float) -> int | None:
    """Return the rank bound of a fraction of the dimension, rounded, or None for no bound.

    >>> rank_of(25, 0.1), rank_of(4, 0.01), rank_of(25, 1.0)
    (3, 1, None)
    """
    return None if fraction == 1 else max(1, math.floor(fraction * dim + 0.5))


def _digest(inputs: Mapping[str, Any], size: int) -> bytes:
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=size).digest()


def _seed(inputs: Mapping[str, Any]) -> int:
    # Without its top bit, so that it fits a signed integer of 64.
    return int.from_bytes(_digest(inputs, 8), "big") >> 1
