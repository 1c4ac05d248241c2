"""What a real PyTorch transformer is: its architecture, with the scales its weights have now.

Blocks of ``torch.nn.TransformerEncoder`` say themselves where they normalise; Hugging Face models say it
by their type. Weights are found by the names these libraries give them. Scales of the weights are
measured, not taken from the configuration, so that any initialisation can be put beside theory.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.signal.critical import beta_of_std
from simonides.signal.maps.activations import ACTIVATIONS
from simonides.signal.maps.architecture import Architecture
from simonides.signal.models.config import of_config

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROLES = {
    "query": r"(query|q_proj|q_lin)$",
    "key": r"(key|k_proj|k_lin)$",
    "value": r"(value|v_proj|v_lin)$",
    "output": r"(attention\.output\.dense|out_proj|o_proj|out_lin|attn\.c_proj)$",
    "mlp_in": r"(intermediate\.dense|fc1|lin1|linear1|c_fc)$",
    "mlp_out": r"(^output\.dense|fc2|lin2|linear2|mlp\.c_proj)$",
}
_TOGETHER = r"(in_proj|c_attn)$"
"""Queries, keys and values in one matrix, in this order."""

_TRAINED = 0.05
_REMEDY = "pass the architecture"


@dataclass(frozen=True)
class Matrix:
    """Scales of a linear map: its fan-in, and mean squares of its weights and of its bias."""

    fan_in: int
    weight: float
    bias: float

    @property
    def gain(self) -> float:
        """Return fan-in times the variance."""
        return self.fan_in * self.weight


@dataclass(frozen=True)
class Reading:
    """An architecture read off a model, each layer's query and key scales, and what theory misses.

    ``architecture`` has the model's sizes and gains; tokens, cosine and beta come with a batch.
    """

    architecture: Architecture
    stds: tuple[tuple[float, float], ...]
    notes: tuple[str, ...]

    def at(
        self, tokens: int, cosine: float, input_variance: float
    ) -> tuple[Architecture, tuple[float, ...]]:
        """Return the architecture for a batch's number of tokens and start, and each layer's beta."""
        dim = self.architecture.dim
        betas = tuple(beta_of_std(q, dim, tokens, key_std=k) for q, k in self.stds)
        changes: dict[str, Any] = {
            "tokens": tokens,
            "cosine": cosine,
            "beta": float(np.mean(betas)),
            "input_variance": input_variance,
        }
        return replace(self.architecture, **changes), betas


def read_model(model: Any, blocks: Sequence[Any]) -> Reading:
    """Return what a model's blocks are; ``BadArgumentError`` names what could not be read."""
    found = [_matrices(block) for block in blocks]
    for role in _ROLES:
        if any(role not in one for one in found):
            raise arguments.refuse(
                "model",
                type(model).__name__,
                f"one whose {role} weights are known by name",
                _REMEDY,
            )

    def mean(role: str, name: str) -> float:
        return float(np.mean([getattr(one[role], name) for one in found]))

    biases = [one[role].bias for one in found for role in ("mlp_in", "mlp_out")]
    gains: dict[str, Any] = {
        "tokens": 2,
        "dim": found[0]["query"].fan_in,
        "layers": len(blocks),
        "hidden": found[0]["mlp_out"].fan_in,
        "value_variance": mean("value", "gain"),
        "output_variance": mean("output", "gain"),
        "value_bias_variance": float(np.mean([_added(one) for one in found])),
        "mlp_in_variance": mean("mlp_in", "gain"),
        "mlp_out_variance": mean("mlp_out", "gain"),
        "mlp_bias_variance": float(np.mean(biases)),
    }
    stds = tuple((math.sqrt(one["query"].weight), math.sqrt(one["key"].weight)) for one in found)
    return Reading(_described(model, blocks[0], gains), stds, _notes(blocks, stds))


def _described(model: Any, block: Any, gains: dict[str, Any]) -> Architecture:
    from torch import nn

    if isinstance(block, nn.TransformerEncoderLayer):
        return Architecture(
            heads=block.self_attn.num_heads,
            norm="pre" if block.norm_first else "post",
            activation=_activation(block.activation),
            **gains,
        )
    if hasattr(getattr(model, "config", None), "to_dict"):
        return of_config(model.config.to_dict(), **gains)
    raise arguments.refuse(
        "model",
        type(model).__name__,
        "torch.nn.TransformerEncoder or a Hugging Face model",
        _REMEDY,
    )


def _activation(function: Any) -> str:
    for name, activation in ACTIVATIONS.items():
        if activation.is_in_torch(function):
            return name
    raise arguments.refuse(
        "activation", repr(function), f"one of {', '.join(ACTIVATIONS)}", _REMEDY
    )


def _matrices(block: Any) -> dict[str, Matrix]:
    """Return a block's linear maps by role."""
    parameters = {
        name: values.detach().double().cpu().numpy() for name, values in block.named_parameters()
    }
    found = {}
    for name, weight in parameters.items():
        stem = re.sub(r"[._]weight$", "", name)
        if stem == name or weight.ndim != 2:
            continue
        bias = parameters.get(re.sub(r"weight$", "bias", name))
        # Hugging Face's Conv1D keeps its matrix the other way round.
        if type(block.get_submodule(name.rpartition(".")[0])).__name__ == "Conv1D":
            weight = weight.T
        if re.search(_TOGETHER, stem):
            shares = np.split(weight, 3)
            offsets = [None] * 3 if bias is None else np.split(bias, 3)
            for role, share, offset in zip(("query", "key", "value"), shares, offsets, strict=True):
                found[role] = _matrix(share, offset)
            continue
        for role, pattern in _ROLES.items():
            if re.search(pattern, stem):
                found.setdefault(role, _matrix(weight, bias))
    return found


def _added(matrices: dict[str, Matrix]) -> float:
    """Return the variance of a value bias that adds what a block's two biases add together."""
    value, output = matrices["value"], matrices["output"]
    return value.bias + (output.bias / output.gain if output.gain else 0.0)


def _matrix(weight: Any, bias: Any) -> Matrix:
    offset = 0.0 if bias is None else float(np.mean(bias**2))
    return Matrix(weight.shape[1], float(np.mean(weight**2)), offset)


def _notes(blocks: Sequence[Any], stds: Sequence[tuple[float, float]]) -> tuple[str, ...]:
    notes = []
    if len(stds) > 1 and len(set(stds)) == 1:
        notes.append(
            "All blocks have the same weights, as torch.nn.TransformerEncoder copies them: theory is that "
            "of blocks drawn apart. Draw each block's weights anew."
        )
    if any(_scaled(block) for block in blocks):
        notes.append(
            "LayerNorms have scales other than one: a trained model, of which theory knows only how large "
            "its weights are."
        )
    return tuple(notes)


def _scaled(block: Any) -> bool:
    """Return whether a block's LayerNorms have scales that training has moved."""
    from torch import nn

    norms = [one for one in block.modules() if isinstance(one, nn.LayerNorm)]
    return any(
        one.elementwise_affine and float((one.weight.detach() - 1).abs().mean()) > _TRAINED
        for one in norms
    )
