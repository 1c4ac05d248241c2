r"""Attention statistics where sizes are large: the limit of many tokens, and corrections in the width.

Many tokens are a Random Energy Model. At variance :math:`v = b^2 \log T` the softmax freezes at
:math:`b = \sqrt 2`. With :math:`m = \sqrt2 / b`,

.. math:: Y = 1 - m, \quad Y_3 = \tfrac12 (1-m)(2-m), \quad Y_{22} = \tfrac13 (1-m)(3-2m), \quad
    \Gamma = \tfrac13 m (1-m), \quad O = 0

above, all zero below, where :math:`H = (1 - b^2/2) \log T`. Corrections are of order 1/log T: near and
below freezing these are not to be trusted at any number of tokens in use.

Heads of dimension :math:`d_h`: a query's own norm fluctuates, so that its score variance is v times a
chi-square variable over its :math:`d_h` degrees of freedom, which is averaged over. Dimension d: keys
that a query prefers lean its way, so that their average does not cancel. In the norm and the gap of
what attention puts out, by parts,

.. math:: Y \to Y + \frac vd (1 - 5Y + 4Y_3 + 6 Y_{22} - 6 Y_4), \qquad
    O \to O + r \frac vd (1 - Y)^2

for tokens that a LayerNorm has brought to equal norms (their own squares, which would add
:math:`4Y - 10Y_3 + 6Y_4` if norms were free, do not fluctuate).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from simonides.arrays import Reals
from simonides.signal.attention.softmax import AttentionStatistics, checked_tokens
from simonides.signal.maps.architecture import Architecture
from simonides.signal.maps.forward import Statistics


def asymptotic_statistics(tokens: float) -> Statistics:
    """Return the limit's statistics as a function of variance and correlation.

    Two queries overlap only where they are one: O is Y at correlation 1, and 0 at any other.
    """
    log_tokens = math.log(checked_tokens(tokens))

    def statistics(variance: Reals, correlation: Reals) -> AttentionStatistics:
        variance, correlation = np.broadcast_arrays(variance, correlation)
        squared_beta = variance / log_tokens
        # At zero variance nothing is frozen; any m of at least one says so.
        m = np.minimum(np.sqrt(2 / np.maximum(squared_beta, 1e-300)), 1.0)
        frozen = 1 - m
        nothing = np.zeros_like(frozen)
        # Y4 from the moments of a Poisson-Dirichlet law: (1-m)(2-m)(3-m)/6.
        return AttentionStatistics(
            even=0.0,
            participation=frozen,
            excess=frozen,
            overlap=np.where(correlation == 1, frozen, nothing),
            contrast=np.where(correlation == 1, nothing, frozen),
            entropy=log_tokens * np.maximum(1 - squared_beta / 2, 0.0),
            third=frozen * (2 - m) / 2,
            fourth=frozen * (2 - m) * (3 - m) / 6,
            squared=frozen * (3 - 2 * m) / 3,
            gradient=m * frozen / 3,
            gradient_overlap=np.where(correlation == 1, m * frozen / 3, nothing),
        )

    return statistics


def at_finite_width(statistics: Statistics, architecture: Architecture) -> Statistics:
    """Return statistics with both corrections for an architecture's widths."""
    dim, head_dim = architecture.dim, architecture.head_dim

    def corrected(variance: Reals, correlation: Reals) -> AttentionStatistics:
        mean = _averaged(statistics, variance, correlation, head_dim)
        own = mean.participation
        towards = 1 - 5 * own + 4 * mean.third + 6 * (mean.squared - mean.fourth)
        more = variance / dim * towards
        shared = correlation * variance / dim * np.square(1 - own)
        return replace(mean, excess=mean.excess + more, contrast=mean.contrast + more - shared)

    return corrected


def _averaged(
    statistics: Statistics, variance: Reals, correlation: Reals, head_dim: int
) -> AttentionStatistics:
    factors, weights = _chi_square_rule(head_dim)
    parts = [vars(statistics(variance * factor, correlation)) for factor in factors]
    means = {
        name: sum(weight * part[name] for weight, part in zip(weights, parts, strict=True))
        for name in parts[0]
    }
    return AttentionStatistics(**means)


@lru_cache(maxsize=64)
def _chi_square_rule(degrees: int) -> tuple[Reals, Reals]:
    """Return three positive points and weights for a chi-square variable over its degrees."""
    # Gauss-Laguerre from its recurrence: nothing overflows at many degrees.
    order, power = np.arange(3.0), degrees / 2 - 1
    above = np.sqrt(order[1:] * (order[1:] + power))
    points, vectors = np.linalg.eigh(
        np.diag(2 * order + 1 + power) + np.diag(above, 1) + np.diag(above, -1)
    )
    return points * 2 / degrees, vectors[0] ** 2
