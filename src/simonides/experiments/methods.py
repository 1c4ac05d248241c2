"""What a sweep can do to a problem: every solver by its name, with the options it takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from simonides import arguments
from simonides.solvers.deciding.decide import decide
from simonides.solvers.hinge.low_rank import low_rank
from simonides.solvers.rules.hebbian import hebbian
from simonides.solvers.rules.pseudo_inverse import pseudo_inverse
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.solvers.training.gradient import gradient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from simonides.problems.problem import Problem
    from simonides.solvers.solution import Solution

Option: TypeAlias = bool | int | float | str
"""What an option of a solver may be."""

Check: TypeAlias = Callable[[str, object], Option]
"""Returns an option as the solver takes it, or refuses it by its name."""


@dataclass(frozen=True, eq=False)
class Found:
    """Weights and what is known about the facts; margins are None where the solver bounds none.

    ``trained`` says that the solution's loss is the mean cross-entropy.
    """

    solution: Solution
    outcome: str
    margin_lower: float | None = None
    margin_upper: float | None = None
    trained: bool = False


@dataclass(frozen=True)
class Method:
    """One way of measuring a problem.

    ``solve`` takes the problem, a rank bound or None, a seed and the options; None stands for the search
    for a threshold, which chooses its facts itself.
    """

    solve: Callable[..., Found] | None
    options: Mapping[str, Check] = field(default_factory=dict)
    bounds_rank: bool = False

    @property
    def needs_facts(self) -> bool:
        """Whether a number of facts must be given."""
        return self.solve is not None


def _hebbian(problem: Problem, _rank: int | None, _seed: int) -> Found:
    found = hebbian(problem)
    return Found(found, str(found.status))


def _pseudo_inverse(problem: Problem, _rank: int | None, _seed: int, **options: Any) -> Found:
    found = pseudo_inverse(problem, **options)
    return Found(found, str(found.status))


def _cross_entropy(problem: Problem, rank: int | None, seed: int, **options: Any) -> Found:
    found = cross_entropy(problem, rank=rank, seed=seed, threads=1, **options)
    return Found(found, str(found.status), trained=True)


def _gradient(problem: Problem, rank: int | None, seed: int, **options: Any) -> Found:
    found = gradient(problem, rank=rank, seed=seed, threads=1, **options)
    return Found(found, str(found.status), trained=True)


def _low_rank(problem: Problem, rank: int | None, _seed: int, **options: Any) -> Found:
    most = min(problem.dim_in, problem.dim_out)
    found = low_rank(problem, most if rank is None else rank, threads=1, **options)
    return Found(found, str(found.status))


def _decide(problem: Problem, rank: int | None, _seed: int, **options: Any) -> Found:
    found = decide(problem, rank, threads=1, **options)
    solution = found.solution
    if found.told_by is not None:  # counted for the first facts only
        recall = problem.recall(problem.inputs @ solution.weights.T)
        solution = replace(solution, recalled=recall.recalled, smallest_gap=recall.smallest_gap)
    return Found(solution, str(found.verdict), found.margin_lower, found.margin_upper)


def _whole(least: int, remedy: str) -> Check:
    return lambda name, value: arguments.whole(name, value, least=least, remedy=remedy)


def _positive(remedy: str, most: float = math.inf) -> Check:
    def check(name: str, value: object) -> float:
        return arguments.real(name, value, least=0, open_least=True, most=most, remedy=remedy)

    return check


def _not_negative(remedy: str, most: float = math.inf) -> Check:
    return lambda name, value: arguments.real(name, value, least=0, most=most, remedy=remedy)


def _truth(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise arguments.refuse(name, value, "true or false", "choose one")
    return value


def _precision(name: str, value: object) -> str:
    if value not in ("float32", "float64"):
        raise arguments.refuse(name, value, "'float32' or 'float64'", "choose one")
    return str(value)


_STEPS = _whole(0, "pass a step limit")
_TOLERANCE = _positive("pass a small number such as 1e-7")

METHODS: Mapping[str, Method] = {
    "hebbian": Method(_hebbian),
    "pseudo-inverse": Method(
        _pseudo_inverse, {"ridge": _not_negative("in units of the inputs' mean eigenvalue")}
    ),
    "cross-entropy": Method(
        _cross_entropy,
        {
            "max_steps": _STEPS,
            "tolerance": _TOLERANCE,
            "until_stored": _truth,
            "least_gain": _not_negative("pass a share of the loss such as 1e-4", most=1),
        },
        bounds_rank=True,
    ),
    "gradient": Method(
        _gradient,
        {
            "learning_rate": _positive("pass the largest step"),
            "max_steps": _STEPS,
            "warm_up": _whole(0, "pass a number of steps"),
            "scale": _positive("pass a standard deviation"),
            "dtype": _precision,
            "until_stored": _truth,
        },
        bounds_rank=True,
    ),
    "low-rank": Method(_low_rank, {"max_steps": _STEPS}, bounds_rank=True),
    "decide": Method(
        _decide,
        {
            "margin_gap": _positive("pass a relative gap such as 1e-3", most=1),
            "tolerance": _TOLERANCE,
            "max_steps": _STEPS,
        },
        bounds_rank=True,
    ),
    "threshold": Method(None, bounds_rank=True),
}
"""The solvers of a sweep."""
