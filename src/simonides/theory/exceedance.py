r"""The law of a Gaussian plus many exceedances, by Laplace inversion on a saddle-point contour.

Everything that is exact at finite size rests on one random variable,

.. math:: X = g_1 + \sum_{j=1}^{n} (g'_j - a)_+ , \qquad g_1, g'_j \sim N(0, 1),

and on the probability that it stays below a level :math:`b`. Its transform is known in closed form,

.. math::
    E\,e^{-zX} = e^{z^2/2}\, M(z)^n, \qquad M = 1 - Q(a) + I(z), \qquad
    I(z) = E[e^{-z(g-a)};\, g > a] = \tfrac12 e^{-a^2/2}\, \mathrm{erfcx}\frac{a+z}{\sqrt2},

so that :math:`P(X < b) = \frac{1}{2\pi i} \int e^{zb + z^2/2} M^n\, dz / z` on any vertical line to
the right of the pole, and one less than that to the left of it. On the line through the saddle
the integrand neither oscillates nor cancels, and because it is analytic the trapezoidal rule
converges geometrically: about a hundred nodes give fourteen digits for any ``n``, also deep in the
tails. The Fourier line (real part zero) would lose all digits there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from simonides.arrays import Complexes, Reals, Truths

NODES = 128
"""Trapezoidal nodes on the upper half of each contour, the most that any needs."""

_BATCH = 32
"""Nodes at a time: most integrands have died away within so many."""

_DEAD = 1e-18
"""Share of its height at the saddle below which an integrand has died away, as its last nodes say."""

_LAST = 4
"""Of a batch: the integrand may pass through zero at one of them."""

_POLE_STEP = 0.16
"""Step over the distance to the pole: the error of the rule is about exp(-2π/0.16) = 1e-17."""

_WIDTH_STEP = 0.5
"""Step over the width of the integrand: the error is about exp(-2π²/0.5²), far below rounding."""

_LOG_SADDLE_RANGE = (-12.0, 9.0)
"""Logarithm of the saddle's distance from the pole, at levels and thresholds that any cone asks about."""

_MILLS = math.sqrt(math.pi / 2)
"""erfcx(x/√2) times this is the ratio of the normal tail to the density at x."""

_BISECTIONS = 24
"""Leave 21 / 2²⁴, a millionth of the distance: any line near the saddle gives the same integral."""


