"""The largest margin of decoupled instances, solved exactly, against theory."""

import math

import numpy as np
from scipy.optimize import nnls

from simonides import Setting, largest_margin
from simonides.arrays import Reals

_SUM_WEIGHT = 1e3


def run() -> list[dict[str, float]]:
    """Return one row per shape; products y x as features, and independent ones beside them."""
    rng = np.random.default_rng(3)
    rows = []
    for dim, facts, instances in ((12, 20, 10), (20, 40, 6), (28, 70, 3)):
        products = [_margin(_constraints(dim, facts, rng, True)) for _ in range(instances)]
        independent = [_margin(_constraints(dim, facts, rng, False)) for _ in range(instances)]
        setting = Setting(dim, dim, candidates=facts, problem="decoupled")
        rows.append(
            {
                "dimension": dim,
                "facts": facts,
                "theory": largest_margin(setting, facts),
                "products": float(np.mean(products)),
                "stderr": float(np.std(products, ddof=1)) / math.sqrt(instances),
                "independent": float(np.mean(independent)),
                "stderr_independent": float(np.std(independent, ddof=1)) / math.sqrt(instances),
            }
        )
    return rows


def _constraints(dim: int, facts: int, rng: np.random.Generator, products: bool) -> Reals:
    """Return one row per pair of a fact and a rival: the gap is its product with the weights."""
    rows = []
    for _ in range(facts):
        if products:
            outputs = rng.standard_normal((facts, dim))
            features = np.kron(outputs, rng.standard_normal(dim))
        else:
            features = rng.standard_normal((facts, dim * dim))
        rows.append(features[0] - features[1:])
    return np.concatenate(rows)


def _margin(constraints: Reals) -> float:
    """Return the largest smallest gap of unit weights: the distance of the hull from the origin."""
    weight = np.full((1, len(constraints)), _SUM_WEIGHT)
    matrix = np.vstack((constraints.T, weight))
    target = np.zeros(len(matrix))
    target[-1] = _SUM_WEIGHT
    multipliers, _ = nnls(matrix, target, maxiter=50 * len(constraints))
    return float(np.linalg.norm(constraints.T @ (multipliers / multipliers.sum())))
