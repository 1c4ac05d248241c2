"""How far the theory of training beyond capacity is from trained matrices, by load and size."""

from typing import Any

import numpy as np

from simonides import DecoupledProblem
from simonides.estimate import Estimate
from simonides.experiments.expand import predicted
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.theory.risk import minimum_of_risk

_INSTANCES = {10: 60, 20: 24, 40: 8}
"""By dimension: about as many facts at each."""

_SHARES = 1.02, 1.05, 1.15, 1.4, 2.0
_SAMPLES = 8192
"""So many that the theory's own errors are far below those of instances."""


def run() -> list[dict[str, Any]]:
    """Train the decoupled problem to the minimum of the cross-entropy, and compute what theory says."""
    return [
        _compared(dim, round(share * predicted("decoupled", dim, None)), share)
        for dim in _INSTANCES
        for share in _SHARES
    ]


def _compared(dim: int, facts: int, share: float) -> dict[str, Any]:
    rng = np.random.default_rng([facts, dim])
    theory = minimum_of_risk(facts, dim**2, rng=rng, samples=_SAMPLES * 10 // dim)
    measured = np.array([_trained(dim, facts, seed) for seed in range(_INSTANCES[dim])])
    row: dict[str, Any] = {"dim": dim, "share": share, "facts": facts}
    for name, values in zip(("accuracy", "loss", "norm"), measured.T, strict=True):
        row[f"{name}_trained"] = str(Estimate.of_mean(values[np.isfinite(values)]))
        row[f"{name}_theory"] = f"{getattr(theory, name).value:.3g}"
    row["all_stored"] = f"{np.sum(measured[:, 0] == 1)} of {len(measured)}"
    return row


def _trained(dim: int, facts: int, seed: int) -> tuple[float, float, float]:
    """Return accuracy, loss and norm at the minimum, which facts that all fit do not have."""
    problem = DecoupledProblem.gaussian(facts, dim, seed=seed)
    solution = cross_entropy(problem, threads=1, tolerance=1e-5)
    if solution.recalled == facts:
        return 1.0, 0.0, np.inf
    assert solution.loss is not None
    return solution.recalled / facts, solution.loss, float(np.linalg.norm(solution.weights))
