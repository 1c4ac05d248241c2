"""Random transformer blocks in NumPy, with their gradients written out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.signal.maps.activations import activation_named

if TYPE_CHECKING:
    from simonides.signal.maps.architecture import Architecture

Array = Any
"""An array of the precision the network was drawn in."""


@dataclass(frozen=True)
class Weights:
    """The weights of one block; ``output`` is None without a projection, the MLP's without an MLP."""

    query: Array
    key: Array
    value: Array
    value_bias: Array
    output: Array | None
    mlp_in: Array | None
    mlp_in_bias: Array | None
    mlp_out: Array | None
    mlp_out_bias: Array | None


def draw_weights(
    architecture: Architecture, rng: np.random.Generator, dtype: type = np.float32
) -> Weights:
    """Return one block's weights, drawn at the architecture's scales."""
    dim, hidden = architecture.dim, architecture.hidden_dim

    def matrix(rows: int, columns: int, gain: float) -> Array:
        return rng.standard_normal((rows, columns), dtype) * dtype(math.sqrt(gain / columns))

    def bias(size: int, variance: float) -> Array:
        return rng.standard_normal(size, dtype) * dtype(math.sqrt(variance))

    mlp = architecture.activation is not None
    output = architecture.output_variance
    return Weights(
        query=matrix(dim, dim, architecture.score_gain),
        key=matrix(dim, dim, architecture.score_gain),
        value=matrix(dim, dim, architecture.value_variance),
        value_bias=bias(dim, architecture.value_bias_variance),
        output=None if output is None else matrix(dim, dim, output),
        mlp_in=matrix(hidden, dim, architecture.mlp_in_variance) if mlp else None,
        mlp_in_bias=bias(hidden, architecture.mlp_bias_variance) if mlp else None,
        mlp_out=matrix(dim, hidden, architecture.mlp_out_variance) if mlp else None,
        mlp_out_bias=bias(dim, architecture.mlp_bias_variance) if mlp else None,
    )


@dataclass(frozen=True)
class Normalised:
    """Tokens after a LayerNorm without affine part, and what its gradient needs."""

    tokens: Array
    deviation: Array

    @classmethod
    def of(cls, x: Array) -> Normalised:
        """Return tokens with mean 0 and variance 1 over their features."""
        centred = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + 1e-12)
        return cls(centred / deviation, deviation)

    def back(self, gradient: Array) -> Array:
        """Return the gradient before the LayerNorm."""
        along = np.mean(gradient * self.tokens, axis=1, keepdims=True)
        return (gradient - gradient.mean(axis=1, keepdims=True) - along * self.tokens) / (
            self.deviation
        )


@dataclass(frozen=True)
class Attended:
    """Attention on the way forward: heads first, then queries, then keys or features."""

    tokens: Array
    query: Array
    key: Array
    value: Array
    weights: Array
    mixing: Array
    mixed: Array
    output: Array


@dataclass(frozen=True)
class AttentionGradient:
    """Gradients of one attention sublayer."""

    tokens: Array
    query: Array
    key: Array
    value: Array


def attend(architecture: Architecture, weights: Weights, x: Array) -> Attended:
    """Return what attention makes of normalised tokens."""
    query, key, value = (
        _split(x @ matrix.T + bias, architecture.heads)
        for matrix, bias in (
            (weights.query, 0),
            (weights.key, 0),
            (weights.value, weights.value_bias),
        )
    )
    scores = query @ np.swapaxes(key, 1, 2) / x.dtype.type(math.sqrt(architecture.head_dim))
    if architecture.causal:
        scores = np.where(np.tri(x.shape[0], dtype=bool), scores, -np.inf)
    scores = scores - scores.max(axis=2, keepdims=True)
    raw = np.exp(scores)
    attention = raw / raw.sum(axis=2, keepdims=True)
    mixing = attention
    if architecture.centred:
        allowed = np.tri(x.shape[0], dtype=x.dtype) if architecture.causal else np.ones_like(raw[0])
        mixing = attention - allowed / allowed.sum(axis=1, keepdims=True)
    mixed = np.swapaxes(mixing @ value, 0, 1).reshape(x.shape)
    output = mixed if weights.output is None else mixed @ weights.output.T
    return Attended(x, query, key, value, attention, mixing, mixed, output)


def attend_back(
    architecture: Architecture, weights: Weights, seen: Attended, gradient: Array
) -> AttentionGradient:
    """Return attention's gradients from that of its output."""
    if weights.output is not None:
        gradient = gradient @ weights.output
    mixed = _split(gradient, architecture.heads)
    value = np.swapaxes(seen.mixing, 1, 2) @ mixed
    weight = mixed @ np.swapaxes(seen.value, 1, 2)
    centred = weight - np.sum(weight * seen.weights, axis=2, keepdims=True)
    score = seen.weights * centred / gradient.dtype.type(math.sqrt(architecture.head_dim))
    query, key = score @ seen.key, np.swapaxes(score, 1, 2) @ seen.query
    parts = {name: _join(part) for name, part in (("query", query), ("key", key), ("value", value))}
    tokens = sum(part @ getattr(weights, name) for name, part in parts.items())
    of_weights = {name: part.T @ seen.tokens for name, part in parts.items()}
    return AttentionGradient(tokens, **of_weights)


def mlp(architecture: Architecture, weights: Weights, x: Array) -> tuple[Array, Array]:
    """Return the MLP's output and its activation's slopes, which the way back needs."""
    assert architecture.activation is not None  # or there is no MLP
    assert weights.mlp_in is not None
    assert weights.mlp_out is not None
    field = x @ weights.mlp_in.T + weights.mlp_in_bias
    values, slopes = activation_named(architecture.activation)(field)
    return values @ weights.mlp_out.T + weights.mlp_out_bias, slopes


def mlp_back(weights: Weights, slopes: Array, gradient: Array) -> Array:
    """Return the gradient at the MLP's input."""
    return ((gradient @ weights.mlp_out) * slopes) @ weights.mlp_in


def _split(x: Array, heads: int) -> Array:
    """Return features of each head: heads x tokens x head dimension."""
    return np.swapaxes(x.reshape(x.shape[0], heads, -1), 0, 1)


def _join(x: Array) -> Array:
    return np.swapaxes(x, 0, 1).reshape(x.shape[1], -1)
