r"""Averages over the weights of random softmax attention, exact at any number of tokens.

Scores of one query over T keys are independent Gaussians of variance v; two queries see the same key
with scores of correlation r. With A the weights of one query and A' those of another,

.. math:: Y = E\sum A^2,\quad O = E\sum A A',\quad Y_3 = E\sum A^3,\quad Y_4 = E\sum A^4,
    \quad Y_{22} = E\bigl(\sum A^2\bigr)^2,

the entropy is :math:`H = E\log Z - v(1 - Y)`, and gradients need

.. math:: \Gamma = Y - 2 Y_3 + Y_{22}, \qquad
    \Gamma_{12} = O - 2 E\sum A^2 A' + E\bigl(\sum A A'\bigr)^2 .

Two identities tie them together (Gaussian integration by parts):
:math:`\partial_v E\log Z = (1 - Y)/2` and :math:`\partial_r O = v\,\Gamma_{12}`.

Weights have the partition function in their denominator. Writing a power of it as an integral,
:math:`Z^{-k} = \Gamma(k)^{-1} \int e^{ky} \exp(-e^y Z) dy`, turns each average into an integral over one
variable y of products over keys, and each factor into a smoothed Gumbel kernel,

.. math:: F_k(y) = E_z K_k(y + \sigma z),\qquad K_k(y) = e^{ky} \exp(-e^y),\qquad \sigma = \sqrt v .

Integrands are analytic and decay fast at both ends, so that the trapezoidal rule converges
geometrically in its step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from simonides import arguments
from simonides.arrays import Reals

STEP = 0.3
"""Step in y: the kernels' Fourier transforms, Γ(k + iω), have fallen to 1e-14 at 2π/STEP."""

_NORMAL_STEP = 0.4
"""Largest step of a normal variable, and of a kernel's argument: |Γ(k + iω)| is some 1e-9 at 2π over it."""

_REACH = 9.0
"""Deviations beyond which a normal variable has probability 2e-19: less than rounding."""

_DECAY = 21.0
"""Integrands fall at least as e^y below the first point that matters: e^-21 is 1e-9."""

_LARGEST_EXPONENT = 700.0
"""Beyond it exp overflows; the kernels have long been zero there."""

MOST_TOKENS = 1e60
"""Any number does that lies beyond all in use; powers of it up to T² stay far from overflow."""

MOST_VARIANCE = 1e5
"""Far beyond freezing, 2 log T; the number of points grows with the deviation."""

_FINEST = 64
"""Parts of a step of y at most: with more, the common deviation is below 0.012, and few points of u do."""

_CLOSE = 1e-3
"""Of v (1 - r): below it Y less O cancels, while its slope at the middle errs by the square."""

_ALMOST_ONE = 1 - 2.0**-53
"""The largest number below one: the logarithm of what is left stays finite."""


@dataclass(frozen=True)
class AttentionStatistics:
    """Averages over attention weights: numbers, or arrays of one shape.

    Attributes
    ----------
    even : float or array
        1/T, the least Y; 0 in the limit of many tokens.
    participation, overlap, entropy : float or array
        Y, O and H.
    excess, contrast : float or array
        Y - 1/T and Y - O, free of cancellation. They set norm and gap of what attention puts out, and they
        alone carry corrections in the dimension.
    third, fourth, squared : float or array
        Y3, Y4 and Y22.
    gradient, gradient_overlap : float or array
        The factors Γ and Γ12 of the backward pass.
    """

    even: float | Reals
    participation: float | Reals
    excess: float | Reals
    overlap: float | Reals
    contrast: float | Reals
    entropy: float | Reals
    third: float | Reals
    fourth: float | Reals
    squared: float | Reals
    gradient: float | Reals
    gradient_overlap: float | Reals


@dataclass(frozen=True)
class RowMoments:
    """Averages over the weights of one query."""

    participation: float
    third: float
    fourth: float
    squared: float
    log_partition: float
    entropy: float

    @property
    def gradient(self) -> float:
        """Return Γ."""
        return self.participation - 2 * self.third + self.squared


@dataclass(frozen=True)
class PairMoments:
    """Averages over the weights of two queries."""

    overlap: float
    gradient_overlap: float


