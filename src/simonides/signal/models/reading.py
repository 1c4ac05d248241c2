"""What a transformer is: its architecture, from a Hugging Face ``config.json`` or off a PyTorch model.

Blocks of ``torch.nn.TransformerEncoder`` say themselves where they normalise; Hugging Face models say it
by their type. Weights are found by the names these libraries give them. Scales of a model's weights are
measured, not taken from the configuration, so that any initialisation can be put beside theory.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simonides import arguments
from simonides.failures import BadArgumentError
from simonides.reading import expecting, read_json
from simonides.signal.critical import beta_of_std
from simonides.signal.maps.activations import ACTIVATIONS, Activation
from simonides.signal.maps.architecture import MOST_GAIN, Architecture, Norm
from simonides.signal.notes import PoorTheoryWarning

_NAMES = {
    "dim": ("hidden_size", "n_embd", "dim", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "hidden": ("intermediate_size", "n_inner", "hidden_dim", "ffn_dim", "d_ff"),
    "tokens": ("max_position_embeddings", "n_positions", "n_ctx"),
    "activation": ("hidden_act", "activation_function", "activation"),
}
"""What configurations call the fields of an architecture."""

_NORMS = {
    **dict.fromkeys(
        ("bert", "roberta", "distilbert", "electra", "camembert", "xlm-roberta", "albert"), "post"
    ),
    **dict.fromkeys(("gpt2", "opt", "vit", "deit"), "pre"),
}
_CAUSAL = ("gpt2", "opt")
_POSITIONS_IN_SCORES = ("rope_theta", "rope_scaling", "rope_parameters", "rotary_dim", "rotary_pct")
_DEFAULT_STD = 0.02
"""What Hugging Face's models have where a configuration does not say."""

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
"""Mean change of a LayerNorm's scales that only training makes; libraries start them at one."""

_REMEDY = "pass the architecture"


def read_config(path: str | Path, **changes: Any) -> Architecture:
    """Return the architecture that a ``config.json`` describes.

    Parameters
    ----------
    path : str or Path
        A Hugging Face model's configuration.
    **changes
        Fields of ``Architecture`` to have instead; ``norm`` where the model's type does not say it.

    Returns
    -------
    Architecture
        Every weight matrix has the standard deviation ``initializer_range``; GPT-2 divides those that
        write to the residual stream by √(2 L).

    Raises
    ------
    BadArgumentError
        If the file is no JSON object, a size is missing, or no theory here covers the model.

    Warns
    -----
    PoorTheoryWarning
        Where the model does what the theory leaves out, such as rotary positions.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "config.json"
    >>> _ = path.write_text('{"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12}')
    >>> read_config(path, tokens=1024).norm
    'pre'
    """
    with expecting("config", path, "a JSON file with an object", "pass a model's config.json"):
        config = read_json(path)
    return of_config(config, **changes)


def of_config(config: Mapping[str, Any], **changes: Any) -> Architecture:
    """Return the architecture of a configuration, as ``read_config`` does."""
    kind = str(config.get("model_type", ""))
    named = {name: _first(config, keys) for name, keys in _NAMES.items()}
    fields = {name: value for name, value in named.items() if value is not None} | changes
    for name in ("dim", "layers", "tokens"):
        if name not in fields:
            raise arguments.refuse(
                "config", f"{kind or 'model'} without {name}", "complete", f"pass {name} yourself"
            )
    if "activation" not in changes:
        word = str(fields.get("activation", "gelu"))
        known = [alias for each in ACTIVATIONS.values() for alias in (each.name, *each.aliases)]
        fields["activation"] = _activation(
            word, known, lambda each: word in (each.name, *each.aliases), "pass activation yourself"
        )
    if "norm" not in fields:
        # The only OPT that normalises after its sums says so.
        after = config.get("do_layer_norm_before") is False
        if not after:
            arguments.one_of("model_type", kind, _NORMS, "or say norm, pre or post")
        fields["norm"] = "post" if after else _NORMS[kind]
    fields.setdefault("causal", kind in _CAUSAL)
    std = _first(config, ("initializer_range", "init_std"))
    std, remedy = _DEFAULT_STD if std is None else std, "it is the weights' standard deviation"
    std = arguments.real("initializer_range", std, least=0, most=MOST_GAIN, remedy=remedy)
    for note in _left_out(config, kind):
        warnings.warn(note, PoorTheoryWarning, stacklevel=2)
    network = Architecture(**fields)
    dim, writing = network.dim, std**2 / (2 * network.layers) if kind == "gpt2" else std**2
    gains: dict[str, Any] = {
        "beta": beta_of_std(std, dim, network.tokens),
        "value_variance": dim * std**2,
        "output_variance": dim * writing,
        "mlp_in_variance": dim * std**2,
        "mlp_out_variance": network.hidden_dim * writing,
    }
    return replace(network, **{name: gains[name] for name in gains.keys() - fields.keys()})


