"""From a Hugging Face ``config.json`` to layers: the shapes that each family of models has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from simonides import arguments
from simonides.planner.model import Layer, Model
from simonides.theory.setting import MOST_DIMENSION

_GEMMA3 = {
    "vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
}  # fmt: skip
"""What published configs of Gemma 3 leave out: the library's defaults."""

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

    def blocks(self, key: str, default: int | None = None) -> int:
        """Return how often something is repeated."""
        return self.size(key, default, most=_MOST_BLOCKS)

    def blocks_or_none(self, key: str, default: int = 0) -> int:
        """Return how often something is repeated that need not be there."""
        value = self.values.get(key, default)
        remedy = "pass a model's own config.json"
        return arguments.whole(key, value, least=0, most=_MOST_BLOCKS, remedy=remedy)

    def numbers(self, key: str) -> set[int]:
        """Return the whole numbers of a list, none where it is absent."""
        values = self.values.get(key) or []
        if not isinstance(values, list) or not all(type(value) is int for value in values):
            remedy = "pass a model's own config.json"
            raise arguments.refuse(key, values, "a list of whole numbers", remedy)
        return {*values}

    def part(self, key: str, **defaults: int) -> Config:
        """Return a config inside this one; what it leaves out are the defaults."""
        values = self.values.get(key)
        if not isinstance(values, Mapping):
            raise arguments.refuse(key, values, "an object", "pass a model's own config.json")
        return Config({**defaults, **values})

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
    vocabulary = (_gemma3_text(config) if kind == "gemma3" else config).size("vocab_size")
    layers = tuple(layer for layer in FAMILIES[kind](config) if layer.count)
    states = STATES[kind](config) if kind in STATES else ()
    return Model(source, kind, vocabulary, layers, states=states)


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
        *_gated("model.layers.*.mlp", width, inner, blocks),
        *_head(config, width, tied=tied),
    )


def _gated(home: str, width: int, inner: int, count: int) -> tuple[Layer, ...]:
    """Return the three maps of a gated network of one hidden layer."""
    return (
        Layer(f"{home}.gate_proj", width, inner, count),
        Layer(f"{home}.up_proj", width, inner, count),
        Layer(f"{home}.down_proj", inner, width, count),
    )


def _phi3(config: Config) -> tuple[Layer, ...]:
    """Return a Llama whose queries, keys and values are one map, and so are gate and up."""
    width, inner = config.size("hidden_size"), config.size("intermediate_size")
    blocks = config.blocks("num_hidden_layers")
    query, key, value, out = _grouped_attention(config)
    joined = query.dim_out + key.dim_out + value.dim_out
    return (
        Layer("model.layers.*.self_attn.qkv_proj", width, joined, blocks),
        out,
        Layer("model.layers.*.mlp.gate_up_proj", width, 2 * inner, blocks),
        Layer("model.layers.*.mlp.down_proj", inner, width, blocks),
        *_head(config, width, tied=False),
    )


def _gemma3(config: Config) -> tuple[Layer, ...]:
    """Return the layers for text and those for images."""
    text = _llama(_gemma3_text(config), tied=True)
    vision = config.part("vision_config")
    width, inner = vision.size("hidden_size"), vision.size("intermediate_size")
    blocks, home = vision.blocks("num_hidden_layers"), "model.vision_tower.encoder.layers.*"
    return (
        *(
            replace(layer, name=layer.name.replace("model.", "model.language_model.", 1))
            for layer in text
        ),
        *(
            Layer(f"{home}.self_attn.{name}", width, width, blocks)
            for name in ("q_proj", "k_proj", "v_proj", "out_proj")
        ),
        Layer(f"{home}.mlp.fc1", width, inner, blocks),
        Layer(f"{home}.mlp.fc2", inner, width, blocks),
    )


def _gemma3_text(config: Config) -> Config:
    return config.part("text_config", **_GEMMA3)


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


def _qwen3_moe(config: Config) -> tuple[Layer, ...]:
    width, blocks = config.size("hidden_size"), config.blocks("num_hidden_layers")
    step = config.blocks("decoder_sparse_step", 1)
    dense = config.numbers("mlp_only_layers")
    sparse = sum((block + 1) % step == 0 and block not in dense for block in range(blocks))
    key = "num_experts" if "num_experts" in config.values else "num_local_experts"
    return (
        *_grouped_attention(config),
        *_gated("model.layers.*.mlp", width, config.size("intermediate_size"), blocks - sparse),
        *_experts(width, config.size("moe_intermediate_size"), config.blocks(key), sparse),
        *_head(config, width, tied=False),
    )


def _deepseek_v3(config: Config) -> tuple[Layer, ...]:
    width, blocks = config.size("hidden_size"), config.blocks("num_hidden_layers")
    dense = min(config.blocks_or_none("first_k_dense_replace"), blocks)
    inner, shared = config.size("moe_intermediate_size"), config.blocks_or_none("n_shared_experts")
    sparse = blocks - dense
    return (
        *_latent_attention(config),
        *_gated("model.layers.*.mlp", width, config.size("intermediate_size"), dense),
        *_experts(width, inner, config.blocks("n_routed_experts"), sparse),
        *_gated(
            "model.layers.*.mlp.shared_experts",
            width,
            max(shared, 1) * inner,
            sparse if shared else 0,
        ),
        *_head(config, width, tied=False),
    )


