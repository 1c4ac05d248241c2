"""Fixed quadrature rules, computed once."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simonides.arrays import Reals

NODES = 160


def gauss_legendre(low: float, high: float, size: int | None = None) -> tuple[Reals, Reals]:
    """Return nodes and weights of the Gauss-Legendre rule on an interval."""
    nodes, weights = _legendre(NODES if size is None else size)
    half = (high - low) / 2
    return (low + high) / 2 + half * nodes, half * weights


def composite_gauss_legendre(
    low: float, high: float, panels: int = 32, size: int = 32
) -> tuple[Reals, Reals]:
    """Return the Gauss-Legendre rule repeated on equal panels: for integrands with narrow features."""
    edges = np.linspace(low, high, panels + 1)
    rules = [gauss_legendre(a, b, size) for a, b in pairwise(edges)]
    return np.concatenate([x for x, _ in rules]), np.concatenate([w for _, w in rules])


def gauss_hermite(size: int) -> tuple[Reals, Reals]:
    """Return nodes and weights that integrate against the standard normal law."""
    return _hermite(size)


@lru_cache(maxsize=16)
def _legendre(size: int) -> tuple[Reals, Reals]:
    nodes, weights = np.polynomial.legendre.leggauss(size)
    return nodes, weights


@lru_cache(maxsize=16)
def _hermite(size: int) -> tuple[Reals, Reals]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(size)
    return nodes, weights / weights.sum()
