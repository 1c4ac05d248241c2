"""The same random transformers in PyTorch, to be run, measured and trained; needs the ``torch`` extra."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from simonides.signal.maps.activations import activation_named
from simonides.signal.maps.architecture import Architecture
from simonides.signal.networks.network import LEAST_VARIANCE, draw_weights
from simonides.signal.networks.simulation import (
    Measured,
    draw_gradient,
    draw_tokens,
    gathered,
    gradient_statistics,
    late,
    square,
    token_statistics,
    weight_statistics,
)


class Attention(nn.Module):
    """Self-attention at an architecture's scales; returns its output and its weights."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        dim = architecture.dim
        self._architecture = architecture
        self.query = nn.Linear(dim, dim, bias=False)
        self.key = nn.Linear(dim, dim, bias=False)
        self.value = nn.Linear(dim, dim)
        projected = architecture.output_variance is not None
        self.output = nn.Linear(dim, dim, bias=False) if projected else None

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what attention adds to tokens (batch, tokens, dimension), and its weights."""
        architecture = self._architecture
        query, key, value = (
            part(x).unflatten(-1, (architecture.heads, architecture.head_dim)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(-1, -2) / math.sqrt(architecture.head_dim)
        allowed = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device)
        if architecture.causal:
            allowed = allowed.tril()
        weights = scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)
        mixing = weights
        if architecture.centred:
            mixing = weights - allowed / allowed.sum(dim=-1, keepdim=True)
        mixed = (mixing @ value).transpose(1, 2).flatten(2)
        return (mixed if self.output is None else self.output(mixed)), weights


class Block(nn.Module):
    """One transformer block; LayerNorm has no affine part."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self._architecture = architecture
        self.attention = Attention(architecture)
        name = architecture.activation
        mlp = name is not None
        self._activation: Any = None if name is None else activation_named(name).in_torch()
        dim, hidden = architecture.dim, architecture.hidden_dim
        self.mlp_in = nn.Linear(dim, hidden) if mlp else None
        self.mlp_out = nn.Linear(hidden, dim) if mlp else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return tokens after the block."""
        architecture = self._architecture
        x = self._after(architecture.attention_skip * x + self.attention(self._before(x))[0])
        if self.mlp_in is None or self.mlp_out is None:
            return x
        active = self._activation(self.mlp_in(self._before(x)))
        return self._after(architecture.mlp_skip * x + self.mlp_out(active))

    def _before(self, x: torch.Tensor) -> torch.Tensor:
        return normalised(x) if self._architecture.norm == "pre" else x

    def _after(self, x: torch.Tensor) -> torch.Tensor:
        return normalised(x) if self._architecture.norm == "post" else x


class Transformer(nn.Module):
    """A random stack of blocks: the one that ``simulate`` runs for this seed."""

    def __init__(self, architecture: Architecture, seed: int) -> None:
        super().__init__()
        self.architecture = architecture
        self.blocks = nn.ModuleList(Block(architecture) for _ in range(architecture.layers))
        children = np.random.SeedSequence(seed).spawn(architecture.layers + 2)
        for block, child in zip(self.blocks, children[2:], strict=True):
            drawn = draw_weights(architecture, np.random.default_rng(child))
            for name, parameter in block.named_parameters():
                role = name.removeprefix("attention.").removesuffix(".weight")
                parameter.data.copy_(torch.from_numpy(drawn[role.replace(".bias", "_bias")]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return tokens after all blocks; post-norm networks normalise their input first."""
        if self.architecture.norm == "post":
            x = normalised(x)
        for block in self.blocks:
            x = block(x)
        return x


def one_network(architecture: Architecture, seed: int, *, backward: bool = True) -> Measured:
    """Run the network and input that NumPy draws for this seed, and return what was measured."""
    first, last, *_ = np.random.SeedSequence(seed).spawn(architecture.layers + 2)
    x = torch.from_numpy(draw_tokens(architecture, np.random.default_rng(first)))[None]
    x = normalised(x) if architecture.norm == "post" else x
    states: list[Any] = [x.requires_grad_()]
    rows: list[tuple[float, float, float]] = []
    blocks: list[Any] = list(Transformer(architecture, seed).blocks)

    def keep(_module: Any, _inputs: Any, outputs: Any) -> None:
        weights = outputs[1][0].detach().numpy()
        rows.append(weight_statistics(late(architecture.causal, weights, axis=1)))

    for block in blocks:
        block.attention.register_forward_hook(keep)
        states.append(block(states[-1]))
    streams = [
        token_statistics(late(architecture.causal, state[0].detach().numpy())) for state in states
    ]
    if not backward:
        return gathered(streams, rows, [], [])
    for state in states:
        state.retain_grad()
    sent = torch.from_numpy(draw_gradient(architecture, last))[None]
    torch.autograd.backward(states[-1], sent)
    back = [gradient_statistics(state.grad[0].numpy()) for state in states]
    squares = [
        [square(part.weight.grad.numpy()) for part in (a.query, a.key, a.value)]
        for a in (block.attention for block in blocks)
    ]
    return gathered(streams, rows, back, squares)


def normalised(x: torch.Tensor) -> torch.Tensor:
    """Return tokens after a LayerNorm without affine part."""
    return functional.layer_norm(x, x.shape[-1:], eps=LEAST_VARIANCE)
