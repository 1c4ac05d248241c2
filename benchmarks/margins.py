"""Facts that fit with a margin, solved exactly, against theory."""

import math
from typing import Any

import numpy as np
from scipy.optimize import nnls

from simonides import capacity
from simonides.arrays import Reals
from simonides.estimate import Estimate

CELLS = (
    *((8, 1.0, 60), (12, 1.0, 48), (18, 1.0, 24), (26, 1.0, 12)),
    *((12, 0.5, 36), (18, 0.5, 16), (12, 2.0, 48), (18, 2.0, 32), (26, 2.0, 16)),
)
"""Dimension, margin and instances."""

_SUM_WEIGHT = 1e3
"""On the sum of multipliers beside the constraints, of order one: it is kept to a millionth."""

_ADDED, _ROUNDS, _SLACK = 3, 60, 1e-6
"""Rivals that join for each fact and round, most rounds, and what a gap may lack of the margin."""


def run() -> list[dict[str, Any]]:
    """Return how many facts fit with a margin: products y x as features, and independent ones."""
    return [_row(*cell) for cell in CELLS]


def _row(dim: int, margin: float, instances: int) -> dict[str, Any]:
    candidates = round(capacity(dim, margin=margin, problem="decoupled").facts)
    theory = capacity(dim, candidates=candidates, margin=margin, problem="decoupled").facts
    row: dict[str, Any] = {
        "dim": dim,
        "margin": margin,
        "candidates": candidates,
        "theory": theory,
        "instances": instances,
    }
    for name in ("products", "independent"):
        rng = np.random.default_rng([dim, round(10 * margin), name == "products"])
        facts = Estimate.of_mean(
            np.array([_fitting(dim, candidates, margin, name, rng) for _ in range(instances)])
        )
        row |= {f"facts_{name}": facts.value, f"facts_{name}_stderr": facts.stderr}
        row[f"{name}_times_dim"] = str(
            Estimate(facts.value / theory - 1, facts.stderr / theory).scaled(dim)
        )
    return row


def _fitting(
    dim: int, candidates: int, margin: float, features: str, rng: np.random.Generator
) -> float:
    """Return how many of an instance's first facts fit, between two whole numbers by their margins."""
    drawn = [_constraints(dim, candidates, features, rng) for _ in range(2 * candidates)]
    few, many, above, below = 1, len(drawn), math.inf, 0.0
    while many - few > 1:
        middle = (few + many) // 2
        largest = _largest_margin(drawn[:middle])
        few, many = (middle, many) if largest >= margin else (few, middle)
        above, below = (largest, below) if largest >= margin else (above, largest)
    return few + (above - margin) / (above - below) if math.isfinite(above) else float(few)


def _constraints(dim: int, candidates: int, features: str, rng: np.random.Generator) -> Reals:
    """Return one row for each rival of a fact: the gap is its product with the weights."""
    if features == "products":
        outputs = rng.standard_normal((candidates, dim))
        rows = np.einsum("ij,k->ijk", outputs, rng.standard_normal(dim)).reshape(candidates, -1)
    else:
        rows = rng.standard_normal((candidates, dim * dim))
    return np.asarray(rows[0] - rows[1:])


def _largest_margin(facts: list[Reals]) -> float:
    """Return the largest smallest gap of unit weights, the distance of the rows' hull from the origin.

    Rivals join by and by: those with the least gaps under the weights so far, until none lacks any.
    """
    rows = np.stack(facts)
    weights = rows.mean(axis=(0, 1))
    chosen = np.zeros(rows.shape[:2], dtype=bool)
    distance = 0.0
    for _ in range(_ROUNDS):
        gaps = rows @ weights
        lacking = gaps < distance**2 - _SLACK if chosen.any() else np.ones_like(chosen)
        fresh = lacking & ~chosen
        if not fresh.any():
            return distance
        order = np.argsort(np.where(fresh, gaps, np.inf), axis=1)[:, :_ADDED]
        np.put_along_axis(chosen, order, True, axis=1)
        working = rows[chosen]
        matrix = np.vstack((working.T, np.full((1, len(working)), _SUM_WEIGHT)))
        target = np.zeros(len(matrix))
        target[-1] = _SUM_WEIGHT
        multipliers, _ = nnls(matrix, target, maxiter=50 * len(working))
        weights = working.T @ (multipliers / multipliers.sum())
        distance = float(np.linalg.norm(weights))
    raise RuntimeError(f"the largest margin of {len(facts)} facts was not found")
