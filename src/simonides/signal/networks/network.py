"""Random transformer blocks in NumPy, with their gradients written out.

Each step returns what it makes of tokens, and a function that takes a gradient back through it. That
function is given the block's weights once more, so that they need not be kept meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from simonides.signal.maps.activations import activation_named
from simonides.signal.maps.architecture import Architecture

Array = Any
"""An array of the precision the network was drawn in."""

Weights = dict[str, Any]
"""The weights of one block by role; no ``output`` without a projection, no ``mlp_*`` without an MLP."""

Back = Callable[..., Any]

LEAST_VARIANCE = 1e-12
"""Added to the variance that a LayerNorm divides by: far below any, and a token of equal features stays."""


def draw_weights(architecture: Architecture, rng: np.random.Generator) -> Weights:
    """Return one block's weights, drawn at the architecture's scales."""
    dim, hidden, bias = architecture.dim, architecture.hidden_dim, architecture.mlp_bias_variance
    scales: dict[str, tuple[Any, ...]] = {
        "query": (architecture.score_gain / dim, dim, dim),
        "key": (architecture.score_gain / dim, dim, dim),
        "value": (architecture.value_variance / dim, dim, dim),
        "value_bias": (architecture.value_bias_variance, dim),
    }
    if architecture.output_variance is not None:
        scales["output"] = (architecture.output_variance / dim, dim, dim)
    if architecture.activation is not None:
        scales["mlp_in"] = (architecture.mlp_in_variance / dim, hidden, dim)
        scales["mlp_in_bias"] = (bias, hidden)
        scales["mlp_out"] = (architecture.mlp_out_variance / hidden, dim, hidden)
        scales["mlp_out_bias"] = (bias, dim)
    return {
        role: rng.standard_normal(shape, np.float32) * np.float32(math.sqrt(variance))
        for role, (variance, *shape) in scales.items()
    }


def normalised(x: Array) -> tuple[Array, Back]:
    """Return tokens with mean 0 and variance 1 over their features."""
    centred = x - x.mean(axis=1, keepdims=True)
    deviation = np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + LEAST_VARIANCE)
    tokens = centred / deviation

    def back(gradient: Array) -> Array:
        along = np.mean(gradient * tokens, axis=1, keepdims=True)
        return (gradient - gradient.mean(axis=1, keepdims=True) - along * tokens) / deviation

    return tokens, back


def _as_it_is(x: Array) -> tuple[Array, Back]:
    return x, lambda gradient: gradient


def _attend(architecture: Architecture, weights: Weights, x: Array) -> tuple[Array, Array, Back]:
    """Return what attention adds to tokens, and its own weights: heads x queries x keys."""
    heads, scale = architecture.heads, x.dtype.type(math.sqrt(architecture.head_dim))
    query, key, value = (
        _split(x @ weights[role].T + weights.get(f"{role}_bias", 0), heads)
        for role in ("query", "key", "value")
    )
    allowed = np.ones((len(x), len(x)), x.dtype)
    scores = query @ np.swapaxes(key, 1, 2) / scale
    if architecture.causal:
        allowed = np.tril(allowed)
        scores = np.where(allowed > 0, scores, -np.inf)
    raw = np.exp(scores - scores.max(axis=2, keepdims=True))
    attention = raw / raw.sum(axis=2, keepdims=True)
    mixing = attention
    if architecture.centred:
        mixing = attention - allowed / allowed.sum(axis=1, keepdims=True)
    output = np.swapaxes(mixing @ value, 0, 1).reshape(x.shape)
    if "output" in weights:
        output = output @ weights["output"].T

    def back(weights: Weights, gradient: Array) -> tuple[Array, list[Array]]:
        """Return the gradient at tokens, and those of query, key and value weights."""
        if "output" in weights:
            gradient = gradient @ weights["output"]
        mixed = _split(gradient, heads)
        moved = mixed @ np.swapaxes(value, 1, 2)
        moved = moved - np.sum(moved * attention, axis=2, keepdims=True)
        score = attention * moved / scale
        parts = {
            "query": score @ key,
            "key": np.swapaxes(score, 1, 2) @ query,
            "value": np.swapaxes(mixing, 1, 2) @ mixed,
        }
        joined = {role: np.swapaxes(part, 0, 1).reshape(x.shape) for role, part in parts.items()}
        tokens = sum(part @ weights[role] for role, part in joined.items())
        return tokens, [part.T @ x for part in joined.values()]

    return output, attention, back


def _split(x: Array, heads: int) -> Array:
    """Return features of each head: heads x tokens x head dimension."""
    return np.swapaxes(x.reshape(x.shape[0], heads, -1), 0, 1)


def _mlp(activation: str, weights: Weights, x: Array) -> tuple[Array, Back]:
    values, slopes = activation_named(activation)(x @ weights["mlp_in"].T + weights["mlp_in_bias"])

    def back(weights: Weights, gradient: Array) -> Array:
        return ((gradient @ weights["mlp_out"]) * slopes) @ weights["mlp_in"]

    return values @ weights["mlp_out"].T + weights["mlp_out_bias"], back


def run_block(architecture: Architecture, weights: Weights, x: Array) -> tuple[Array, Array, Back]:
    """Return tokens after a block, its attention weights, and the way back.

    The way back ends in the gradient at the block's tokens and those of query, key and value weights.
    """
    before, after = (
        normalised if architecture.norm == place else _as_it_is for place in ("pre", "post")
    )
    skip, mlp_skip = map(x.dtype.type, (architecture.attention_skip, architecture.mlp_skip))
    entering, out_of_first = before(x)
    output, attention, out_of_attention = _attend(architecture, weights, entering)
    x, out_of_second = after(skip * x + output)
    if architecture.activation is not None:
        entering, out_of_third = before(x)
        output, out_of_mlp = _mlp(architecture.activation, weights, entering)
        x, out_of_last = after(mlp_skip * x + output)

    def back(weights: Weights, gradient: Array) -> tuple[Array, list[Array]]:
        if architecture.activation is not None:
            gradient = out_of_last(gradient)
            gradient = mlp_skip * gradient + out_of_third(out_of_mlp(weights, gradient))
        gradient = out_of_second(gradient)
        tokens, of_weights = out_of_attention(weights, gradient)
        return skip * gradient + out_of_first(tokens), of_weights

    return x, attention, back
