"""Names and shapes of every family against the modules that the transformers library builds."""

import json
import re
from collections import Counter

import pytest
from small_models import built

from simonides.planner.families import FAMILIES, model_of


def modules(kind: str) -> tuple[Counter, dict]:
    """Return the linear modules of a small model, and its whole config."""
    model, config = built(kind)
    import torch
    import transformers

    counts: Counter = Counter()
    for name, module in model.named_modules():
        if name == "lm_head" and model.config.tie_word_embeddings:
            continue
        pattern = re.sub(r"\b\d+\b", "*", name)
        if isinstance(module, torch.nn.Linear):
            counts[pattern, module.in_features, module.out_features] += 1
        elif isinstance(module, transformers.pytorch_utils.Conv1D):
            counts[pattern, module.nx, module.nf] += 1
    return counts, config


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # theirs, not ours
@pytest.mark.parametrize("kind", FAMILIES)
def test_layers_are_the_modules_of_the_library(kind):
    linear, config = modules(kind)
    model = model_of("made", json.loads(json.dumps(config, default=str)))
    ours = {
        (layer.name, layer.dim_in, layer.dim_out): layer.count
        for layer in model.layers
        if not layer.is_stacked  # experts are stacked in memory, and stored one by one in files
    }
    assert ours == linear


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["mixtral", "qwen3_moe", "deepseek_v3"])
def test_stacked_experts_have_the_entries_of_the_layers(kind):
    small, config = built(kind)
    stacked = sum(
        weight.numel()
        for name, weight in small.named_parameters()
        if ".experts." in name or name.endswith(".mlp.gate.weight")
    )
    layers = [layer for layer in model_of("made", config).layers if layer.is_stacked]
    assert sum(layer.dim_in * layer.dim_out * layer.count for layer in layers) == stacked


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_state_of_mamba_has_the_shape_of_its_decays():
    small, config = built("mamba")
    decays = [weight.shape for name, weight in small.named_parameters() if name.endswith("A_log")]
    (state,) = model_of("made", config).states
    assert [(state.dim_out, state.dim_in)] * state.count == decays
