r"""What a fact costs where outputs differ in length.

Theory takes all outputs as equally long. In random directions, an output of length :math:`r_j` scores
:math:`r_j g_j` with Gaussian :math:`g_j`, so a target of length :math:`r` is recalled where
:math:`r g_1 \ge r_j g_j` for all rivals. The price is again the mean squared distance of a Gaussian vector
from that cone,

.. math:: \min_t\; (g_1 - t)^2 + \sum_j \Bigl(g_j - \frac{r}{r_j} t\Bigr)_+^2 ,

and facts of different prices fit as long as the prices add up to the parameters. A short target has to
keep all its rivals low, since it scores little itself: it is dear.

That is so where each input has its own outputs. Outputs that all inputs share may undergo an invertible map
first, which changes nothing but can make their lengths more even: lengths then matter less, as measured.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from simonides.estimate import Estimate
from simonides.theory.capacity import capacity
from simonides.theory.projection import scaled_distance

if TYPE_CHECKING:
    from simonides.arrays import Reals

_SAMPLES = 16_000
"""Draws of a price: its relative error is then below a percent."""

_AT_A_TIME = 1_000
"""Draws held at once: some megabytes for a thousand candidates."""

_ROUNDS = 3
"""The price changes with the logarithm of the number of facts: each round corrects a tenth of the last."""

_SEED = 20260512
"""Any: the same draws every time, and their error is returned."""

_COMPARED, _DRAWS = 256, 1_024
"""Most candidates, and draws, to compare lengths at: the same on both sides, for half a percent."""

_SHARED = 0.75
"""Share of the formula's change that shared outputs show, within a fifth: 0.54 to 0.62 of it for unit and
Student outputs in 20 and 30 dimensions (benchmark of ensembles), 0.9 for tokens' lengths in 40 and 100."""

_WORTH_SAYING = 0.03
"""Theory itself is off by about as much at small dimensions."""


def price(
    lengths: Reals, candidates: int, rng: np.random.Generator, samples: int = _SAMPLES
) -> Estimate:
    """Return the mean price of a fact whose target and rivals have lengths drawn from these."""
    costs = [
        _costs(lengths, candidates, rng, min(_AT_A_TIME, samples - start))
        for start in range(0, samples, _AT_A_TIME)
    ]
    prices = np.concatenate(costs)
    return Estimate(float(prices.mean()), float(prices.std(ddof=1) / math.sqrt(samples)))


def facts_that_fit(lengths: Reals, dim: int) -> Estimate:
    """Return how many facts with outputs of these lengths a square matrix holds, all of them competing."""
    facts = capacity(dim).facts
    for _ in range(_ROUNDS):
        # The same samples every time, so that the rounds settle.
        estimate = price(lengths, round(facts), np.random.default_rng(_SEED))
        facts = dim**2 / estimate.value
    return Estimate(facts, facts * estimate.stderr / estimate.value)


def length_change(outputs: Reals) -> float:
    """Return which share of the facts more or fewer fit than if these shared outputs had Gaussian lengths.

    Zero where it is not worth saying.
    """
    from scipy.special import gammaincinv

    rows, dim = outputs.shape
    lengths = np.sort(np.linalg.norm(outputs, axis=1))
    # As many outputs as dimensions can be sent to any others, so that lengths mean nothing.
    if rows <= dim or not lengths[0] > 0:
        return 0.0
    gaussian = np.sqrt(2 * gammaincinv(dim / 2, (np.arange(rows) + 0.5) / rows))
    # The same draws by rank: a quantile of one law stands against the same of the other.
    expected, given = (
        price(sizes, min(rows, _COMPARED), np.random.default_rng(_SEED), _DRAWS).value
        for sizes in (gaussian, lengths)
    )
    change = _SHARED * (expected / given - 1)
    return change if abs(change) >= _WORTH_SAYING else 0.0


def length_notes(outputs: Reals) -> tuple[str, ...]:
    """Return what the lengths of outputs do to capacity, beside Gaussian ones, if it is worth saying."""
    change = length_change(outputs)
    if not change:
        return ()
    amount = f"{abs(change):.0%} {'more' if change > 0 else 'fewer'}"
    return (
        f"For the outputs' lengths about {amount} facts fit than of Gaussian outputs, which the number is "
        "of (within a fifth of that, as measured in 20 to 100 dimensions); normalize_outputs=True compares "
        "directions only.",
    )


def _costs(lengths: Reals, candidates: int, rng: np.random.Generator, samples: int) -> Reals:
    own = rng.choice(lengths, (samples, 1))
    ratios = own / rng.choice(lengths, (samples, candidates - 1))
    target = rng.standard_normal((samples, 1))[:, 0]
    return scaled_distance(target, rng.standard_normal(ratios.shape), ratios)
