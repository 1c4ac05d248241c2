"""A task: the smallest thing a sweep measures, named by the hash of its inputs.

Two seeds follow from the inputs. That of the solver comes from all of them, so no two tasks start
alike. That of the problem comes only from what names an instance (kind, dimension, number and the sweep's
seed): all solvers and ranks see the same facts, ensembles are made from the same Gaussians, and since
facts are drawn in order, fewer facts are the first of more. Curves over the load are then smooth and
solvers are compared in pairs; what is independent are instances, not the points of one curve.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from simonides.problems.calls import Option
from simonides.problems.ensembles import ensemble
from simonides.problems.problem import Problem

THRESHOLD = "threshold"
"""The solver of a sweep that is no method: it decides about more and fewer facts until it knows its own."""

_FIRST_NAMES = {
    "cross_entropy": "cross-entropy",
    "pseudo_inverse": "pseudo-inverse",
    "low_rank": "low-rank",
    "feasibility": "decide",
}
"""What methods were called when tasks were first named by them: published results were drawn from those."""


@dataclass(frozen=True)
class Task:
    """Everything a measurement depends on.

    ``facts`` is None for a threshold, which is what is measured. ``rank_fraction`` is the rank bound over
    the dimension; 1 is no bound. ``seed`` is the sweep's. ``candidates`` is None where all facts compete;
    ``ensemble`` is the text of what facts are drawn from.

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
    candidates: int | None = None
    ensemble: str = "gaussian"

    @cached_property
    def id(self) -> str:
        """The name of the task: a digest of its inputs."""
        return _digest(self._inputs, 16).hex()

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
        return _seed({"solve": self._inputs})

    @property
    def _inputs(self) -> dict[str, Any]:
        """What the task is named by: inputs that came later are left out where they change nothing."""
        inputs = {name: getattr(self, name) for name in _DEFAULTS}
        inputs["solver"] = _FIRST_NAMES.get(self.solver, self.solver)
        if self.solver == "margin" and "margin_gap" in dict(self.options):
            inputs["solver"] = "decide"  # which had that option
        return {name: value for name, value in inputs.items() if _DEFAULTS[name] != value}

    def draw(self, facts: int) -> Problem:
        """Return the instance's first facts."""
        return ensemble(self.ensemble).draw(
            facts,
            self.dim,
            candidates=self.candidates,
            problem=self.problem,
            seed=self.problem_seed,
        )


_DEFAULTS = {field.name: field.default for field in fields(Task)}


def options_text(options: tuple[tuple[str, Option], ...]) -> str:
    """Return options as the results hold them."""
    return json.dumps(dict(options), sort_keys=True)


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
