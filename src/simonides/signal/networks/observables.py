"""What is measured in a network: of tokens, of attention weights, of gradients; and the class it shows.

Theory calls attention frozen where beta exceeds its critical value. Networks show entropies instead: the
entropy of a row falls with the variance of its scores, so the same edge is the entropy that T Gaussian
scores have at the critical variance, 2 log T.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.signal.attention.softmax import row_moments
from simonides.signal.outcome import OUTCOMES, ClassThresholds, Outcome, classes

if TYPE_CHECKING:
    from simonides.signal.networks.simulation import Simulation


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


def freezing_entropy(tokens: float) -> float:
    """Return the mean entropy of attention over that many tokens at the critical variance.

    >>> round(freezing_entropy(512), 6)
    2.433886
    """
    return row_moments(2 * math.log(tokens), tokens).entropy


def observed(run: Simulation, thresholds: ClassThresholds | None = None) -> Outcome:
    """Return the class of simulated networks; ``simulate`` must have sent gradients back."""
    if not np.any(run.mean.gradient):
        raise arguments.refuse(
            "run", "no gradients", "with gradients", "call simulate with backward=True"
        )
    tokens = run.architecture.tokens
    least = np.asarray(run.mean.entropy.min())
    code = classes(
        final_gap=np.asarray(1 - run.mean.cosine[-1]),
        frozen=least < freezing_entropy(tokens),
        least_entropy=least / math.log(tokens),
        gain=np.asarray(run.mean.gradient[0] / run.mean.gradient[-1]),
        thresholds=thresholds,
    )
    return OUTCOMES[int(code)]
