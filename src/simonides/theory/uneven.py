r"""What unequally frequent targets cost.

K outputs in general position, in at least K - 1 dimensions, can be sent anywhere: recall is then a matter
of K free score vectors. With a share :math:`w_k` of the facts on output k and d the dimension of the
inputs, near capacity the replica formula reduces to a game of two positive matrices on differences of
scores,

.. math:: \frac pd = \max_Q \min_M \frac{\mathrm{tr}\, M Q}{\sum_k w_k D_k(M, Q)}, \qquad
    D_k = E \min_{z \in C_k} (z - h)^T M (z - h), \quad h \sim N(0, Q),

where :math:`C_k` is the set in which output k scores highest. Equal shares leave both at one, which is
:math:`p\, \delta_K = d (K - 1)`. Otherwise M weighs what is asked for most. Here Q, which hardly matters,
is left at one, and M is diagonal with the power of the shares that costs most. With ones on the k most
frequent targets and zeros elsewhere it would give the bound that a part sets for the whole, :math:`\min_k
\mathrm{capacity}(k)/w_k`.

To second order in the shares, those of targets drawn at random lose :math:`c_K K/p` of the facts. The
constant follows from averages over projections (``benchmarks/uneven.py``); it is 0.19 :math:`\delta_K`
within 6% from six outputs on, and less below.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy import special

from simonides.estimate import Estimate
from simonides.theory.cone import statistical_dimension
from simonides.theory.projection import scaled_distance
from simonides.theory.quadrature import SEED

RANDOM = 0.19
"""Share of facts that random targets lose, times facts per output, over the price of a fact."""

_MOST_LOST = 0.5
"""As measured: at 0.9 facts for each of 30 outputs 51 ± 3% are lost, where the law says 69%. With one for
each of 20 it still holds, 51% against 47 ± 2%."""

_FADING = 4.0
"""Power of dimensions over outputs but one that random targets lose by, where outputs are more: four cells
of the benchmark of random targets, at 0.5 to 0.8 of it, chi-square 2.6."""

_POWERS = 1.0, 1.5, 2.0, 3.0
"""Of the shares, for the weights: among them the best is met within one percent of the facts."""

_EVEN = 24
"""Outputs, the most frequent, whose scores are spread evenly over the samples, as targets are."""

_LOG_SAMPLES, _LOG_SCORES = (8, 11), 18
"""Least and most vectors, and scores in all: from seed to seed facts scatter by one percent, two from 100
outputs on."""


@lru_cache(maxsize=256)
def evenness(counts: tuple[int, ...]) -> Estimate:
    """Return which share of the facts that fit with equal counts fits where targets are so frequent.

    For outputs no more than their dimension and one. The error, that of independent samples, is an upper
    bound.

    Examples
    --------
    >>> round(evenness((7, 7, 7)).value, 1), round(evenness((40, 10, 5, 5)).value, 1)
    (1.0, 0.9)
    """
    from scipy.stats import qmc

    size = len(counts)
    if size < 3 or min(counts) == max(counts):
        return Estimate(1.0)
    few = min(size, _EVEN)
    rng = np.random.default_rng(SEED)
    number = int(np.clip(_LOG_SCORES - math.log2(size), *_LOG_SAMPLES))
    points = np.clip(qmc.Sobol(few + 1, seed=rng).random_base2(number), 1e-12, 1 - 1e-12)
    frequencies = np.sort(np.array(counts, dtype=np.float64))[::-1]
    row, targets = (
        np.arange(len(points)),
        np.searchsorted(frequencies.cumsum(), points[:, 0] * frequencies.sum()),
    )
    scores = np.hstack((special.ndtri(points[:, 1:]), rng.standard_normal((len(row), size - few))))
    own = scores[row, targets]
    scores[row, targets] = -np.inf
    equal = scaled_distance(own, scores, np.ones_like(scores))
    shares = (frequencies + 1) / (
        frequencies + 1
    ).mean()  # those that are never targets compete too
    estimates = [Estimate(1.0)]
    for power in _POWERS:
        weights = shares**power
        mine = weights[targets][:, None]
        roots = np.sqrt(weights / mine)
        prices = mine[:, 0] * scaled_distance(own, scores * roots, roots)
        budget = (weights.sum() - (weights**2).sum() / weights.sum()) / (size - 1)
        share = budget * equal.mean() / prices.mean()
        spread = Estimate.of_mean(prices / prices.mean() - equal / equal.mean()).stderr
        estimates.append(Estimate(float(share), float(share * spread)))
    return min(estimates, key=lambda share: share.value)


def lost_to_chance(candidates: float, facts: float, dim_out: float = math.inf) -> float:
    """Return which share of the facts that fit with equal counts is lost if targets are drawn at random.

    Less where outputs are more than their dimension and one, as measured.

    Examples
    --------
    >>> print(f"{lost_to_chance(15, 86.2):.3f} {lost_to_chance(15, 86.2, dim_out=10):.3f}")
    0.081 0.021
    """
    lost = min(RANDOM * statistical_dimension(candidates) * candidates / facts, _MOST_LOST)
    return float(lost * min(1.0, dim_out / (candidates - 1)) ** _FADING)
