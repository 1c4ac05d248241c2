"""Small models of every family, as the transformers library builds them from a config."""

from typing import Any

import pytest

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "vocab_size": 500,
}
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
GROUPED = {**SIZES, "num_key_value_heads": 2, **TOKENS}
DECODER = {**GROUPED, "head_dim": 24}
T5 = {
    "d_model": 64, "d_kv": 10, "d_ff": 160, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 8,
    "vocab_size": 500, **TOKENS,
}  # fmt: skip
LATENT = {
    "kv_lora_rank": 16, "q_lora_rank": 24, "qk_rope_head_dim": 8, "qk_nope_head_dim": 10, "v_head_dim": 12,
}  # fmt: skip
SMALL: dict[str, dict[str, Any]] = {
    **dict.fromkeys(
        ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text"), DECODER
    ),
    **dict.fromkeys(("phi3", "olmo2"), GROUPED),
    **dict.fromkeys(("bert", "roberta", "xlm-roberta"), SIZES),
    "gpt_neox": {**SIZES, **TOKENS},
    "modernbert": {**SIZES, **TOKENS, "cls_token_id": 3, "sep_token_id": 4},
    "mixtral": {**DECODER, "num_local_experts": 4},
    "qwen3_moe": {
        **DECODER, "num_hidden_layers": 4, "num_experts": 4, "moe_intermediate_size": 32,
        "decoder_sparse_step": 2, "mlp_only_layers": [3],
    },
    "deepseek_v3": {
        **SIZES, **TOKENS, **LATENT, "num_hidden_layers": 3, "num_key_value_heads": 8,
        "first_k_dense_replace": 1, "moe_intermediate_size": 32, "n_routed_experts": 8,
        "n_shared_experts": 2, "n_group": 2, "topk_group": 1,
    },
    "gemma3": {
        "text_config": DECODER,
        "vision_config": {
            "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
            "num_attention_heads": 4, "image_size": 28, "patch_size": 14, "vision_use_head": False,
        },
    },
    "mamba": {"hidden_size": 64, "num_hidden_layers": 2, "state_size": 16, "vocab_size": 500, **TOKENS},
    "t5": {**T5, "feed_forward_proj": "relu"},
    "mt5": {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    "gpt2": {"n_embd": 64, "n_layer": 2, "n_head": 8, "vocab_size": 500, **TOKENS},
    "distilbert": {"dim": 64, "hidden_dim": 160, "n_layers": 2, "n_heads": 8, "vocab_size": 500},
}  # fmt: skip

FRONTS = {"t5": "Seq2SeqLM", "mt5": "Seq2SeqLM", "gemma3": "ImageTextToText"}
ENCODERS = ("bert", "roberta", "xlm-roberta", "distilbert", "modernbert", "gpt2")
"""Built without a head, as the planner reads their configs."""


def built(kind: str, device: str = "meta") -> tuple[Any, dict[str, Any]]:
    """Return a small model with random weights, on ``meta`` without any, and its whole config."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers", reason="comes with the extra 'examples'")
    config = transformers.AutoConfig.for_model(kind, **SMALL[kind])
    front = "AutoModel" if kind in ENCODERS else f"AutoModelFor{FRONTS.get(kind, 'CausalLM')}"
    with torch.device(device):
        model = getattr(transformers, front).from_config(config)
    return model, config.to_dict()
