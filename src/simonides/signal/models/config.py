"""Reading an architecture from a Hugging Face ``config.json``."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simonides import arguments
from simonides.signal.critical import beta_of_std
from simonides.signal.maps.activations import ACTIVATIONS
from simonides.signal.maps.architecture import Architecture
from simonides.signal.notes import PoorTheoryWarning

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES = {
    "dim": ("hidden_size", "n_embd", "dim", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "hidden": ("intermediate_size", "n_inner", "hidden_dim", "ffn_dim", "d_ff"),
    "tokens": ("max_position_embeddings", "n_positions", "n_ctx"),
    "activation": ("hidden_act", "activation_function", "activation"),
}
_POST_NORM = ("bert", "roberta", "distilbert", "electra", "camembert", "xlm-roberta", "albert")
_PRE_NORM = ("gpt2", "opt", "vit", "deit")
_CAUSAL = ("gpt2", "opt")
_POSITIONS_IN_SCORES = ("rope_theta", "rope_scaling", "rope_parameters", "rotary_dim", "rotary_pct")
_DEFAULT_STD = 0.02


def read_config(path: str | Path, **changes: Any) -> Architecture:
    """Return the architecture that a ``config.json`` describes, with the given fields changed."""
    try:
        described = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError):  # no JSON, no UTF-8, too long a number, too deep
        raise arguments.refuse(
            "config", str(path), "a JSON file", "pass a model's config.json"
        ) from None
    if not isinstance(described, dict):
        raise arguments.refuse("config", str(path), "a JSON object", "pass a model's config.json")
    return of_config(described, **changes)


def of_config(described: Mapping[str, Any], **changes: Any) -> Architecture:
    """Return the architecture of a configuration.

    Every weight matrix has the standard deviation ``initializer_range``; GPT-2 divides those that
    write to the residual stream by √(2 L). Where the model's type does not say whether it normalises
    before or after, ``norm`` must be among the changes.
    """
    kind = str(described.get("model_type", ""))
    found = {name: _first(described, keys) for name, keys in _NAMES.items() if name not in changes}
    found = {name: value for name, value in found.items() if value is not None}
    found.update(changes)
    for name in ("dim", "layers", "tokens"):
        if name not in found:
            raise arguments.refuse(
                "config", f"{kind or 'model'} without {name}", "complete", f"pass {name} yourself"
            )
    if "activation" not in changes:
        found["activation"] = _activation(str(found.get("activation", "gelu")))
    if "norm" not in found:
        # The only OPT that normalises after its sums says so.
        found["norm"] = "post" if described.get("do_layer_norm_before") is False else _norm(kind)
    found.setdefault("causal", kind in _CAUSAL)
    std = _first(described, ("initializer_range", "init_std"))
    std = arguments.real(
        "initializer_range",
        _DEFAULT_STD if std is None else std,
        least=0,
        remedy="it is the standard deviation of the weights",
    )
    for note in _left_out(described, kind):
        warnings.warn(note, PoorTheoryWarning, stacklevel=2)
    for name, value in _gains(found, std, kind).items():
        found.setdefault(name, value)
    return Architecture(**found)


def _gains(found: Mapping[str, Any], std: float, kind: str) -> dict[str, float]:
    dim = arguments.whole("dim", found["dim"], remedy="it is the embedding dimension")
    layers = arguments.whole("layers", found["layers"], remedy="it is the number of blocks")
    hidden = arguments.whole(
        "hidden", found.get("hidden") or 4 * dim, remedy="it is the width of the MLP"
    )
    writing = std**2 / (2 * layers) if kind == "gpt2" else std**2
    return {
        "beta": beta_of_std(std, dim, found["tokens"]),
        "value_variance": dim * std**2,
        "output_variance": dim * writing,
        "mlp_in_variance": dim * std**2,
        "mlp_out_variance": hidden * writing,
    }


def _left_out(described: Mapping[str, Any], kind: str) -> list[str]:
    """Return what of a model the theory does not cover."""
    notes = []
    if kind == "albert":
        notes.append("ALBERT's layers share their weights: theory is that of layers drawn apart.")
    absolute = described.get("position_embedding_type") in (None, "absolute")
    if not absolute or _first(described, _POSITIONS_IN_SCORES) is not None:
        notes.append(
            "Rotary or relative positions enter the scores: theory has positions in the tokens alone."
        )
    if described.get("scale_attn_by_inverse_layer_idx"):
        notes.append(
            "Scores are divided by the number of the layer: theory has one beta for all layers."
        )
    return notes


def _first(described: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((described[key] for key in keys if described.get(key) is not None), None)


def _activation(name: str) -> str:
    known = {
        alias: activation.name
        for activation in ACTIVATIONS.values()
        for alias in (activation.name, *activation.aliases)
    }
    if name not in known:
        raise arguments.refuse(
            "activation", name, f"one of {', '.join(known)}", "pass activation yourself"
        )
    return known[name]


def _norm(kind: str) -> str:
    if kind in _POST_NORM:
        return "post"
    if kind in _PRE_NORM:
        return "pre"
    known = ", ".join((*_POST_NORM, *_PRE_NORM))
    raise arguments.refuse("model_type", kind, f"one of {known}", "or say norm, pre or post")
