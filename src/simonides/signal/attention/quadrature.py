"""Smoothed Gumbel kernels: what every average over a random softmax is made of.

The weights of a softmax over T Gaussian scores of variance v have the partition function in their
denominator. Writing a power of it as an integral, 1/Z^k = (1/Γ(k)) ∫ e^{ky} exp(-e^y Z) dy, turns each
average into an integral over one variable y of products over keys, and each factor into

    F_k(y) = E_z K_k(y + σ z),   K_k(y) = e^{ky} exp(-e^y),   σ = √v .

Integrands are analytic and decay fast at both ends, so that the trapezoidal rule converges
geometrically in its step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from simonides.arrays import Reals

STEP = 0.3
"""Step in y: the kernels' Fourier transforms, Γ(k + iω), have fallen to 1e-14 at 2π/STEP."""

_REACH = 9.0
"""Deviations beyond which a normal variable has probability 2e-19: less than rounding."""

_DECAY = 21.0
"""Integrands fall at least as e^y below the first point that matters: e^-21 is 1e-9."""

_LARGEST_EXPONENT = 700.0
"""Beyond it exp overflows; the kernels have long been zero there."""


def levels(deviation: float, tokens: float) -> Reals:
    """Return the points y at which integrands are summed, for scores of that deviation.

    -y is where log Z may lie: it is at most log T above the highest score, which exceeds
    √(2 log T + 50) deviations with probability below e^-25, and below the first point integrands
    have fallen by e^-21. At the upper end no score is likely to be as low as all would have to be.
    """
    log_tokens = math.log(tokens)
    highest = deviation * math.sqrt(2 * log_tokens + 50)
    low = -(log_tokens + highest) - _DECAY
    # The quantile that all scores stay below with probability 1e-15, by its complement.
    quantile = -float(special.ndtri(-math.expm1(-15 * math.log(10) / tokens)))
    high = min(-deviation * quantile, 8 * deviation) + 4
    count = math.ceil((high - low) / STEP)
    return low + STEP * np.arange(count + 1.0)


def smoothed(x: Reals, deviation: float, powers: tuple[int, ...], reach: float) -> list[Reals]:
    """Return F_k at each x for the powers asked; power 0 stands for 1 - F_0, which is kept whole."""
    z, weights = normal_rule(deviation, reach)
    exponent = np.minimum(x[..., None] + deviation * z, _LARGEST_EXPONENT)
    growth = np.exp(exponent)
    return [
        (np.exp(power * exponent - growth) if power else -np.expm1(-growth)) @ weights
        for power in powers
    ]


def normal_rule(deviation: float, reach: float = _REACH) -> tuple[Reals, Reals]:
    """Return the trapezoidal rule for a normal variable that a kernel sees times a deviation."""
    step = min(0.4, 0.4 / deviation) if deviation > 0 else 0.4
    count = math.ceil(max(reach, _REACH) / step)
    z = step * np.arange(-count, count + 1.0)
    return z, step * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def reach(tokens: float) -> float:
    """Return how many deviations matter: the highest of all scores does."""
    return max(_REACH, math.sqrt(2 * math.log(tokens)) + 6)
