r"""The backward pass: how gradients travel from the loss to the first layer and to the weights.

D is the squared norm of the gradient at one token, X the inner product of those at two, both over the
dimension; a loss that sends independent unit gradients has D = 1, X = 0. Forward weights count as
independent of what comes back. A query moves its output by moving weight between keys, which the
factors :math:`\Gamma, \Gamma_{12}` of the attention statistics measure; at finite dimension the keys
it moves between also lean its own way, which adds :math:`(1-Y)^2/d`. With
:math:`s = \sigma_Q^2\sigma_K^2\sigma_V^2` and tokens of norm 1, inner product c and gap g = 1 - c,

.. math::
    D_V &= \sigma_V^2 [Y D + (T-1)\,O X], &
    X_V &= \sigma_V^2 \bigl[\tfrac{1-Y}{T-1} D + (1-O) X\bigr] \\
    D_Q &= s g^2 \bigl(\Gamma + \tfrac{(1-Y)^2}{d}\bigr) D, &
    X_Q &= s g^2 \bigl(\Gamma_{12} + \tfrac{(1-Y)^2}{d}\bigr) X \\
    D_K &= s g [\Gamma D + c (T-1) \Gamma_{12} X], &
    X_K &= -D_K / (T-1)

and a sublayer's gradient is their sum. The skip adds :math:`\alpha^2`; a LayerNorm divides by q.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simonides.signal.activations import pair_moments

if TYPE_CHECKING:
    from simonides.arrays import Reals
    from simonides.signal.architecture import Architecture
    from simonides.signal.forward import Gains, Layer, Sublayer


_NOTHING = 1e-300


@dataclass(frozen=True)
class Gradients:
    """Squared gradient norms, for a random unit gradient at the output of the last block.

    ``tokens`` and ``coherence`` are D and X at the input of each block and, last, at the output. The
    others are squared Frobenius norms of a block's weight gradients.
    """

    tokens: Reals
    coherence: Reals
    query: Reals
    key: Reals
    value: Reals


@dataclass(frozen=True)
class _Gradient:
    own: Reals
    shared: Reals

    def __add__(self, other: _Gradient) -> _Gradient:
        return _Gradient(self.own + other.own, self.shared + other.shared)

    def scaled(self, factor: Reals) -> _Gradient:
        return _Gradient(self.own * factor, self.shared * factor)


def gradients(architecture: Architecture, gains: Gains, layers: list[Layer]) -> Gradients:
    """Return gradients of a forward pass, for all points at once."""
    shape = layers[-1].stream.shape
    back = _Gradient(np.ones(shape), np.zeros(shape))
    states, weights = [back], []
    with np.errstate(over="ignore", invalid="ignore"):  # what explodes may leave all bounds
        for layer in reversed(layers):
            if layer.at_mlp is not None:
                back = _through_norm(architecture, layer.at_mlp, back)
                branch = _mlp(architecture, gains, layer.at_mlp.relative, back)
                back = _join(architecture, gains.mlp_skip, layer.at_mlp, back, branch)
            back = _through_norm(architecture, layer.at_attention, back)
            weights.append(_weights(architecture, gains, layer, back))
            branch = _attention(architecture, gains, layer, back)
            back = _join(architecture, gains.attention_skip, layer.at_attention, back, branch)
            states.append(back)
    query, value = (np.array([pair[k] for pair in reversed(weights)]) for k in (0, 1))
    return Gradients(
        tokens=np.array([state.own for state in reversed(states)]),
        coherence=np.array([state.shared for state in reversed(states)]),
        query=query,
        key=query.copy(),
        value=value,
    )


def _through_norm(architecture: Architecture, after: Sublayer, back: _Gradient) -> _Gradient:
    """Return the gradient before a LayerNorm that ends a sublayer."""
    if architecture.norm == "pre":
        return back
    total = np.maximum(after.stream, _NOTHING)
    return back.scaled((1 + after.norm_spread / total / total) / total)


def _join(
    architecture: Architecture, skip: Reals, after: Sublayer, back: _Gradient, branch: _Gradient
) -> _Gradient:
    """Return what skip and branch send back together, the branch through its own LayerNorm if any."""
    if architecture.norm == "pre":
        branch = branch.scaled(1 / np.maximum(after.before, _NOTHING))
    return back.scaled(skip**2) + branch


def _mlp(architecture: Architecture, gains: Gains, relative: Reals, back: _Gradient) -> _Gradient:
    assert architecture.activation is not None  # or there is no MLP
    field = gains.mlp_in_variance + gains.mlp_bias_variance
    gap = gains.mlp_in_variance * relative / np.maximum(field, _NOTHING)
    moments = pair_moments(architecture.activation, field, gap)
    gain = gains.mlp_in_variance * gains.mlp_out_variance
    return _Gradient(
        back.own * gain * moments.slope_square, back.shared * gain * moments.slope_product
    )


def _attention(
    architecture: Architecture, gains: Gains, layer: Layer, back: _Gradient
) -> _Gradient:
    own, shared, others = back.own, back.shared, architecture.tokens - 1
    found = layer.attention
    gap = layer.at_attention.relative
    through_scores = layer.beta**2 * np.log(architecture.tokens) * gains.attention_variance
    # Weights less 1/T leave the value path only what differs from the mean over keys.
    mean = found.even if architecture.centred else 0.0
    rest = 0.0 if architecture.centred else 1.0
    own_share, pair_share = found.participation - mean, found.overlap - mean
    value = _Gradient(
        own_share * own + others * pair_share * shared,
        (rest - own_share) * own / others + (rest - pair_share) * shared,
    ).scaled(gains.attention_variance)
    towards = _coherent(architecture, layer)
    query = _Gradient(
        (found.gradient + towards) * own, (found.gradient_overlap + towards) * shared
    ).scaled(through_scores * gap**2)
    moved = found.gradient * own + (1 - gap) * others * found.gradient_overlap * shared
    key = _Gradient(moved, -moved / others).scaled(through_scores * gap)
    return value + query + key


def _weights(
    architecture: Architecture, gains: Gains, layer: Layer, back: _Gradient
) -> tuple[Reals, Reals]:
    """Return squared gradient norms of the query (or key) and of the value weights."""
    own, shared, tokens = back.own, back.shared, architecture.tokens
    found, gap = layer.attention, layer.at_attention.relative
    pairs = tokens * (tokens - 1)
    towards = _coherent(architecture, layer)
    query = (
        layer.beta
        * np.sqrt(np.log(tokens))
        * gains.attention_variance
        * (architecture.dim * gap) ** 2
        * (
            tokens * (found.gradient + towards) * own
            + pairs * (1 - gap) * (found.gradient_overlap + towards) * shared
        )
    )
    own_norm, pair_norm = gap * found.excess, gap * (found.excess - found.contrast)
    if not architecture.centred:
        common = 1 - gap * (1 - found.even)
        own_norm, pair_norm = common + own_norm, common + pair_norm
    output = 1.0 if architecture.output_variance is None else architecture.output_variance
    value = output * architecture.dim**2 * (tokens * own_norm * own + pairs * pair_norm * shared)
    return query, value


def _coherent(architecture: Architecture, layer: Layer) -> Reals:
    """Return what keys that lean towards their query add at finite dimension, (1 - Y)² / d."""
    spread: Reals = np.square(1 - np.asarray(layer.attention.participation))
    return spread / architecture.dim
