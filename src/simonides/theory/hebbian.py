r"""The Hebbian rule :math:`W = \frac1d \sum_i y_i x_i^T`: its scores, accuracy and thresholds.

In units of the off-target scores' standard deviation a target scores :math:`\mu + N(0, 1)` and a
rival :math:`N(0, 1)`. To leading order :math:`\mu^2 = d_{in} d_{out} / p` (eq. D.3). The terms that
this drops matter at every size that can be simulated: a rival also overlaps with the target's own
output, and with its own stored input. Counting them,

.. math:: \mu^2 = \frac{d_{in} d_{out}}{p + d_{in} - 1 + \frac{p}{K} (d_{out} - 1)}
    \quad\text{(shared outputs)},
    \qquad \mu^2 = \frac{d_{in} d_{out}}{p + d_{in} - 1} \quad\text{(decoupled)}.

Scores are treated as independent Gaussians, as in Theorem D.1. For the accuracy that is sharp (within
0.04 in every simulation tested, from d = 25 up). For the chance that *all* facts are recalled it is
cautious where outputs are shared: failures come in clusters, so the number of facts with even odds is
up to 1.45 times the predicted one at d = 25 to 100, and approaches it as d grows.

Two criteria are in use and their constants differ: **all** facts are recalled with high probability
up to :math:`p \log p / d^2 = 1/8`, while the **fraction** recalled tends to one up to 1/2.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import special

from simonides import arguments
from simonides.theory.laws import NormalLaw
from simonides.theory.projection import top_mean
from simonides.theory.quadrature import SEED, composite_gauss_legendre
from simonides.theory.tail import highest_normals, tail_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals
    from simonides.theory.setting import Setting

Criterion = Literal["all", "fraction"]

LOAD_ALL = 1 / 8
"""Load up to which every fact is recalled with high probability (Theorem D.1)."""

LOAD_FRACTION = 1 / 2
"""Load up to which the recalled fraction tends to one."""

_REACH = 12.0
"""Standard deviations of the integral over a target's score; from 10 on nothing changes but rounding."""

_LOWEST = -38.0
"""Below it the normal density is zero in double precision."""

_SAMPLED_AVERAGES = 200
"""Averaged rivals beyond which their mean hardly varies; the same as in a setting's price."""

_LEVEL_SAMPLES = 1024
"""Of that mean, over which the accuracy is averaged: its standard error is a 32nd of its spread."""

_FEWEST, _MOST = 1e-6, 1e30
"""Facts between which a capacity is sought: beyond the largest it is called infinite."""


def target_score_law(setting: Setting, facts: float) -> NormalLaw:
    """Return the law of a target's score, in off-target standard deviations (eq. D.3)."""
    return NormalLaw(signal(setting, facts))


def rival_score_law() -> NormalLaw:
    """Return the law of an off-target score (eq. D.3)."""
    return NormalLaw(0.0)


def signal(setting: Setting, facts: float) -> float:
    """Return the mean target score over the off-target scores' deviation (eq. D.3, extended)."""
    facts = _facts(facts)
    crosstalk = facts + setting.dim_in - 1
    if setting.problem == "original":
        facts_per_output = 1.0 if setting.candidates is None else facts / setting.candidates
        crosstalk += facts_per_output * (setting.dim_out - 1)
    return math.sqrt(setting.entries / max(crosstalk, 1.0))


def failure_probability(mean: float, candidates: float, margin: float = 0.0) -> float:
    r"""Return the probability that one fact is not recalled.

    .. math:: 1 - \int Dx\, \Phi(x + \mu - c)^{K-1}

    Accurate also where it is tiny.

    >>> round(failure_probability(0.0, 4), 12)
    0.75
    """
    margin = arguments.real("margin", margin, remedy="pass 0 to ask only for the top score")
    mean = arguments.real("mean", mean, remedy="pass the mean target score") - margin
    candidates = arguments.real("candidates", candidates, least=1, remedy="count the target too")
    # Failures come from targets that fall below the highest rival.
    highest = math.sqrt(2 * math.log(candidates))
    low = min(-_REACH, highest - mean - _REACH)
    x, weights = composite_gauss_legendre(max(low, _LOWEST), _REACH)
    lost = -np.expm1((candidates - 1) * special.log_ndtr(x + mean))
    return float(weights @ (np.exp(-x * x / 2) * lost)) / math.sqrt(2 * math.pi)