def _left_out(config: Mapping[str, Any], kind: str) -> list[str]:
    """Return what of a model the theory does not cover."""
    in_scores = config.get("position_embedding_type") not in (None, "absolute")
    notes = {
        "ALBERT's layers share their weights: theory is that of layers drawn apart.": (
            kind == "albert"
        ),
        "Rotary or relative positions enter the scores: theory has positions in the tokens alone.": (
            in_scores or _first(config, _POSITIONS_IN_SCORES) is not None
        ),
        "Scores are divided by the number of the layer: theory has one beta for all layers.": (
            config.get("scale_attn_by_inverse_layer_idx")
        ),
    }
    return [note for note, holds in notes.items() if holds]


def _first(config: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((config[key] for key in keys if config.get(key) is not None), None)


def _activation(
    wanted: str, known: Iterable[str], is_wanted: Callable[[Activation], bool], remedy: str
) -> str:
    for activation in ACTIVATIONS.values():
        if is_wanted(activation):
            return activation.name
    raise arguments.refuse("activation", wanted, f"one of {', '.join(known)}", remedy)


@dataclass(frozen=True)
class Matrix:
    """Scales of a linear map: its fan-in, and mean squares of its weights and of its bias."""

    fan_in: int
    weight: float
    bias: float

    @classmethod
    def of(cls, weight: Any, bias: Any) -> Matrix:
        """Return the scales of these arrays; a bias may be None."""
        offset = 0.0 if bias is None else float(np.mean(bias**2))
        return cls(weight.shape[1], float(np.mean(weight**2)), offset)

    @property
    def gain(self) -> float:
        """Return fan-in times the variance."""
        return self.fan_in * self.weight


@dataclass(frozen=True)
class Reading:
    """An architecture, known or read off a model with each layer's query and key scales.

    Tokens, cosine and norm come with a batch; ``notes`` say what theory misses.
    """

    architecture: Architecture
    stds: tuple[tuple[float, float], ...] | None = None
    notes: tuple[str, ...] = ()

    def at(
        self, tokens: int, cosine: float, input_variance: float
    ) -> tuple[Architecture, tuple[float, ...] | None]:
        """Return the architecture for a batch, and each layer's beta if its weights were read.

        Weights stay, so that beta goes with the number of tokens.
        """
        network, betas = self.architecture, None
        beta = network.beta * math.sqrt(math.log(network.tokens) / math.log(tokens))
        if self.stds is not None:
            betas = tuple(beta_of_std(q, network.dim, tokens, key_std=k) for q, k in self.stds)
            beta = float(np.mean(betas))
        sizes: dict[str, Any] = {"tokens": tokens, "cosine": cosine}
        return replace(network, **sizes, beta=beta, input_variance=input_variance), betas


def refuse_model(model: Any, condition: str, remedy: str = _REMEDY) -> BadArgumentError:
    """Return the error to raise where a model is not one that can be read or measured."""
    return arguments.refuse("model", type(model).__name__, condition, remedy)


def read_model(model: Any, blocks: Sequence[Any]) -> Reading:
    """Return what a model's blocks are; ``BadArgumentError`` names what could not be read."""
    matrices = [_matrices(block) for block in blocks]
    for role in _ROLES:
        if any(role not in of_block for of_block in matrices):
            raise refuse_model(model, f"one whose {role} weights are known by name")

    def mean(role: str) -> float:
        return float(np.mean([of_block[role].gain for of_block in matrices]))

    biases = [of_block[role].bias for of_block in matrices for role in ("mlp_in", "mlp_out")]
    gains: dict[str, Any] = {
        "tokens": 2,
        "dim": matrices[0]["query"].fan_in,
        "layers": len(blocks),
        "hidden": matrices[0]["mlp_out"].fan_in,
        **{f"{role}_variance": mean(role) for role in ("value", "output", "mlp_in", "mlp_out")},
        "value_bias_variance": float(np.mean([_added(of_block) for of_block in matrices])),
        "mlp_bias_variance": float(np.mean(biases)),
    }
    stds = tuple(
        (math.sqrt(of_block["query"].weight), math.sqrt(of_block["key"].weight))
        for of_block in matrices
    )
    return Reading(_described(model, blocks[0], gains), stds, _notes(blocks, stds))


def _described(model: Any, block: Any, gains: dict[str, Any]) -> Architecture:
    from torch import nn

    if isinstance(block, nn.TransformerEncoderLayer):
        function = block.activation
        activation = _activation(
            repr(function), ACTIVATIONS, lambda each: each.is_in_torch(function), _REMEDY
        )
        norm: Norm = "pre" if block.norm_first else "post"
        heads = block.self_attn.num_heads
        return Architecture(heads=heads, norm=norm, activation=activation, **gains)
    if hasattr(getattr(model, "config", None), "to_dict"):
        return of_config(model.config.to_dict(), **gains)
    raise refuse_model(model, "torch.nn.TransformerEncoder or a Hugging Face model")


def _matrices(block: Any) -> dict[str, Matrix]:
    """Return a block's linear maps by role."""
    parameters = {
        name: values.detach().double().cpu().numpy() for name, values in block.named_parameters()
    }
    matrices: dict[str, Matrix] = {}
    for name, weight in parameters.items():
        stem = re.sub(r"[._]weight$", "", name)
        if stem == name or weight.ndim != 2:
            continue
        bias = parameters.get(re.sub(r"weight$", "bias", name))
        # Hugging Face's Conv1D keeps its matrix the other way round.
        if type(block.get_submodule(name.rpartition(".")[0])).__name__ == "Conv1D":
            weight = weight.T
        if re.search(_TOGETHER, stem):
            offsets = [None] * 3 if bias is None else np.split(bias, 3)
            parts = map(Matrix.of, np.split(weight, 3), offsets)
            matrices |= zip(("query", "key", "value"), parts, strict=True)
            continue
        for role, pattern in _ROLES.items():
            if re.search(pattern, stem):
                matrices.setdefault(role, Matrix.of(weight, bias))
    return matrices


def _added(matrices: dict[str, Matrix]) -> float:
    """Return the variance of a value bias that adds what a block's two biases add together."""
    value, output = matrices["value"], matrices["output"]
    return value.bias + (output.bias / output.gain if output.gain else 0.0)


def _notes(blocks: Sequence[Any], stds: Sequence[tuple[float, float]]) -> tuple[str, ...]:
    from torch import nn

    modules = (module for block in blocks for module in block.modules())
    scales = [
        module.weight.detach()
        for module in modules
        if isinstance(module, nn.LayerNorm) and module.elementwise_affine
    ]
    notes = {
        "All blocks have the same weights, as torch.nn.TransformerEncoder copies them: theory is that "
        "of blocks drawn apart. Draw each block's weights anew.": (
            len(stds) > 1 and len(set(stds)) == 1
        ),
        "LayerNorms have scales other than one: a trained model, of which theory knows only how large "
        "its weights are.": any(float((scale - 1).abs().mean()) > _TRAINED for scale in scales),
    }
    return tuple(note for note, holds in notes.items() if holds)
