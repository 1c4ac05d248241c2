"""Effective parameters: the expansion against sampled matrices."""

import numpy as np

from simonides.theory.effective import _expansion, asymptotic_effective_parameters

_VALUES = 250_000
"""Singular values drawn per shape."""


def run() -> list[dict[str, float]]:
    """Return one row per shape and rank."""
    rng = np.random.default_rng(1)
    rows = []
    for long, short in ((33, 33), (64, 64), (200, 40), (128, 128)):
        samples = _VALUES // short
        gaussian = rng.standard_normal((samples, short, long))
        squares = np.linalg.svd(gaussian, compute_uv=False) ** 2
        shares = np.cumsum(squares, axis=1) / squares.sum(axis=1, keepdims=True)
        for rank in (1, 2, 4, short // 4, short // 2):
            sampled = long * short * shares[:, rank - 1].mean()
            error = long * short * shares[:, rank - 1].std() / np.sqrt(samples)
            leading = asymptotic_effective_parameters(long, short, rank)
            rows.append(
                {
                    "long": long,
                    "short": short,
                    "rank": rank,
                    "sampled": sampled,
                    "stderr": error / sampled,
                    "leading_off": leading / sampled - 1,
                    "expansion_off": _expansion(long, short, rank) / sampled - 1,
                }
            )
    return rows
