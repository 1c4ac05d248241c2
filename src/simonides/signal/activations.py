r"""Pair moments of activations: what an MLP does to the norm and the cosine of two tokens.

For pre-activations of variance q and correlation c, each activation gives
:math:`E\varphi^2`, :math:`E\varphi^2 - E\varphi\varphi'` (kept apart, so that nothing cancels as
tokens collapse), and the same product of derivatives, :math:`E\dot\varphi^2` and
:math:`E\dot\varphi\dot\varphi'`, for gradients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import special

from simonides.signal.grids import normal_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals

Activation = Literal["relu", "gelu", "tanh"]
ACTIVATIONS: tuple[Activation, ...] = ("relu", "gelu", "tanh")

_CURVE_POINTS = 48


@dataclass(frozen=True)
class PairMoments:
    """Moments of an activation at one variance and an array of correlations."""

    square: Reals
    contrast: Reals
    slope_square: Reals
    slope_product: Reals


def pair_moments(activation: Activation, variance: Reals, gap: Reals) -> PairMoments:
    """Return the moments at each variance and each gap 1 - c.

    ReLU in closed form; GELU and tanh by the trapezoidal rule at each distinct variance, with a
    polynomial through Chebyshev points of the gap.

    >>> found = pair_moments("relu", np.array(1.0), np.array(0.5))
    >>> print(f"{2 * float(found.square - found.contrast):.6f}")
    0.608998
    """
    variance, gap = np.broadcast_arrays(variance, gap)
    if activation == "relu":
        return _relu(variance, gap)
    square, slopes = np.empty(gap.shape), np.empty(gap.shape)
    contrast, products = np.empty(gap.shape), np.empty(gap.shape)
    for value in np.unique(variance):
        here = variance == value
        curve = _curve(activation, float(value))
        square[here], slopes[here] = curve.square, curve.slope_square
        contrast[here] = gap[here] * curve.contrast_over_gap(gap[here])
        products[here] = curve.slope_product(gap[here])
    return PairMoments(square, contrast, slopes, products)


def _relu(variance: Reals, gap: Reals) -> PairMoments:
    angle = 2 * np.arcsin(np.sqrt(np.clip(gap, 0, 2) / 2))
    half = variance / 2
    turned = gap - (np.sin(angle) - angle * np.cos(angle)) / math.pi
    return PairMoments(half, half * turned, np.full_like(gap, 0.5), (1 - angle / math.pi) / 2)


@dataclass(frozen=True)
class _Curve:
    """Moments of one activation at one variance, as polynomials of the gap."""

    square: float
    slope_square: float
    contrast_over_gap: Any
    slope_product: Any


@lru_cache(maxsize=512)
def _curve(activation: Activation, variance: float) -> _Curve:
    function, slope = _FUNCTIONS[activation]
    nodes, weights = _rule(variance)
    values, slopes = function(math.sqrt(variance) * nodes), slope(math.sqrt(variance) * nodes)
    square = float(weights @ values**2)

    def contrast_over_gap(gaps: Reals) -> Reals:
        return np.array([(square - _product(function, variance, g)) / g for g in gaps])

    def slope_product(gaps: Reals) -> Reals:
        return np.array([_product(slope, variance, g) for g in gaps])

    interpolate = np.polynomial.Chebyshev.interpolate
    return _Curve(
        square=square,
        slope_square=float(weights @ slopes**2),
        contrast_over_gap=interpolate(contrast_over_gap, _CURVE_POINTS - 1, [0, 1]),
        slope_product=interpolate(slope_product, _CURVE_POINTS - 1, [0, 1]),
    )


def _product(function: Callable[[Reals], Reals], variance: float, gap: float) -> float:
    """Return E f(h) f(h'): both share a part a of the field and have their own parts b."""
    nodes, weights = _rule(variance)
    common = math.sqrt(variance * (1 - gap)) * nodes[:, None]
    own = math.sqrt(variance * gap) * nodes
    return float(weights @ (function(common + own) @ weights) ** 2)


def _rule(variance: float) -> tuple[Reals, Reals]:
    """Return a rule fine enough for derivatives of tanh, whose poles of order four lie at π/2."""
    return normal_rule(1.5 * math.sqrt(variance))


def _gelu(x: Reals) -> Reals:
    return x * special.ndtr(x)


def _gelu_slope(x: Reals) -> Reals:
    return special.ndtr(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _tanh_slope(x: Reals) -> Reals:
    return 1 / np.cosh(x) ** 2


_FUNCTIONS: dict[str, tuple[Callable[[Reals], Reals], Callable[[Reals], Reals]]] = {
    "gelu": (_gelu, _gelu_slope),
    "tanh": (np.tanh, _tanh_slope),
}
