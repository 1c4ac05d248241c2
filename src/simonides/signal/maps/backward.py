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

import numpy as np

from simonides.arrays import Reals
from simonides.signal.maps.activations import activation_named
from simonides.signal.maps.architecture import Architecture
from simonides.signal.maps.forward import NOTHING, BlockState, Gains, Sublayer


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
class Gradient:
    """D and X on their way back: arrays whose last axes are the points of a diagram."""

    own: Reals
    shared: Reals

    def __add__(self, other: Gradient) -> Gradient:
        return Gradient(self.own + other.own, self.shared + other.shared)

    def scaled(self, factor: Reals) -> Gradient:
        """Return both times one factor for each point."""
        return Gradient(self.own * factor, self.shared * factor)

    def over(self, norm: Reals) -> Gradient:
        """Return both before a LayerNorm of streams with these squared norms: of each point or group."""
        norm = np.maximum(norm, NOTHING)
        if self.own.ndim == self.shared.ndim:
            return self.scaled(1 / norm)
        norm = np.broadcast_to(norm, self.own.shape)
        return Gradient(self.own / norm, self.shared / np.sqrt(norm[:, None] * norm[None]))


@dataclass(frozen=True)
class FullMask:
    """Every query sees every key: all positions are alike.

    What follows of it on the way back; another mask overrides all of it.
    """

    architecture: Architecture

    def start(self, shape: tuple[int, ...]) -> Gradient:
        """Return the gradient that a random loss sends back."""
        return Gradient(np.ones(shape), np.zeros(shape))

    def means(self, back: Gradient) -> tuple[Reals, Reals]:
        """Return D and X averaged over positions."""
        return back.own, back.shared

    def excess(self, _gains: Gains, layers: list[BlockState]) -> list[tuple[Reals, Reals]]:
        """Return by how much streams of positions exceed the late ones', before attention and MLP."""
        nothing = np.zeros(())  # no position differs
        return [(nothing, nothing)] * len(layers)

    def before_norm(self, _gains: Gains, layer: BlockState, back: Gradient) -> Gradient:
        """Return the gradient before the LayerNorm that follows post-norm attention."""
        return back.scaled(norm_slope(layer.at_attention))

    def attention(self, gains: Gains, layer: BlockState, back: Gradient) -> Gradient:
        """Return what attention sends back by its values, queries and keys."""
        centred, others = self.architecture.centred, self.architecture.tokens - 1
        own, shared = back.own, back.shared
        statistics, gap = layer.attention, layer.at_attention.relative
        through_scores = layer.beta**2 * np.log(others + 1) * gains.attention_variance
        # Weights less 1/T leave the value path only what differs from the mean over keys.
        mean = statistics.even if centred else 0.0
        rest = 0.0 if centred else 1.0
        own_share, pair_share = statistics.participation - mean, statistics.overlap - mean
        value = Gradient(
            own_share * own + others * pair_share * shared,
            (rest - own_share) * own / others + (rest - pair_share) * shared,
        ).scaled(gains.attention_variance)
        own_query, pair_query = self._query(layer)
        query = Gradient(own_query * own, pair_query * shared).scaled(through_scores * gap**2)
        moved = (
            statistics.gradient * own + (1 - gap) * others * statistics.gradient_overlap * shared
        )
        key = Gradient(moved, -moved / others).scaled(through_scores * gap)
        return value + query + key

    def weights(self, gains: Gains, layer: BlockState, back: Gradient) -> tuple[Reals, Reals]:
        """Return squared gradient norms of the query (or key) and of the value weights."""
        own, shared, tokens = back.own, back.shared, self.architecture.tokens
        statistics, gap = layer.attention, layer.at_attention.relative
        pairs = tokens * (tokens - 1)
        own_query, pair_query = self._query(layer)
        query = query_scale(self.architecture, gains, layer) * (
            tokens * own_query * own + pairs * (1 - gap) * pair_query * shared
        )
        own_norm, pair_norm = (
            gap * statistics.excess,
            gap * (statistics.excess - statistics.contrast),
        )
        if not self.architecture.centred:
            common = 1 - gap * (1 - statistics.even)
            own_norm, pair_norm = common + own_norm, common + pair_norm
        value = value_scale(self.architecture) * (
            tokens * own_norm * own + pairs * pair_norm * shared
        )
        return query, value

    def _query(self, layer: BlockState) -> tuple[Reals, Reals]:
        """Return Γ and Γ12 of queries: keys that lean towards their query add (1 - Y)² / d."""
        statistics = layer.attention
        spread = np.square(1 - np.asarray(statistics.participation)) / self.architecture.dim
        return statistics.gradient + spread, statistics.gradient_overlap + spread


def gradients(
    architecture: Architecture, gains: Gains, layers: list[BlockState], mask: FullMask
) -> Gradients:
    """Return gradients of a forward pass, for all points at once."""
    post = architecture.norm == "post"
    back = mask.start(layers[-1].stream.shape)
    states, weights = [mask.means(back)], []
    with np.errstate(over="ignore", invalid="ignore"):  # what explodes may leave all bounds
        excess = mask.excess(gains, layers)
        for layer, (at_attention, at_mlp) in zip(reversed(layers), reversed(excess), strict=True):
            if layer.at_mlp is not None:
                back = back.scaled(norm_slope(layer.at_mlp)) if post else back
                branch = _mlp(architecture, gains, layer.at_mlp.relative, back)
                branch = branch if post else branch.over(layer.at_mlp.before + at_mlp)
                back = back.scaled(gains.mlp_skip**2) + branch
            back = mask.before_norm(gains, layer, back) if post else back
            weights.append(mask.weights(gains, layer, back))
            branch = mask.attention(gains, layer, back)
            branch = branch if post else branch.over(layer.at_attention.before + at_attention)
            back = back.scaled(gains.attention_skip**2) + branch
            states.append(mask.means(back))
    query, value = (np.array([pair[k] for pair in reversed(weights)]) for k in (0, 1))
    return Gradients(
        tokens=np.array([own for own, _ in reversed(states)]),
        coherence=np.array([shared for _, shared in reversed(states)]),
        query=query,
        key=query.copy(),
        value=value,
    )


def norm_slope(after: Sublayer) -> Reals:
    """Return what a LayerNorm that ends a sublayer multiplies squared gradients by."""
    total = np.maximum(after.stream, NOTHING)
    return (1 + after.norm_spread / total / total) / total


def _mlp(architecture: Architecture, gains: Gains, relative: Reals, back: Gradient) -> Gradient:
    assert architecture.activation is not None  # or there is no MLP
    field = gains.mlp_in_variance + gains.mlp_bias_variance
    gap = gains.mlp_in_variance * relative / np.maximum(field, NOTHING)
    slopes = activation_named(architecture.activation).pair_slopes(field, gap)
    gain = gains.mlp_in_variance * gains.mlp_out_variance
    return Gradient(back.own * gain * slopes.square, back.shared * gain * slopes.product)


def query_scale(architecture: Architecture, gains: Gains, layer: BlockState) -> Reals:
    """Return the factor of the query weights' gradient: √(σ_Q² σ_K²) σ_V² d² g²."""
    scores = layer.beta * np.sqrt(np.log(architecture.tokens)) * gains.attention_variance
    scale: Reals = scores * np.square(architecture.dim * layer.at_attention.relative)
    return scale


def value_scale(architecture: Architecture) -> float:
    """Return the factor of the value weights' gradient, their own gain aside."""
    output = 1.0 if architecture.output_variance is None else architecture.output_variance
    return output * float(architecture.dim) ** 2
