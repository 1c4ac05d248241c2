"""The few statistics that figures and claims rest on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from simonides.arrays import Integers, Reals
from simonides.estimate import Estimate

_MOST_PERMUTATIONS = 2000
"""Any number well above 1/0.0025, the smallest level asked for, does: this one tells p = 0.0005."""

_SEED = 41  # a seed of its own: no two samples of the package share their draws


def mean(values: Iterable[float]) -> Estimate:
    """Return the mean of independent values, with its standard error.

    >>> print(mean([1.0, 2.0, 3.0]))
    2.00 ± 0.58
    """
    return Estimate.of_mean(np.fromiter(values, dtype=np.float64))


def ratio(above: Estimate, below: Estimate) -> Estimate:
    """Return the ratio of two independent estimates, its error to first order.

    >>> print(ratio(Estimate(103.0, 1.0), Estimate(100.0, 1.0)))
    1.030 ± 0.014
    """
    value = above.value / below.value
    return Estimate(
        value, value * math.hypot(above.stderr / above.value, below.stderr / below.value)
    )


def pooled(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates, weighted by their inverse variances.

    >>> print(pooled([Estimate(1.0, 0.1), Estimate(2.0, 0.1)]))
    1.500 ± 0.071
    """
    weights = np.array([1 / estimate.stderr**2 for estimate in estimates])
    values = np.array([estimate.value for estimate in estimates])
    return Estimate(float(weights @ values / weights.sum()), float(weights.sum() ** -0.5))


def chance_of_zero(estimates: Sequence[Estimate]) -> float:
    """Return the p-value of all estimates having mean zero (chi-squared)."""
    squares = sum((estimate.value / estimate.stderr) ** 2 for estimate in estimates)
    return float(stats.chi2.sf(squares, len(estimates)))


def distance(first: Reals, second: Reals) -> float:
    """Return the largest difference of the mean distribution functions of two sets of instances."""
    return float(np.max(np.abs(first.mean(axis=0) - second.mean(axis=0))))


def permutation_p(first: Reals, second: Reals) -> float:
    """Return the p-value of two sets of instances having one law, by exchanging instances.

    The values inside an instance depend on each other, so instances are what is exchanged: all ways where
    there are few, random ones otherwise. Rows are distribution functions on a grid. A single instance
    tells nothing: p is one.
    """
    if min(len(first), len(second)) < 2:
        return 1.0
    laws = np.concatenate((first, second))
    places = np.arange(len(laws))

    def apart(chosen: Integers, others: Integers) -> float:
        return distance(laws[chosen], laws[others])

    test = stats.permutation_test(
        (places[: len(first)], places[len(first) :]),
        apart,
        n_resamples=_MOST_PERMUTATIONS,
        vectorized=False,
        alternative="greater",
        rng=np.random.default_rng(_SEED),
    )
    return float(test.pvalue)


def smallest_p(first: int, second: int) -> float:
    """Return the smallest value that ``permutation_p`` can take for two sets of these sizes.

    Sets of one size that trade places are as far apart as before, so two ways then reach the furthest.

    >>> f"{smallest_p(4, 4):.3f}, {smallest_p(4, 5):.3f}"
    '0.029, 0.008'
    """
    if min(first, second) < 2:
        return 1.0
    ways = math.comb(first + second, first)
    if ways > _MOST_PERMUTATIONS:
        return 1 / (_MOST_PERMUTATIONS + 1)
    return (2 if first == second else 1) / ways


def exponent(x: Sequence[float], y: Sequence[Estimate]) -> Estimate:
    """Return the slope of log y against log x by weighted least squares.

    >>> print(f"{exponent([1, 2, 4], [Estimate(3 * x**-0.5, 0.01) for x in (1, 2, 4)]).value:.3f}")
    -0.500
    """
    weights = [point.value / point.stderr if point.stderr else 1.0 for point in y]
    (slope, _), covariance = np.polyfit(
        np.log(x), np.log([point.value for point in y]), 1, w=weights, cov="unscaled"
    )
    exact = all(point.stderr == 0 for point in y)
    return Estimate(float(slope), 0.0 if exact else float(covariance[0, 0] ** 0.5))


@dataclass(frozen=True)
class Line:
    """A line fitted to estimates: its value at zero, and how far they lie from it.

    ``chi_square`` is the sum of their squared distances in standard errors, ``degrees`` their number less
    the two that a line takes.
    """

    at_zero: Estimate
    chi_square: float
    degrees: int


def line(x: Sequence[float], y: Sequence[Estimate]) -> Line:
    """Return the line through estimates by least squares, weighted by their inverse variances.

    >>> fitted = line([1, 2, 3], [Estimate(5 - 2 * x, 0.1) for x in (1, 2, 3)])
    >>> print(fitted.at_zero, f"{fitted.chi_square:.3f}", fitted.degrees)
    5.00 ± 0.15 0.000 1
    """
    values = np.array([point.value for point in y])
    weights = np.array([1 / point.stderr for point in y])
    fit, covariance = np.polyfit(x, values, 1, w=weights, cov="unscaled")
    left = weights * (values - np.polyval(fit, x))
    at_zero = Estimate(float(fit[1]), float(covariance[1, 1] ** 0.5))
    return Line(at_zero, float(left @ left), len(x) - 2)
