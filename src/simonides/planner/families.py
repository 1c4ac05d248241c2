"""From a Hugging Face ``config.json`` to layers: the shapes that each family of models has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from simonides import arguments
from simonides.planner.model import Layer, Model
from simonides.theory.setting import MOST_DIMENSION

_MOST_BLOCKS = 10**6
"""Far beyond any model: a slip of the hand, refused before a total is printed."""


@dataclass(frozen=True, slots=True)
class Config:
    """The numbers of a config, read one by one so that a refusal can name the key."""

    values: Mapping[str, Any]

    def size(self, key: str, default: int | None = None, most: int = MOST_DIMENSION) -> int:
        """Return a size; absent and null are the default, without which the key must be there."""
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        return arguments.whole(key, value, most=most, remedy="pass a model's own config.json")

    def blocks(self, key: str) -> int:
        """Return how often something is repeated."""
        return self.size(key, most=_MOST_BLOCKS)

    def ties(self, default: bool) -> bool:
        """Return whether the output head is the table of token vectors, and so no layer."""
        value = self.values.get("tie_word_embeddings")
        if value is None:
            return default
        if not isinstance(value, bool):
            raise arguments.refuse(
                "tie_word_embeddings", value, "true or false", "pass a model's own config.json"
            )
        return value


def model_of(source: str, values: Mapping[str, Any]) -> Model:
    """Return the linear layers of the model that a config describes.

    Raises ``ValueError`` naming the key that is missing or no size, and for an unknown ``model_type``.
    """
    if "model_type" not in values:
        raise arguments.refuse(
            "file", source, "a model's config.json", "it has no model_type; pass another"
        )
    kind, remedy = values["model_type"], "pass its .safetensors file, whose shapes need no family"
    arguments.one_of("model_type", kind, FAMILIES, remedy)
    config = Config(values)
    return Model(source, kind, config.size("vocab_size"), FAMILIES[kind](config))


def _gpt2(config: Config) -> tuple[Layer, ...]:
    width, blocks = config.size("n_embd"), config.blocks("n_layer")
    inner = config.size("n_inner", 4 * width)
    return (
        Layer("h.*.attn.c_attn", width, 3 * width, blocks),
        Layer("h.*.attn.c_proj", width, width, blocks),
        Layer("h.*.mlp.c_fc", width, inner, blocks),
        Layer("h.*.mlp.c_proj", inner, width, blocks),
        *_head(config, width, tied=True),
    )


def _llama(config: Config, *, tied: bool = False) -> tuple[Layer, ...]:
    width, inner = config.size("hidden_size"), config.size("intermediate_size")
    blocks = config.blocks("num_hidden_layers")
    return (
        *_grouped_attention(config),
        Layer("model.layers.*.mlp.gate_proj", width, inner, blocks),
        Layer("model.layers.*.mlp.up_proj", width, inner, blocks),
        Layer("model.layers.*.mlp.down_proj", inner, width, blocks),
        *_head(config, width, tied=tied),
    )


def _mixtral(config: Config) -> tuple[Layer, ...]:
    width, inner = config.size("hidden_size"), config.size("intermediate_size")
    blocks, experts = config.blocks("num_hidden_layers"), config.blocks("num_local_experts")
    expert = "model.layers.*.block_sparse_moe.experts.*"
    return (
        *_grouped_attention(config),
        Layer("model.layers.*.block_sparse_moe.gate", width, experts, blocks),
        Layer(f"{expert}.w1", width, inner, blocks * experts),
        Layer(f"{expert}.w2", inner, width, blocks * experts),
        Layer(f"{expert}.w3", width, inner, blocks * experts),
        *_head(config, width, tied=False),
    )


def _grouped_attention(config: Config) -> tuple[Layer, ...]:
    """Return four projections; several query heads may share a key and value head."""
    width, blocks = config.size("hidden_size"), config.blocks("num_hidden_layers")
    heads = config.size("num_attention_heads")
    shared = config.size("num_key_value_heads", heads)
    if config.values.get("head_dim") is None and width % heads:
        raise arguments.refuse(
            "num_attention_heads", heads, f"a divisor of hidden_size, {width}", "add head_dim"
        )
    size = config.size("head_dim", width // heads)
    return (
        Layer("model.layers.*.self_attn.q_proj", width, heads * size, blocks),
        Layer("model.layers.*.self_attn.k_proj", width, shared * size, blocks),
        Layer("model.layers.*.self_attn.v_proj", width, shared * size, blocks),
        Layer("model.layers.*.self_attn.o_proj", heads * size, width, blocks),
    )


def _bert(config: Config) -> tuple[Layer, ...]:
    width, inner = config.size("hidden_size"), config.size("intermediate_size")
    blocks = config.blocks("num_hidden_layers")
    return (
        *(
            Layer(f"encoder.layer.*.attention.self.{name}", width, width, blocks)
            for name in ("query", "key", "value")
        ),
        Layer("encoder.layer.*.attention.output.dense", width, width, blocks),
        Layer("encoder.layer.*.intermediate.dense", width, inner, blocks),
        Layer("encoder.layer.*.output.dense", inner, width, blocks),
        Layer("pooler.dense", width, width),
    )


def _distilbert(config: Config) -> tuple[Layer, ...]:
    width, inner, blocks = config.size("dim"), config.size("hidden_dim"), config.blocks("n_layers")
    return (
        *(
            Layer(f"transformer.layer.*.attention.{name}_lin", width, width, blocks)
            for name in ("q", "k", "v", "out")
        ),
        Layer("transformer.layer.*.ffn.lin1", width, inner, blocks),
        Layer("transformer.layer.*.ffn.lin2", inner, width, blocks),
    )


def _head(config: Config, width: int, *, tied: bool) -> tuple[Layer, ...]:
    if config.ties(tied):
        return ()
    return (Layer("lm_head", width, config.size("vocab_size")),)


FAMILIES: dict[str, Callable[[Config], tuple[Layer, ...]]] = {
    "gpt2": _gpt2,
    "llama": _llama,
    "mistral": _llama,
    "mixtral": _mixtral,
    "qwen2": _llama,
    "qwen3": _llama,
    "gemma": partial(_llama, tied=True),
    "gemma2": partial(_llama, tied=True),
    "bert": _bert,
    "roberta": _bert,
    "xlm-roberta": _bert,
    "distilbert": _distilbert,
}
"""How the layers follow from a config, by its ``model_type``."""
