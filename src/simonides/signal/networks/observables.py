"""What is measured in a network: of tokens, of attention weights, of gradients."""

from __future__ import annotations

from typing import Any

import numpy as np


def token_statistics(x: Any) -> tuple[float, float]:
    """Return the mean cosine of two tokens and the mean squared norm over the dimension."""
    x = x.astype(np.float64)
    squares = np.sum(x * x, axis=1)
    total = np.sum(x / np.sqrt(np.maximum(squares, 1e-300))[:, None], axis=0)
    count = len(x)
    cosine = (float(total @ total) - count) / (count * (count - 1))
    return cosine, float(squares.mean()) / x.shape[1]


def weight_statistics(weights: Any) -> tuple[float, float, float]:
    """Return mean entropy, Y and O over heads and queries (heads x queries x keys)."""
    weights = weights.astype(np.float64)
    participation = float(np.sum(weights**2, axis=2).mean())
    count = weights.shape[1]
    columns = weights.sum(axis=1)
    every = float(np.sum(columns**2, axis=1).mean())
    overlap = (every - count * participation) / (count * (count - 1))
    logs = np.log(np.maximum(weights, 1e-300))
    return -float(np.sum(weights * logs, axis=2).mean()), participation, overlap


def gradient_statistics(gradient: Any) -> tuple[float, float]:
    """Return D and X: the mean square and the mean product of two tokens, over the dimension."""
    gradient = gradient.astype(np.float64)
    count, dim = gradient.shape
    whole = square(gradient)
    total = gradient.sum(axis=0)
    pairs = count * (count - 1) * dim
    return whole / (count * dim), (float(total @ total) - whole) / pairs


def square(values: Any) -> float:
    """Return the sum of squares, in double precision."""
    return float(np.sum(np.square(values, dtype=np.float64)))
