r"""The forward pass: how norms and cosines of tokens travel through the blocks.

Two numbers describe the tokens before each sublayer: their squared norm q and the gap
:math:`g = q - p` to the inner product of two of them, both over the dimension. Keeping the gap
instead of p keeps its digits as tokens collapse. With :math:`v = \beta^2 \log T\,(1 - c)` and
attention statistics at (v, c), for tokens that a LayerNorm has brought to q = 1,

.. math:: q_a = \sigma_V^2 \bigl[1 - g (1 - Y)\bigr], \qquad g_a = \sigma_V^2\, g\,(Y - O),

centred attention having :math:`q_a = \sigma_V^2 g (Y - 1/T)` and the same gap. The skip adds
:math:`\alpha^2 (q, g)`. Norms differ from token to token, with variance
:math:`V_q = \sigma_V^4 g^2 (Y_{22} - Y^2)/H` for H heads, so that a LayerNorm makes the mean cosine
:math:`(p/q)(1 + \tfrac38 V_q/q^2)^2`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Protocol

import numpy as np

from simonides.arrays import Reals
from simonides.signal.attention.softmax import AttentionStatistics
from simonides.signal.maps.activations import activation_named
from simonides.signal.maps.architecture import Architecture

NOTHING = 1e-300
"""Divisors are at least this: what is divided by a norm that vanished is zero itself."""

_MOST_NORM = 1e250
"""Of a stream: its square over another's stays a number."""


class Statistics(Protocol):
    """Anything that gives attention statistics at arrays of variances and correlations."""

    def __call__(self, variance: Reals, correlation: Reals) -> AttentionStatistics:
        """Return the statistics."""


@dataclass(frozen=True)
class Gains:
    """Hyper-parameters that may be arrays: one value for every point of a diagram.

    ``beta`` has a leading axis for layers.
    """

    beta: Reals
    attention_variance: Reals
    value_bias_variance: Reals
    mlp_in_variance: Reals
    mlp_out_variance: Reals
    mlp_bias_variance: Reals
    attention_skip: Reals
    mlp_skip: Reals
    cosine: Reals
    input_variance: Reals

    @classmethod
    def of(cls, architecture: Architecture, varied: Mapping[str, Reals] | None = None) -> Gains:
        """Return an architecture's gains, with those named in ``varied`` as arrays."""
        varied = varied or {}

        def gain(name: str) -> Reals:
            return np.asarray(varied.get(name, getattr(architecture, name)), dtype=float)

        projected = architecture.output_variance is not None
        output = gain("output_variance") if projected else np.ones(())
        gains = {field.name: gain(field.name) for field in fields(cls)}
        gains["attention_variance"] = gain("value_variance") * output
        gains["value_bias_variance"] = gain("value_bias_variance") * output
        shape = np.broadcast_shapes(*(value.shape for value in gains.values()))
        gains["beta"] = np.broadcast_to(gains["beta"], (architecture.layers, *shape))
        return cls(**gains)


@dataclass(frozen=True)
class Sublayer:
    """Tokens after a sublayer and its skip, before any LayerNorm: norm, gap, spread of the norms.

    ``before`` is the norm of the stream that entered, ``relative`` the gap over it: 1 - cosine.
    """

    stream: Reals
    gap: Reals
    norm_spread: Reals
    before: Reals
    relative: Reals


@dataclass(frozen=True, eq=False)
class BlockState:
    """One block on the way forward."""

    beta: Reals
    variance: Reals
    attention: AttentionStatistics
    at_attention: Sublayer
    at_mlp: Sublayer | None
    stream: Reals
    gap: Reals

    @property
    def relative(self) -> Reals:
        """Return 1 - cosine after the block."""
        return _relative(self.stream, self.gap)


def run(
    architecture: Architecture, gains: Gains, statistics: Statistics, *, even_norms: bool = False
) -> list[BlockState]:
    """Return every block's state, in order, for all points at once.

    ``even_norms`` leaves out that attention makes norms differ from token to token.
    """
    log_tokens = math.log(architecture.tokens)
    stream = np.ones_like(gains.cosine) if architecture.norm == "post" else gains.input_variance
    gap = stream * (1 - gains.cosine)
    layers = []
    for beta in gains.beta:
        relative = _relative(stream, gap)
        variance = beta**2 * log_tokens * relative
        attention = statistics(variance, 1 - relative)
        first = _attention(architecture, gains, attention, stream, gap)
        if even_norms:
            first = replace(first, norm_spread=np.zeros_like(first.norm_spread))
        stream, gap = _close(architecture, first)
        second = None
        if architecture.activation is not None:
            second = _mlp(architecture, gains, stream, gap)
            stream, gap = _close(architecture, second)
        layers.append(BlockState(beta, variance, attention, first, second, stream, gap))
    return layers


def _attention(
    architecture: Architecture,
    gains: Gains,
    attention: AttentionStatistics,
    stream: Reals,
    gap: Reals,
) -> Sublayer:
    relative = _relative(stream, gap)
    gain = gains.attention_variance
    if architecture.centred:
        out = gain * relative * attention.excess
    else:
        # A bias of the values survives an average over keys, but not one whose weights sum to zero.
        out = (
            gain * (1 - relative * (1 - attention.even - attention.excess))
            + gains.value_bias_variance
        )
    out_gap = gain * relative * attention.contrast
    uneven = np.maximum(attention.squared - np.square(attention.participation), 0.0)
    spread = (gain * relative) ** 2 * uneven / architecture.heads
    skip = gains.attention_skip**2
    return Sublayer(skip * stream + out, skip * gap + out_gap, spread, stream, relative)


def _mlp(architecture: Architecture, gains: Gains, stream: Reals, gap: Reals) -> Sublayer:
    assert architecture.activation is not None  # or there is no MLP
    relative = _relative(stream, gap)
    field = gains.mlp_in_variance + gains.mlp_bias_variance
    field_gap = gains.mlp_in_variance * relative
    activation = activation_named(architecture.activation)
    moments = activation.pair_values(field, field_gap / np.maximum(field, NOTHING))
    out = gains.mlp_out_variance * moments.square + gains.mlp_bias_variance
    out_gap = gains.mlp_out_variance * moments.contrast
    skip, spread = gains.mlp_skip**2, np.zeros_like(out)
    return Sublayer(skip * stream + out, skip * gap + out_gap, spread, stream, relative)


def _close(architecture: Architecture, after: Sublayer) -> tuple[Reals, Reals]:
    """Return norm and gap of the stream after a sublayer, normalised if it ends in a LayerNorm."""
    if architecture.norm == "pre":
        # A skip above one lets the stream grow without bound; its scale no longer matters there.
        shrink = np.minimum(after.stream, _MOST_NORM) / np.maximum(after.stream, NOTHING)
        return after.stream * shrink, after.gap * shrink
    gap = _relative(after.stream, after.gap)
    uneven = after.norm_spread / np.maximum(np.square(after.stream), NOTHING)
    lifted = np.expm1(2 * np.log1p(0.375 * uneven))
    # The expansion in the spread may overshoot, a cosine may not.
    return np.ones_like(gap), np.maximum(gap - (1 - gap) * lifted, 0.0)


def _relative(stream: Reals, gap: Reals) -> Reals:
    """Return 1 - cosine; a stream that vanished has no direction, and its tokens count as one."""
    return gap / np.maximum(stream, NOTHING)