def recall_probability(setting: Setting, facts: float) -> float:
    """Return the expected accuracy: the chance that a given fact is recalled (eq. D.5)."""
    return 1.0 - _failure(setting, facts)


def all_recalled_probability(setting: Setting, facts: float) -> float:
    """Return the chance that every fact is recalled, failures being independent (Theorem D.1)."""
    failure = _failure(setting, facts)
    return 0.0 if failure >= 1 else math.exp(_facts(facts) * math.log1p(-failure))


def rate(load: float) -> float:
    r"""Return the exponent of a fact's failure, :math:`P \approx p^{-I}` (eq. D.7).

    :math:`I = \min_s \frac{(m-s)^2}{2} + (\frac{s^2}{2} - 1)_+` with :math:`m = \alpha^{-1/2}`; every
    fact is recalled while it exceeds one.

    >>> rate(1 / 8), rate(1 / 2)
    (1.0, 0.0)
    """
    load = arguments.positive("load", load, remedy="pass p log p / d²")
    if load <= LOAD_ALL:
        return 1 / (4 * load) - 1
    return max(1 / math.sqrt(load) - math.sqrt(2), 0.0) ** 2 / 2


def hebbian_capacity(
    setting: Setting, criterion: Criterion = "all", *, probability: float | None = None
) -> float:
    """Return how many facts the Hebbian rule stores at finite size (Theorem D.1 in the limit).

    Parameters
    ----------
    setting : Setting
        The matrix and its criterion. The rule has full rank: a rank bound is ignored.
    criterion : {"all", "fraction"}
        Whether every fact is to be recalled, or a fraction of them.
    probability : float, optional
        Of recalling all (default 0.5), or the expected fraction (default 0.99).

    Returns
    -------
    float
        Facts; infinite if guessing already achieves it.

    Examples
    --------
    >>> from simonides.theory.setting import Setting
    >>> print(f"{hebbian_capacity(Setting(100, 100)):.0f}")
    138
    """
    defaults = {"all": 0.5, "fraction": 0.99}
    arguments.one_of("criterion", criterion, defaults, "say which is meant")
    default = defaults[criterion]
    wanted = default if probability is None else probability
    wanted = arguments.real(
        "probability",
        wanted,
        least=0,
        most=1,
        open_least=True,
        open_most=True,
        remedy="certainty is reached at no finite size",
    )
    achieved = all_recalled_probability if criterion == "all" else recall_probability
    return _largest(lambda facts: achieved(setting, facts) - wanted)


def _failure(setting: Setting, facts: float) -> float:
    mean = signal(setting, facts)
    candidates = max(facts, 1.0) if setting.candidates is None else setting.candidates
    averaged = setting.averaged_rivals(candidates)
    if averaged > 1:
        level = _averaged_levels(setting, averaged, candidates) + setting.margin
        return float(np.mean(special.ndtr(level - mean)))
    return failure_probability(mean, candidates, setting.margin)


def _averaged_levels(setting: Setting, averaged: float, candidates: float) -> Reals:
    """Return samples of the mean of the strongest rivals, or its limit where it hardly varies."""
    assert setting.tail_fraction is not None
    if averaged > _SAMPLED_AVERAGES:
        return np.array([tail_mean(setting.tail_fraction)])
    return _sampled_levels(averaged, max(round(candidates) - 1, math.ceil(averaged)))


@lru_cache(maxsize=256)
def _sampled_levels(averaged: float, rivals: int) -> Reals:
    rng = np.random.default_rng(SEED)
    top = highest_normals(_LEVEL_SAMPLES, rivals, math.ceil(averaged), rng)
    return top_mean(top, averaged)


def _largest(surplus: Callable[[float], float]) -> float:
    from scipy.optimize import brentq

    if surplus(_FEWEST) <= 0:
        return 0.0
    if surplus(_MOST) >= 0:
        return math.inf
    root = brentq(lambda log: surplus(math.exp(log)), math.log(_FEWEST), math.log(_MOST))
    return math.exp(float(root))


def _facts(facts: float) -> float:
    return arguments.positive("facts", facts, remedy="pass the number of stored facts")