@dataclass(frozen=True)
class ExceedanceSum:
    """``n`` exceedances over thresholds ``a`` plus one Gaussian, compared with levels ``b``.

    ``level`` and ``threshold`` are arrays of one shape; ``count`` is n, not necessarily whole.
    """

    level: Reals
    threshold: Reals
    count: float

    @cached_property
    def mean(self) -> Reals:
        """Mean of the sum, n E(g - a)_+."""
        a = self.threshold
        return self.count * (self._density - a * special.ndtr(-a))

    @cached_property
    def _density(self) -> Reals:
        """The normal density at the thresholds."""
        return density(self.threshold)

    @cached_property
    def _below(self) -> Reals:
        """The probability to lie below the thresholds."""
        return np.asarray(special.ndtr(self.threshold))

    @cached_property
    def left_of_pole(self) -> Truths:
        """Whether the contour passes left of the pole: where the probability exceeds a half."""
        return np.asarray(self.level >= self.mean)

    @cached_property
    def saddle(self) -> Reals:
        """Real part of the contour: the minimum of the integrand's modulus on its side."""
        sign = np.where(self.left_of_pole, -1.0, 1.0)
        low = np.full(self.level.shape, _LOG_SADDLE_RANGE[0])
        high = np.full(self.level.shape, _LOG_SADDLE_RANGE[1])
        # Far from the pole the transform overflows, which only says that the saddle is nearer.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for _ in range(_BISECTIONS):
                middle = (low + high) / 2
                distance = np.exp(middle)
                slope = sign * self._log_transform_slope(sign * distance) - 1 / distance
                rising = ~(slope < 0)
                high = np.where(rising, middle, high)
                low = np.where(rising, low, middle)
        return np.asarray(sign * np.exp((low + high) / 2))

    @cached_property
    def log_height(self) -> Reals:
        """Logarithm of the integrand at the saddle: the size of the probability's smaller side."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            x = self.saddle
            height = x * self.level + x * x / 2 + self._log_power(self._tail(x), self.threshold)
            return np.where(np.isfinite(height), height - np.log(np.abs(x)), -np.inf)

    @cached_property
    def step(self) -> Reals:
        """Spacing of the nodes along the contour."""
        x, a = self.saddle, self.threshold
        tail = self._tail(x)
        transform = self._below + tail
        first = (a + x) * tail - self._density
        second = tail + (a + x) * first
        variance = 1 + self.count * (second / transform - (first / transform) ** 2)
        return np.minimum(_POLE_STEP * np.abs(x), _WIDTH_STEP / np.sqrt(np.maximum(variance, 1.0)))

    @cached_property
    def nodes(self) -> Complexes:
        """Points of the contour's upper half, one row per level."""
        return self.saddle[:, None] + 1j * self.step[:, None] * np.arange(NODES)

    @property
    def tail(self) -> Complexes:
        """I(z), the part of one exceedance's transform above the threshold."""
        return self._along_contour[0]

    @property
    def weights(self) -> Complexes:
        """The integrand exp(zb + z²/2) M^n at the nodes, times the rule's weights."""
        return self._along_contour[1]

    @cached_property
    def _along_contour(self) -> tuple[Complexes, Complexes]:
        """I(z) and the weights; where an integrand has died away they are one and zero."""
        tail, weights = np.ones_like(self.nodes), np.zeros_like(self.nodes)
        log_power = np.zeros_like(self.nodes)
        left = np.arange(len(self.level))
        for start in range(0, NODES, _BATCH):
            part, so_far = slice(start, start + _BATCH), slice(start + _BATCH)
            z, a, b = self.nodes[left, part], self.threshold[left, None], self.level[left, None]
            tails = np.exp(-a * a / 2) / 2 * special.wofz(1j * (a + z) / math.sqrt(2))
            log_power[left, part] = powers = self._log_power(tails, a)
            if not float(self.count).is_integer():
                turning = self.count * self.nodes[left, so_far] * np.minimum(a, 0.0)
                powers = self._continued(log_power[left, so_far], turning)[:, part]
            integrand = np.exp(z * b + z * z / 2 + powers) * (self.step[left, None] / math.pi)
            tail[left, part], weights[left, part] = tails, integrand
            last = np.abs(integrand[:, -_LAST:]).max(axis=1)
            left = left[last > _DEAD * np.abs(weights[left, 0])]
        weights[:, 0] /= 2
        return tail, weights

    @cached_property
    def relative_tail(self) -> Complexes:
        """The mean number of exceedances, tilted: n I(z) / M(z)."""
        return np.asarray(
            self.count * self.tail / (self.tail + special.ndtr(self.threshold[:, None]))
        )

    def integral(self, factor: Complexes | float) -> Reals:
        """Integrate ``factor`` against the transform along the contour."""
        return np.asarray((self.weights * factor).real.sum(axis=1))

    def probability_below(self) -> Reals:
        """P(X < b)."""
        return np.asarray(np.clip(self.left_of_pole + self.integral(1 / self.nodes), 0.0, 1.0))

    def _tail(self, x: Reals) -> Reals:
        return np.asarray(
            _MILLS * self._density * special.erfcx((self.threshold + x) / math.sqrt(2))
        )

    def _log_power(self, tail: Any, threshold: Reals) -> Any:
        """Return n log M, for M close to one (thresholds above zero) as for tiny M (below)."""
        if self.count == 0:
            return np.zeros_like(tail)
        near_one = special.log1p(tail - special.ndtr(-threshold))
        return self.count * np.where(
            threshold > 0, near_one, np.log(tail + special.ndtr(threshold))
        )

    def _continued(self, log_power: Complexes, turning: Complexes) -> Complexes:
        """Return n log M on the branch that is continuous along the contour.

        Below zero M turns like exp(za); a fractional power must follow it past the half turn.
        """
        phase = np.unwrap((log_power - turning).imag / self.count, axis=1) * self.count
        return np.asarray(log_power.real + 1j * (phase + turning.imag))

    def _log_transform_slope(self, x: Reals) -> Reals:
        tail = self._tail(x)
        pull = (self.threshold + x) * tail - self._density
        return np.asarray(self.level + x + self.count * pull / (self._below + tail))


def density(x: Reals) -> Reals:
    """Return the standard normal density."""
    return np.asarray(np.exp(-x * x / 2) / math.sqrt(2 * math.pi))
