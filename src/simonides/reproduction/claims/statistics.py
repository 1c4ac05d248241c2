"""The few statistics that claims rest on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from simonides.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simonides.arrays import Reals

_MOST_PERMUTATIONS = 2000
_SEED = 41


def pooled(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates, weighted by their inverse variances.

    >>> print(pooled([Estimate(1.0, 0.1), Estimate(2.0, 0.1)]))
    1.500 ± 0.071
    """
    weights = np.array([1 / one.stderr**2 for one in estimates])
    values = np.array([one.value for one in estimates])
    return Estimate(float(weights @ values / weights.sum()), float(weights.sum() ** -0.5))


def chance_of_zero(estimates: Sequence[Estimate]) -> float:
    """Return the p-value of all estimates having mean zero (chi-squared)."""
    squares = sum((one.value / one.stderr) ** 2 for one in estimates)
    return float(stats.chi2.sf(squares, len(estimates)))


def distance(one: Reals, other: Reals) -> float:
    """Return the largest difference of the mean distribution functions of two sets of instances."""
    return float(np.max(np.abs(one.mean(axis=0) - other.mean(axis=0))))


def permutation_p(one: Reals, other: Reals) -> float:
    """Return the p-value of two sets of instances having one law, by exchanging instances.

    The values inside an instance depend on each other, so instances are what is exchanged: all ways where
    there are few, random ones otherwise. Rows are distribution functions on a grid.
    """
    both = np.concatenate((one, other))
    seen = distance(one, other)
    size, total = len(one), len(both)
    if math.comb(total, size) <= _MOST_PERMUTATIONS:
        choices = [list(choice) for choice in combinations(range(total), size)]
        added = 0  # the observed one is among them
    else:
        rng = np.random.default_rng(_SEED)
        choices = [list(rng.permutation(total)[:size]) for _ in range(_MOST_PERMUTATIONS)]
        added = 1
    hits = 0
    for choice in choices:
        chosen = np.zeros(total, dtype=bool)
        chosen[choice] = True
        hits += distance(both[chosen], both[~chosen]) >= seen - 1e-12
    return (hits + added) / (len(choices) + added)


def smallest_p(one: int, other: int) -> float:
    """Return the smallest value that ``permutation_p`` can take for two sets of these sizes.

    Sets of one size that trade places are as far apart as before, so two ways then reach the furthest.

    >>> f"{smallest_p(4, 4):.3f}, {smallest_p(4, 5):.3f}"
    '0.029, 0.008'
    """
    ways = math.comb(one + other, one)
    if ways > _MOST_PERMUTATIONS:
        return 1 / (_MOST_PERMUTATIONS + 1)
    return (2 if one == other else 1) / ways


def exponent(x: Sequence[float], y: Sequence[Estimate]) -> Estimate:
    """Return the slope of log y against log x by weighted least squares.

    >>> print(f"{exponent([1, 2, 4], [Estimate(3 * x**-0.5, 0.01) for x in (1, 2, 4)]).value:.3f}")
    -0.500
    """
    across = np.log(np.asarray(x, dtype=np.float64))
    values = np.log([one.value for one in y])
    weights = np.array([(one.value / one.stderr) ** 2 if one.stderr else 1.0 for one in y])
    centred = across - weights @ across / weights.sum()
    spread = float(weights @ centred**2)
    exact = all(one.stderr == 0 for one in y)
    return Estimate(float(weights @ (centred * values)) / spread, 0.0 if exact else spread**-0.5)


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
    errors = np.array([one.stderr for one in y])
    values = np.array([one.value for one in y]) / errors
    columns = np.stack((np.ones(len(x)), np.asarray(x, dtype=np.float64)), axis=1) / errors[:, None]
    covariance = np.linalg.inv(columns.T @ columns)
    found = covariance @ (columns.T @ values)
    left = values - columns @ found
    at_zero = Estimate(float(found[0]), float(covariance[0, 0] ** 0.5))
    return Line(at_zero, float(left @ left), len(x) - 2)
