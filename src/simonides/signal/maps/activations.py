r"""Pair moments of activations: what an MLP does to the norm and the cosine of two tokens.

ReLU and GELU have them in closed form. GELU's come from
:math:`E\,\Phi(h)\Phi(h') = \tfrac14 + \tfrac1{2\pi}\arcsin\frac{k}{1+q}` for fields of variance q and
covariance k, by parts: with :math:`a = 1 + q` and :math:`s_k^2 = a^2 - k^2`,

.. math::
    E\varphi\varphi' = k\,E\,\Phi\Phi' + \frac{1}{2\pi s_k}\Bigl(q^2 + k^2\,\frac{1 - q}{a}\Bigr),
    \qquad
    E\dot\varphi\dot\varphi' = E\,\Phi\Phi' + \frac{k\,\bigl(a (3 + 2q) - 2 k^2\bigr)}{2\pi a\, s_k^3},

the second being the derivative of the first with respect to k.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from simonides.signal.maps.moments import PairSlopes, PairValues, arcsine_fall, breadths
from simonides.signal.maps.tanh import tanh_slopes, tanh_values

if TYPE_CHECKING:
    from simonides.arrays import Reals

Activation = Literal["relu", "gelu", "tanh"]
ACTIVATIONS: tuple[Activation, ...] = ("relu", "gelu", "tanh")


def pair_values(activation: Activation, variance: Reals, gap: Reals) -> PairValues:
    """Return the moments at each variance and each gap 1 - c, which are broadcast together.

    >>> found = pair_values("relu", np.array(1.0), np.array(0.5))
    >>> print(f"{2 * float(found.square - found.contrast):.6f}")
    0.608998
    """
    return _VALUES[activation](np.asarray(variance), np.asarray(gap))


def pair_slopes(activation: Activation, variance: Reals, gap: Reals) -> PairSlopes:
    """Return the moments of the derivative at each variance and each gap 1 - c."""
    return _SLOPES[activation](np.asarray(variance), np.asarray(gap))


def _relu_values(variance: Reals, gap: Reals) -> PairValues:
    angle, half = _angle(gap), variance / 2
    turned = gap - (np.sin(angle) - angle * np.cos(angle)) / math.pi
    return PairValues(half, half * turned)


def _relu_slopes(variance: Reals, gap: Reals) -> PairSlopes:
    return PairSlopes(np.full(variance.shape, 0.5), (1 - _angle(gap) / math.pi) / 2)


def _angle(gap: Reals) -> Reals:
    return np.asarray(2 * np.arcsin(np.sqrt(np.clip(gap, 0, 2) / 2)))


def _gelu_values(variance: Reals, gap: Reals) -> PairValues:
    total, product, apart = 1 + variance, variance * (1 - gap), variance * gap
    here, at_one = breadths(variance, gap, 1.0)
    gate, fall = _gate(variance, gap)
    # What is left of the second term's fall once its factor q - k is taken out.
    bend = (
        2 * product**2 / (total * at_one * here * (here + at_one)) - 1 / here + 2 / (total * at_one)
    ) / (2 * math.pi)
    return PairValues(
        square=variance * gate + variance**2 / (math.pi * total * at_one),
        contrast=apart * (gate + (variance + product) * bend) + product * fall,
    )


def _gelu_slopes(variance: Reals, gap: Reals) -> PairSlopes:
    total, product = 1 + variance, variance * (1 - gap)
    here, at_one = breadths(variance, gap, 1.0)
    gate, fall = _gate(variance, gap)
    own = variance * (3 + 5 * variance) / (total * at_one**3)
    shared = product * (total * (3 + 2 * variance) - 2 * product**2) / (total * here**3)
    return PairSlopes(gate + own / (2 * math.pi), gate - fall + shared / (2 * math.pi))


def _gate(variance: Reals, gap: Reals) -> tuple[Reals, Reals]:
    """Return the mean square of Φ at a field, and by how much its mean product with another falls."""
    square = 0.25 + np.arcsin(variance / (1 + variance)) / (2 * math.pi)
    return square, arcsine_fall(variance, gap, 1.0) / (2 * math.pi)


_VALUES = {"relu": _relu_values, "gelu": _gelu_values, "tanh": tanh_values}
_SLOPES = {"relu": _relu_slopes, "gelu": _gelu_slopes, "tanh": tanh_slopes}
