"""Names and shapes of every family against the modules that the transformers library builds."""

import re
from collections import Counter

import pytest

from simonides.planner.families import FAMILIES, model_of

DECODER = {
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 24,
    "vocab_size": 500,
}
ENCODER = {
    key: value for key, value in DECODER.items() if key not in ("num_key_value_heads", "head_dim")
}
SMALL = {
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2"), DECODER),
    **dict.fromkeys(("bert", "roberta", "xlm-roberta"), ENCODER),
    "mixtral": {**DECODER, "num_local_experts": 4},
    "gpt2": {"n_embd": 64, "n_layer": 2, "n_head": 8, "vocab_size": 500},
    "distilbert": {"dim": 64, "hidden_dim": 160, "n_layers": 2, "n_heads": 8, "vocab_size": 500},
}


def modules(kind: str) -> tuple[Counter, dict]:
    """Return the linear modules of a small model, without their weights, and its whole config."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers", reason="comes with the extra 'examples'")
    config = transformers.AutoConfig.for_model(kind, **SMALL[kind])
    has_head = SMALL[kind].keys() >= DECODER.keys()
    front = transformers.AutoModelForCausalLM if has_head else transformers.AutoModel
    with torch.device("meta"):
        model = front.from_config(config)
    counts: Counter = Counter()
    for name, module in model.named_modules():
        if name == "lm_head" and config.tie_word_embeddings:
            continue
        pattern = re.sub(r"\b\d+\b", "*", name)
        if isinstance(module, torch.nn.Linear):
            counts[pattern, module.in_features, module.out_features] += 1
        elif isinstance(module, transformers.pytorch_utils.Conv1D):
            counts[pattern, module.nx, module.nf] += 1
    return counts, config.to_dict()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # theirs, not ours
@pytest.mark.parametrize("kind", FAMILIES)
def test_layers_are_the_modules_of_the_library(kind):
    built, config = modules(kind)
    ours = {
        (one.name, one.dim_in, one.dim_out): one.count for one in model_of("made", config).layers
    }
    if kind == "mixtral":  # its experts are stacked in memory, and stored one by one in files
        ours = {key: count for key, count in ours.items() if "block_sparse_moe" not in key[0]}
    assert ours == built
