"""The dimensions of well-known models, so that they can be asked about by name and without a file."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

_GPT2 = {  # n_embd, n_layer
    "distilgpt2": (768, 6),
    "gpt2": (768, 12),
    "gpt2-medium": (1024, 24),
    "gpt2-large": (1280, 36),
    "gpt2-xl": (1600, 48),
}

_ENCODERS = {  # model_type, hidden_size, num_hidden_layers, intermediate_size, vocab_size
    "all-minilm-l6-v2": ("bert", 384, 6, 1536, 30522),
    "bert-base-uncased": ("bert", 768, 12, 3072, 30522),
    "bert-large-uncased": ("bert", 1024, 24, 4096, 30522),
    "roberta-base": ("roberta", 768, 12, 3072, 50265),
    "roberta-large": ("roberta", 1024, 24, 4096, 50265),
}

# hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads, head_dim, intermediate_size,
# vocab_size, tie_word_embeddings
_DECODERS = {
    "llama": {
        "smollm2-135m": (576, 30, 9, 3, 64, 1536, 49152, True),
        "smollm2-360m": (960, 32, 15, 5, 64, 2560, 49152, True),
        "smollm2-1.7b": (2048, 24, 32, 32, 64, 8192, 49152, True),
        "tinyllama-1.1b": (2048, 22, 32, 4, 64, 5632, 32000, False),
        "llama-2-7b": (4096, 32, 32, 32, 128, 11008, 32000, False),
        "llama-2-13b": (5120, 40, 40, 40, 128, 13824, 32000, False),
        "llama-2-70b": (8192, 80, 64, 8, 128, 28672, 32000, False),
        "llama-3-8b": (4096, 32, 32, 8, 128, 14336, 128256, False),
        "llama-3-70b": (8192, 80, 64, 8, 128, 28672, 128256, False),
        "llama-3.1-8b": (4096, 32, 32, 8, 128, 14336, 128256, False),
        "llama-3.1-70b": (8192, 80, 64, 8, 128, 28672, 128256, False),
        "llama-3.2-1b": (2048, 16, 32, 8, 64, 8192, 128256, True),
        "llama-3.2-3b": (3072, 28, 24, 8, 128, 8192, 128256, True),
    },
    "phi3": {
        "phi-3-mini-4k": (3072, 32, 32, 32, 96, 8192, 32064, False),
    },
    "gemma2": {
        "gemma-2-2b": (2304, 26, 8, 4, 256, 9216, 256000, True),
        "gemma-2-9b": (3584, 42, 16, 8, 256, 14336, 256000, True),
    },
    "gemma3_text": {
        "gemma-3-1b": (1152, 26, 4, 1, 256, 6912, 262144, True),
    },
    "olmo2": {
        "olmo-2-1124-7b": (4096, 32, 32, 32, 128, 11008, 100352, False),
    },
    "mistral": {
        "mistral-7b": (4096, 32, 32, 8, 128, 14336, 32000, False),
        "mistral-7b-v0.3": (4096, 32, 32, 8, 128, 14336, 32768, False),
        "mistral-nemo-12b": (5120, 40, 32, 8, 128, 14336, 131072, False),
    },
    "mixtral": {
        "mixtral-8x7b": (4096, 32, 32, 8, 128, 14336, 32000, False),
    },
    "qwen2": {
        "qwen2.5-0.5b": (896, 24, 14, 2, 64, 4864, 151936, True),
        "qwen2.5-1.5b": (1536, 28, 12, 2, 128, 8960, 151936, True),
        "qwen2.5-3b": (2048, 36, 16, 2, 128, 11008, 151936, True),
        "qwen2.5-7b": (3584, 28, 28, 4, 128, 18944, 152064, False),
        "qwen2.5-14b": (5120, 48, 40, 8, 128, 13824, 152064, False),
        "qwen2.5-32b": (5120, 64, 40, 8, 128, 27648, 152064, False),
        "qwen2.5-72b": (8192, 80, 64, 8, 128, 29568, 152064, False),
    },
    "qwen3": {
        "qwen3-0.6b": (1024, 28, 16, 8, 128, 3072, 151936, True),
        "qwen3-1.7b": (2048, 28, 16, 8, 128, 6144, 151936, True),
        "qwen3-4b": (2560, 36, 32, 8, 128, 9728, 151936, True),
        "qwen3-8b": (4096, 36, 32, 8, 128, 12288, 151936, False),
        "qwen3-14b": (5120, 40, 40, 8, 128, 17408, 151936, False),
        "qwen3-32b": (5120, 64, 64, 8, 128, 25600, 151936, False),
    },
}

_OTHERS: dict[str, dict[str, Any]] = {
    **{
        f"pythia-{size}": {
            "model_type": "gpt_neox", "hidden_size": width, "num_hidden_layers": blocks,
            "intermediate_size": 4 * width, "vocab_size": vocabulary,
        }
        for size, width, blocks, vocabulary in (
            ("70m", 512, 6, 50304), ("160m", 768, 12, 50304), ("410m", 1024, 24, 50304),
            ("1.4b", 2048, 24, 50304), ("6.9b", 4096, 32, 50432),
        )
    },
    **{
        f"mamba-{size}": {
            "model_type": "mamba", "hidden_size": width, "num_hidden_layers": blocks, "state_size": 16,
            "expand": 2, "time_step_rank": width // 16, "vocab_size": 50280,
        }
        for size, width, blocks in (("130m", 768, 24), ("2.8b", 2560, 64))
    },
    **{
        f"t5-{size}": {
            "model_type": "t5", "d_model": width, "num_layers": blocks, "d_ff": 4 * width,
            "num_heads": heads, "d_kv": 64, "vocab_size": 32128,
        }
        for size, width, blocks, heads in (
            ("small", 512, 6, 8), ("base", 768, 12, 12), ("large", 1024, 24, 16),
        )
    },
    **{
        f"modernbert-{size}": {
            "model_type": "modernbert", "hidden_size": width, "num_hidden_layers": blocks,
            "intermediate_size": inner, "vocab_size": 50368,
        }
        for size, width, blocks, inner in (("base", 768, 22, 1152), ("large", 1024, 28, 2624))
    },
    "qwen3-30b-a3b": {
        "model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 48,
        "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 6144,
        "moe_intermediate_size": 768, "num_experts": 128, "vocab_size": 151936,
    },
    "deepseek-v3": {
        "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61,
        "num_attention_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128, "v_head_dim": 128, "intermediate_size": 18432,
        "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
        "first_k_dense_replace": 3, "vocab_size": 129280,
    },
}  # fmt: skip
"""The same for families whose configs have keys of their own."""

_DECODER_KEYS = (
    "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
    "intermediate_size", "vocab_size", "tie_word_embeddings",
)  # fmt: skip
_ENCODER_KEYS = (
    "model_type", "hidden_size", "num_hidden_layers", "intermediate_size", "vocab_size",
)  # fmt: skip

_EXPERTS = 8
"""Of Mixtral 8x7B, by its published config."""

_GPT2_VOCABULARY = 50257
"""Of all sizes of GPT-2, by their published configs."""


def _configs() -> dict[str, dict[str, Any]]:
    configs: dict[str, dict[str, Any]] = {}
    for name, (width, blocks) in _GPT2.items():
        configs[name] = {
            "model_type": "gpt2", "n_embd": width, "n_layer": blocks, "vocab_size": _GPT2_VOCABULARY,
        }  # fmt: skip
    for name, encoder in _ENCODERS.items():
        configs[name] = dict(zip(_ENCODER_KEYS, encoder, strict=True))
    for family, decoders in _DECODERS.items():
        for name, decoder in decoders.items():
            configs[name] = {"model_type": family, **dict(zip(_DECODER_KEYS, decoder, strict=True))}
            if family == "mixtral":
                configs[name]["num_local_experts"] = _EXPERTS
    return configs | _OTHERS


CONFIGS = _configs()
"""For each name the keys that its config.json would hold."""

_TUNED = {"instruct", "chat", "it", "pt", "hf", "base", "meta"}
"""Parts of names on the hub that say how a model was trained or stored: its shapes are the same."""

_ALIASES = {
    "mistral-7b-v0.1": "mistral-7b",
    "mistral-7b-v0.2": "mistral-7b",
    "mistral-nemo-2407": "mistral-nemo-12b",
    "mixtral-8x7b-v0.1": "mixtral-8x7b",
    "tinyllama-1.1b-v1.0": "tinyllama-1.1b",
    "phi-3-mini": "phi-3-mini-4k",
}
"""Names on the hub of models that are known by another."""


def known_name(name: str) -> str | None:
    """Return the name in ``CONFIGS`` of a model as people write it, or None.

    >>> known_name("meta-llama/Meta-Llama-3-8B-Instruct")
    'llama-3-8b'
    """
    last = name.lower().rpartition("/")[2]
    plain = "-".join(part for part in last.split("-") if part not in _TUNED)
    return next(
        (
            known
            for known in (last, plain, _ALIASES.get(last), _ALIASES.get(plain))
            if known in CONFIGS
        ),
        None,
    )


def near_names(name: str) -> list[str]:
    """Return known names that are spelt almost like one, the nearest first.

    >>> near_names("lama-3-8b")[0]
    'llama-3-8b'
    """
    last = name.lower().rpartition("/")[2]
    return get_close_matches(last, CONFIGS, n=3, cutoff=0.7)
