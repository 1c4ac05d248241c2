"""Beyond capacity: how many facts are stored, and which of them to keep."""

import warnings
from typing import Any

import numpy as np

from simonides import AssociativeMemory, OriginalProblem, capacity
from simonides.solvers.deciding.threshold import threshold
from simonides.solvers.training.cross_entropy import cross_entropy


def run() -> list[dict[str, Any]]:
    """Store more facts than fit: by training on all, by keeping random ones, by keeping easy ones."""
    rows = []
    for dim, facts in ((30, 200), (50, 450), (50, 800), (50, 2000)):
        problem = OriginalProblem.gaussian(facts, dim, seed=1)
        theory = capacity(dim, candidates=facts).facts
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            memory = AssociativeMemory().fit(problem.inputs, problem.outputs)
        rows.append(
            {
                "dim": dim,
                "facts": facts,
                "theory": theory,
                "trained": cross_entropy(problem, threads=1).recalled,
                "random": _random(problem, theory),
                "easy": memory.n_stored_,
            }
        )
    return rows


def _random(problem: OriginalProblem, theory: float) -> int:
    """Return how many of the first facts can be stored among all outputs."""

    def first(facts: int) -> OriginalProblem:
        return OriginalProblem(problem.inputs[:facts], problem.outputs, np.arange(facts))

    return threshold(first, theory, threads=1).facts
