"""The price of a fact: relative error against twice the nodes, and time over a NumPy SVD's."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from simonides.theory import exceedance, quadrature
from simonides.theory.cone import RetrievalCone


def run() -> list[dict[str, float]]:
    """Return one row per number of candidates and margin."""
    matrix = np.random.default_rng(0).standard_normal((100, 100))
    unit = _seconds(lambda: np.linalg.svd(matrix))
    rows = []
    for margin in (0.0, 1.0):
        for candidates in (2, 10, 1e3, 1e6, 1e9, 1e12, 1e15):
            value = _price(candidates, margin)
            took = _seconds(partial(_price, candidates, margin))
            rows.append(
                {
                    "candidates": float(candidates),
                    "margin": margin,
                    "price": value,
                    "relative_error": value / _refined(candidates, margin) - 1,
                    "milliseconds": 1e3 * took,
                    "over_svd_100": took / unit,
                }
            )
    return rows


def _price(candidates: float, margin: float) -> float:
    return RetrievalCone(candidates, margin).statistical_dimension


def _refined(candidates: float, margin: float) -> float:
    nodes, legendre = exceedance.NODES, quadrature.NODES
    exceedance.NODES, quadrature.NODES = 2 * nodes, 2 * legendre
    try:
        return _price(candidates, margin)
    finally:
        exceedance.NODES, quadrature.NODES = nodes, legendre


def _seconds(task: Callable[[], object]) -> float:
    times = []
    for _ in range(7):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return float(np.median(times))