def attention_statistics(variance: float, correlation: float, tokens: float) -> AttentionStatistics:
    r"""Averages over the weights of softmax attention on random scores.

    :math:`Y = E\sum A^2`, :math:`O = E\sum A A'`, the entropy H and what gradients need, at any number of
    tokens: relative error below 1e-6.

    Parameters
    ----------
    variance : float
        Of the scores: beta² log T (1 - cosine).
    correlation : float
        Of two queries' scores with the same key: the cosine of two tokens.
    tokens : float
        How many keys there are, at least 2; need not be whole.

    Returns
    -------
    AttentionStatistics

    Raises
    ------
    BadArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> statistics = attention_statistics(4 * math.log(512), 0.5, 512)
    >>> print(f"{statistics.participation:.6f} {statistics.overlap:.6f} {statistics.entropy:.6f}")
    0.425016 0.044146 1.526922
    """
    remedy = "pass the variance of the scores, beta² log T (1 - cosine)"
    variance = arguments.real("variance", variance, least=0, most=MOST_VARIANCE, remedy=remedy)
    tokens = checked_tokens(tokens)
    remedy = "pass the cosine of two tokens; negative ones are not covered"
    correlation = arguments.real("correlation", correlation, least=0, most=1, remedy=remedy)
    row = row_moments(variance, tokens)
    pair = pair_moments(variance, correlation, tokens)
    return AttentionStatistics(
        even=1 / tokens,
        participation=row.participation,
        excess=row.participation - 1 / tokens,
        overlap=pair.overlap,
        contrast=contrast(row, pair, variance, correlation, tokens),
        entropy=row.entropy,
        third=row.third,
        fourth=row.fourth,
        squared=row.squared,
        gradient=row.gradient,
        gradient_overlap=pair.gradient_overlap,
    )


def row_moments(variance: float, tokens: float) -> RowMoments:
    r"""Return the averages over one query's weights, by one-dimensional integrals.

    .. math:: E\sum A^k = \frac{T}{(k-1)!}\int F_k\,\phi^{T-1} dy, \qquad
        E\log Z = \int \bigl(e^{-e^y} - \phi^T\bigr) dy, \qquad \phi = F_0
    """
    if variance == 0:
        share = 1 / tokens
        return RowMoments(share, share**2, share**3, share**2, math.log(tokens), math.log(tokens))
    deviation = math.sqrt(variance)
    y = _levels(deviation, tokens)
    lost, *moments = _smoothed(y, deviation, (0, 2, 3, 4), _reach(tokens))
    second, third, fourth = moments
    log_kept = np.log1p(-np.minimum(lost, _ALMOST_ONE))
    others = np.exp((tokens - 1) * log_kept)
    participation = STEP * tokens * float(second @ others)
    fourth_moment = STEP * tokens / 6 * float(fourth @ others)
    two_keys = STEP * tokens * (tokens - 1) / 6 * float(second**2 @ np.exp((tokens - 2) * log_kept))
    all_keys = np.exp(tokens * log_kept)
    # Shifted to where φ^T falls, both terms of log Z's integrand end well inside the grid.
    centre = float(y[np.searchsorted(-all_keys, -0.5)])
    log_partition = (
        STEP * float(np.sum(np.exp(-np.exp(np.minimum(y - centre, _LARGEST_EXPONENT))) - all_keys))
        - centre
    )
    return RowMoments(
        participation=participation,
        third=STEP * tokens / 2 * float(third @ others),
        fourth=fourth_moment,
        squared=fourth_moment + two_keys,
        log_partition=log_partition,
        entropy=log_partition - variance * (1 - participation),
    )