def _latent_attention(config: Config) -> tuple[Layer, ...]:
    """Return the maps to queries, keys and values by way of a few dimensions, and the map back."""
    width, blocks = config.size("hidden_size"), config.blocks("num_hidden_layers")
    heads, values = config.size("num_attention_heads"), config.size("v_head_dim")
    plain, turned = config.size("qk_nope_head_dim"), config.size("qk_rope_head_dim")
    latent, home = config.size("kv_lora_rank"), "model.layers.*.self_attn"
    queries: tuple[Layer, ...]
    if config.values.get("q_lora_rank") is None:
        queries = (Layer(f"{home}.q_proj", width, heads * (plain + turned), blocks),)
    else:
        inner = config.size("q_lora_rank")
        queries = (
            Layer(f"{home}.q_a_proj", width, inner, blocks),
            Layer(f"{home}.q_b_proj", inner, heads * (plain + turned), blocks),
        )
    return (
        *queries,
        Layer(f"{home}.kv_a_proj_with_mqa", width, latent + turned, blocks),
        Layer(f"{home}.kv_b_proj", latent, heads * (plain + values), blocks),
        Layer(f"{home}.o_proj", heads * values, width, blocks),
    )


def _experts(width: int, inner: int, experts: int, blocks: int) -> tuple[Layer, ...]:
    """Return a router and its experts, as files name them."""
    return (
        Layer("model.layers.*.mlp.gate", width, experts, blocks),
        *_gated("model.layers.*.mlp.experts.*", width, inner, blocks * experts),
    )


def _gpt_neox(config: Config) -> tuple[Layer, ...]:
    width, inner = config.size("hidden_size"), config.size("intermediate_size")
    blocks, home = config.blocks("num_hidden_layers"), "gpt_neox.layers.*"
    return (
        Layer(f"{home}.attention.query_key_value", width, 3 * width, blocks),
        Layer(f"{home}.attention.dense", width, width, blocks),
        Layer(f"{home}.mlp.dense_h_to_4h", width, inner, blocks),
        Layer(f"{home}.mlp.dense_4h_to_h", inner, width, blocks),
        *_head(config, width, tied=False),
    )


def _mamba(config: Config) -> tuple[Layer, ...]:
    width, blocks = config.size("hidden_size"), config.blocks("num_hidden_layers")
    inner, state = _mamba_inner(config), config.size("state_size")
    value = config.values.get("time_step_rank")
    automatic = value is None or value == "auto"
    rank = math.ceil(width / 16) if automatic else config.size("time_step_rank")
    home = "backbone.layers.*.mixer"
    return (
        Layer(f"{home}.in_proj", width, 2 * inner, blocks),
        Layer(f"{home}.x_proj", inner, rank + 2 * state, blocks),
        Layer(f"{home}.dt_proj", rank, inner, blocks),
        Layer(f"{home}.out_proj", inner, width, blocks),
        *_head(config, width, tied=True),
    )


def _mamba_inner(config: Config) -> int:
    return config.size("intermediate_size", config.size("expand", 2) * config.size("hidden_size"))


def _mamba_states(config: Config) -> tuple[Layer, ...]:
    blocks = config.blocks("num_hidden_layers")
    return (
        Layer("backbone.layers.*.mixer", config.size("state_size"), _mamba_inner(config), blocks),
    )


def _t5(config: Config) -> tuple[Layer, ...]:
    width, inner = config.size("d_model"), config.size("d_ff")
    heads = config.size("num_heads") * config.size("d_kv")
    blocks = config.blocks("num_layers")
    gated = str(config.values.get("feed_forward_proj", "relu")).startswith("gated-")
    layers: list[Layer] = []
    for side, count, attentions in (
        ("encoder", blocks, ("SelfAttention",)),
        (
            "decoder",
            config.blocks("num_decoder_layers", blocks),
            ("SelfAttention", "EncDecAttention"),
        ),
    ):
        home = f"{side}.block.*.layer.*"
        for attention in attentions:
            layers += [Layer(f"{home}.{attention}.{name}", width, heads, count) for name in "qkv"]
            layers += [Layer(f"{home}.{attention}.o", heads, width, count)]
        for name in ("wi_0", "wi_1") if gated else ("wi",):
            layers += [Layer(f"{home}.DenseReluDense.{name}", width, inner, count)]
        layers += [Layer(f"{home}.DenseReluDense.wo", inner, width, count)]
    return (*layers, *_head(config, width, tied=True))


def _modernbert(config: Config) -> tuple[Layer, ...]:
    width, inner = config.size("hidden_size"), config.size("intermediate_size")
    blocks = config.blocks("num_hidden_layers")
    return (
        Layer("layers.*.attn.Wqkv", width, 3 * width, blocks),
        Layer("layers.*.attn.Wo", width, width, blocks),
        Layer("layers.*.mlp.Wi", width, 2 * inner, blocks),
        Layer("layers.*.mlp.Wo", inner, width, blocks),
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
    "gemma3": _gemma3,
    "gemma3_text": partial(_llama, tied=True),
    "qwen3_moe": _qwen3_moe,
    "deepseek_v3": _deepseek_v3,
    "phi3": _phi3,
    "olmo2": _llama,
    "gpt_neox": _gpt_neox,
    "mamba": _mamba,
    "t5": _t5,
    "mt5": _t5,
    "modernbert": _modernbert,
    "bert": _bert,
    "roberta": _bert,
    "xlm-roberta": _bert,
    "distilbert": _distilbert,
}
"""How the layers follow from a config, by its ``model_type``."""

STATES: dict[str, Callable[[Config], tuple[Layer, ...]]] = {"mamba": _mamba_states}
"""What a family writes anew in every text, as matrices from what is read by to what is read."""
