"""Thresholds under small rank bounds against theory, of both problems, from one start and from several."""

from typing import Any

import numpy as np

from simonides import low_rank
from simonides.estimate import Estimate
from simonides.experiments.thresholds import Thresholds, measure_thresholds
from simonides.problems.ensembles import ensemble

INSTANCES = {8: 12, 16: 8, 25: 4}
"""By dimension, for standard errors of about two percent."""

RANKS = 1, 2, 3, 4, 8

STARTS = 12
"""Random starts beside the Hebbian one."""

RESTARTED = ("original", 2), ("original", 3), ("decoupled", 1), ("decoupled", 2), ("decoupled", 3)
"""Problems and ranks to start again: small ranks, but for the two facts that are exact."""

_RESTARTED_DIM = 8
"""Where a search takes a tenth of a second, and a number of facts that none finds twelve of them."""

_SEED = 100


def run() -> list[dict[str, Any]]:
    """Measure ranks 1, 2, 3, 4 and 8; a search that fails proves nothing, so these are lower bounds."""
    return [
        _row(problem, dim, rank)
        for problem in ("original", "decoupled")
        for dim in INSTANCES
        for rank in RANKS
    ]


def starts() -> list[dict[str, Any]]:
    """Measure the same instances from more starts: lower bounds still, but higher ones."""
    return [_restarted(problem, _RESTARTED_DIM, rank) for problem, rank in RESTARTED]


def _row(problem: str, dim: int, rank: int) -> dict[str, Any]:
    cell = _from_one_start(problem, dim, rank)
    return {
        "problem": problem,
        "dim": dim,
        "rank": rank,
        "theory": cell.theory,
        "mean": cell.mean.value,
        "stderr": cell.mean.stderr,
        "over_theory": cell.mean.value / cell.theory - 1,
        "over_theory_stderr": cell.mean.stderr / cell.theory,
        "instances": INSTANCES[dim],
    }


def _restarted(problem: str, dim: int, rank: int) -> dict[str, Any]:
    cell = _from_one_start(problem, dim, rank)
    facts = [
        _most(problem, dim, rank, seed, least) for seed, least in enumerate(cell.facts, start=_SEED)
    ]
    mean = Estimate.of_mean(np.array(facts, dtype=np.float64))
    return {
        "problem": problem,
        "dim": dim,
        "rank": rank,
        "theory": cell.theory,
        "one_start": cell.mean.value,
        "more_starts": mean.value,
        "stderr": mean.stderr,
        "over_theory": mean.value / cell.theory - 1,
        "over_theory_stderr": mean.stderr / cell.theory,
        "instances": INSTANCES[dim],
    }


def _from_one_start(problem: str, dim: int, rank: int) -> Thresholds:
    return measure_thresholds(
        dim, rank=rank, problem=problem, instances=INSTANCES[dim], workers=1, seed=_SEED
    )


def _most(problem: str, dim: int, rank: int, seed: int, least: int) -> int:
    """Return how many of an instance's facts some start stores, one more at a time."""
    facts = least
    while _is_stored(problem, dim, rank, seed, facts + 1):
        facts += 1
    return facts


def _is_stored(problem: str, dim: int, rank: int, seed: int, facts: int) -> bool:
    instance = ensemble("gaussian").draw(
        facts, dim, dim, candidates=None, problem=problem, seed=seed
    )
    begins = (
        np.random.default_rng([seed, number]).standard_normal((dim, dim))
        for number in range(STARTS)
    )
    return any(
        low_rank(instance, rank, start=begin, threads=1).recalled == facts for begin in begins
    )