def pair_moments(variance: float, correlation: float, tokens: float) -> PairMoments:
    r"""Return the averages over two queries' weights, by two-dimensional integrals.

    Scores of the same key are :math:`\sigma\sqrt r\,u + \sigma\sqrt{1-r}\,w`, with u common to both
    queries. Smoothing over w leaves a function of :math:`y + \sigma\sqrt r\,u` alone, so that one
    fine grid serves every pair (y, u).
    """
    if variance == 0:
        return PairMoments(1 / tokens, 1 / tokens - 1 / tokens**2)
    if correlation in (0, 1):
        row = row_moments(variance, tokens)
        if correlation == 1:
            return PairMoments(row.participation, row.gradient)
        # Queries that see independent scores: the averages of one, multiplied.
        same_key = row.participation**2 / tokens
        two_keys = (1 - row.participation) ** 2 / (tokens * (tokens - 1))
        return PairMoments(1 / tokens, (1 - 2 * row.participation) / tokens + same_key + two_keys)
    deviation = math.sqrt(variance)
    y = _levels(deviation, tokens)
    lost, first, second, weights = _common_and_own(y, deviation, correlation, tokens)
    lost_each = lost @ weights
    lost_pair = lost_each[:, None] + lost_each - (lost * weights) @ lost.T
    log_kept = np.log1p(-np.minimum(lost_pair, _ALMOST_ONE))
    others = np.exp((tokens - 1) * log_kept)
    area = tokens * STEP**2
    firsts = (first * weights) @ first.T
    overlap = area * float(np.sum(firsts * others))
    two_one = area * float(np.sum((second * weights) @ first.T * others))
    two_two = area * float(np.sum((second * weights) @ second.T * others))
    two_keys = area * (tokens - 1) * float(np.sum(firsts**2 * np.exp((tokens - 2) * log_kept)))
    return PairMoments(overlap, overlap - 2 * two_one + two_two + two_keys)


def _common_and_own(
    y: Reals, deviation: float, correlation: float, tokens: float
) -> tuple[Reals, Reals, Reals, Reals]:
    """Return 1 - f_0, f_1, f_2 at (y, u) and the weights of u."""
    own = deviation * math.sqrt(1 - correlation)
    common = deviation * math.sqrt(correlation)
    far = _reach(tokens)
    parts = math.ceil(STEP / (_NORMAL_STEP * common)) if common > 0 else math.inf
    if parts > _FINEST:
        # The common part hardly moves: few points of u, each with its own smoothing.
        u, weights = _normal_rule(common, far)
        lost, first, second = _smoothed(y[:, None] + common * u, own, (0, 1, 2), far)
        return lost, first, second, weights
    fine = STEP / int(parts)
    margin = math.ceil(far * common / fine)
    x = y[0] + fine * np.arange(-margin, (y.size - 1) * int(parts) + margin + 1)
    u = fine / common * np.arange(-margin, margin + 1.0)
    weights = fine / common * np.exp(-u * u / 2) / math.sqrt(2 * math.pi)
    windows = [
        np.lib.stride_tricks.sliding_window_view(values, u.size)[:: int(parts)]
        for values in _smoothed(x, own, (0, 1, 2), far)
    ]
    return windows[0], windows[1], windows[2], weights


def _levels(deviation: float, tokens: float) -> Reals:
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


def _smoothed(x: Reals, deviation: float, powers: tuple[int, ...], reach: float) -> list[Reals]:
    """Return F_k at each x for the powers asked; power 0 stands for 1 - F_0, which is kept whole."""
    z, weights = _normal_rule(deviation, reach)
    exponent = np.minimum(x[..., None] + deviation * z, _LARGEST_EXPONENT)
    growth = np.exp(exponent)
    return [
        (np.exp(power * exponent - growth) if power else -np.expm1(-growth)) @ weights
        for power in powers
    ]


def _normal_rule(deviation: float, reach: float = _REACH) -> tuple[Reals, Reals]:
    """Return the trapezoidal rule for a normal variable that a kernel sees times a deviation."""
    step = _NORMAL_STEP / max(1.0, deviation)
    count = math.ceil(max(reach, _REACH) / step)
    z = step * np.arange(-count, count + 1.0)
    return z, step * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def _reach(tokens: float) -> float:
    """Return how many deviations matter: the highest of all scores does."""
    return max(_REACH, math.sqrt(2 * math.log(tokens)) + 6)


def contrast(
    row: RowMoments, pair: PairMoments, variance: float, correlation: float, tokens: float
) -> float:
    """Return Y - O; where that would cancel, from its slope v Γ12 at the middle of r and 1."""
    if variance * (1 - correlation) > _CLOSE:
        return row.participation - pair.overlap
    middle = pair_moments(variance, (1 + correlation) / 2, tokens)
    return variance * (1 - correlation) * middle.gradient_overlap


def checked_tokens(tokens: object) -> float:
    """Return the number of tokens if it is at least 2."""
    return arguments.real(
        "tokens", tokens, least=2, most=MOST_TOKENS, remedy="attention needs two tokens to compare"
    )
