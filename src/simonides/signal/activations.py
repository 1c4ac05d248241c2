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

from simonides.signal.moments import PairMoments, arcsine_fall, breadths
from simonides.signal.tanh import tanh_moments

if TYPE_CHECKING:
    from simonides.arrays import Reals

Activation = Literal["relu", "gelu", "tanh"]
ACTIVATIONS: tuple[Activation, ...] = ("relu", "gelu", "tanh")


def pair_moments(activation: Activation, variance: Reals, gap: Reals) -> PairMoments:
    """Return the moments at each variance and each gap 1 - c, which are broadcast together.

    >>> found = pair_moments("relu", np.array(1.0), np.array(0.5))
    >>> print(f"{2 * float(found.square - found.contrast):.6f}")
    0.608998
    """
    return _MOMENTS[activation](np.asarray(variance), np.asarray(gap))


def _relu(variance: Reals, gap: Reals) -> PairMoments:
    angle = 2 * np.arcsin(np.sqrt(np.clip(gap, 0, 2) / 2))
    half = variance / 2
    turned = gap - (np.sin(angle) - angle * np.cos(angle)) / math.pi
    return PairMoments(half, half * turned, np.full_like(half, 0.5), (1 - angle / math.pi) / 2)


def _gelu(variance: Reals, gap: Reals) -> PairMoments:
    total, product, apart = 1 + variance, variance * (1 - gap), variance * gap
    here, at_one = breadths(variance, gap, 1.0)
    fall = arcsine_fall(variance, gap, 1.0) / (2 * math.pi)
    gate_square = 0.25 + np.arcsin(variance / total) / (2 * math.pi)
    # What is left of the second term's fall once its factor q - k is taken out.
    bend = (
        2 * product**2 / (total * at_one * here * (here + at_one)) - 1 / here + 2 / (total * at_one)
    ) / (2 * math.pi)
    return PairMoments(
        square=variance * gate_square + variance**2 / (math.pi * total * at_one),
        contrast=apart * (gate_square + (variance + product) * bend) + product * fall,
        slope_square=gate_square
        + variance * (3 + 5 * variance) / (2 * math.pi * total * at_one**3),
        slope_product=gate_square
        - fall
        + product * (total * (3 + 2 * variance) - 2 * product**2) / (2 * math.pi * total * here**3),
    )


_MOMENTS = {"relu": _relu, "gelu": _gelu, "tanh": tanh_moments}
