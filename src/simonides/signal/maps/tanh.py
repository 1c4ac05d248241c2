r"""Pair moments of tanh, which has none in closed form: a table over variance and gap together.

All follow from one function of the variance q and the gap g = 1 - c, the product of slopes S. Sum and
difference of two fields are independent, and

.. math:: S(q, g) = E\,\frac{4}{(\cosh s + \cosh d)^2}, \qquad
          s \sim N(0, 2q(2 - g)), \quad d \sim N(0, 2qg),

whose poles lie at a distance of π from the real axis, so that the trapezoidal rule converges
geometrically. As S is the derivative of the product with respect to the covariance, the contrast
is q g times the mean of S over smaller gaps, and the square is the contrast at g = 1.

An error function with tanh's slope at zero has S and contrast in closed form, and the same limits at
both small and large variance. What is tabulated and splined is the logarithm of tanh's over these, in
x = log(1 + 20 q) and y = log(1 + 20 q g)/x: relative errors stay below 2e-8 for q up to 2e6.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import RectBivariateSpline

from simonides.signal.maps.pair_moments import PairSlopes, PairValues, arcsine_fall

if TYPE_CHECKING:
    from simonides.arrays import Reals

_ROOM = 2 / math.pi
"""What the error function's arcsine adds to the variance, for a slope of one at zero."""

_SCALE = 20.0
"""Of the variance in x and y: points are spaced evenly up to q = 1/20, where tanh begins to bend."""

_LEAST = 1e-9
"""Least variance in the table; below, tanh is linear to all digits kept."""

MOST_VARIANCE = 2e6
"""Of a field whose weights and biases have the largest gains that a network may have."""

_VARIANCES, _GAPS, _DEGREE, _ORDER = 121, 97, 64, 5
"""Of the table, of the polynomial that is integrated and of the splines: what 2e-8 takes."""


def tanh_values(variance: Reals, gap: Reals) -> PairValues:
    """Return the moments at each variance and gap, interpolated in a table made at the first call."""
    within, x, y = _place(variance, gap)
    means, whole = _table()[1], np.ones_like(x)
    return PairValues(
        square=variance * np.exp(means.ev(x, whole)) * _mean_like(within, whole),
        contrast=variance * gap * np.exp(means.ev(x, y)) * _mean_like(within, gap),
    )


def tanh_slopes(variance: Reals, gap: Reals) -> PairSlopes:
    """Return those of the derivative, from the same table."""
    within, x, y = _place(variance, gap)
    slopes, none = _table()[0], np.zeros_like(x)
    return PairSlopes(
        square=np.exp(slopes.ev(x, none)) * _slope_like(within, none),
        product=np.exp(slopes.ev(x, y)) * _slope_like(within, gap),
    )


def _place(variance: Reals, gap: Reals) -> tuple[Reals, Reals, Reals]:
    """Return the variance held inside the table, and where it and the gap are in it."""
    within = np.clip(variance, _LEAST, MOST_VARIANCE)
    x = np.log1p(_SCALE * within)
    return within, x, np.minimum(np.log1p(_SCALE * within * gap) / x, 1.0)


def slope_product(variance: float, gap: float) -> float:
    """Return S by the trapezoidal rule in both variables, to some 14 digits."""
    (sums, of_sums), (differences, of_differences) = map(
        _cosh_rule, (2 * variance * (2 - gap), 2 * variance * gap)
    )
    return 4 * float(of_differences @ (1 / (differences[:, None] + sums) ** 2) @ of_sums)


def _cosh_rule(variance: float) -> tuple[Reals, Reals]:
    """Return cosh at points of the half line, and the weights of a normal variable at them."""
    deviation = math.sqrt(variance)
    # Steps resolve the normal density and the poles; S falls as exp(-2 d), and is nothing beyond 20.
    step, reach = 0.5 / max(1.0, deviation), min(9.0, 20 / max(deviation, _LEAST))
    z = step * np.arange(math.ceil(reach / step) + 1.0)
    weights = 2 * step * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    weights[0] /= 2
    return np.cosh(deviation * z), weights


@lru_cache(maxsize=1)
def _table() -> tuple[RectBivariateSpline, RectBivariateSpline]:
    """Return splines of the logarithms of S and of its mean, over those of the error function."""
    x = np.linspace(0, math.log1p(_SCALE * MOST_VARIANCE), _VARIANCES)
    y = np.linspace(0, 1, _GAPS)
    rows = [_row(max(value, _LEAST), y) for value in np.expm1(x) / _SCALE]
    slopes, means = (
        RectBivariateSpline(x, y, values, kx=_ORDER, ky=_ORDER)
        for values in np.moveaxis(np.array(rows), 1, 0)
    )
    return slopes, means


def _row(variance: float, y: Reals) -> tuple[Reals, Reals]:
    length = math.log1p(_SCALE * variance)

    def gap_at(y: Reals) -> Reals:
        return np.asarray(np.expm1(y * length) / (_SCALE * variance))

    def gap_slope(y: Reals) -> Reals:
        return np.asarray(np.exp(y * length) * length / (_SCALE * variance))

    def integrand(y: Reals) -> Reals:
        products = np.array([slope_product(variance, gap) for gap in gap_at(y)])
        return np.asarray(gap_slope(y) * products)

    curve = np.polynomial.Chebyshev.interpolate(integrand, _DEGREE, [0, 1])
    gaps = gap_at(y)
    products = curve(y) / gap_slope(y)
    means = products.copy()
    means[1:] = curve.integ(lbnd=0)(y[1:]) / gaps[1:]
    at = np.array(variance)
    return np.log(products / _slope_like(at, gaps)), np.log(means / _mean_like(at, gaps))


def _slope_like(variance: Reals, gap: Reals) -> Reals:
    """Return S of the error function."""
    return _ROOM / np.sqrt((_ROOM + variance * gap) * (_ROOM + variance * (2 - gap)))


def _mean_like(variance: Reals, gap: Reals) -> Reals:
    """Return the mean of the error function's S over smaller gaps."""
    gap = np.maximum(gap, _LEAST * _LEAST)
    return _ROOM * arcsine_fall(variance, gap, _ROOM) / (variance * gap)
