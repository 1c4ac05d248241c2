"""The dimensions of well-known models, so that they can be asked about by name and without a file."""

from __future__ import annotations

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
    "mistral": {
        "mistral-7b": (4096, 32, 32, 8, 128, 14336, 32000, False),
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
    return configs


CONFIGS = _configs()
"""For each name the keys that its config.json would hold."""
