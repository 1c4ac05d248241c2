"""Architectures read from config.json."""

import json
import math

import pytest

from simonides.signal import read_config
from simonides.signal.config import of_config

BERT = {
    "model_type": "bert",
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "hidden_act": "gelu",
    "initializer_range": 0.02,
}
GPT2 = {
    "model_type": "gpt2",
    "n_embd": 768,
    "n_layer": 12,
    "n_head": 12,
    "n_inner": None,
    "n_positions": 1024,
    "activation_function": "gelu_new",
    "initializer_range": 0.02,
}


def test_bert(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(BERT))
    found = read_config(path)
    assert (found.dim, found.layers, found.heads, found.hidden) == (768, 12, 12, 3072)
    assert (found.tokens, found.norm, found.activation, found.causal) == (
        512,
        "post",
        "gelu",
        False,
    )
    assert found.beta == pytest.approx(0.123, abs=5e-4)
    assert found.value_variance == pytest.approx(768 * 0.0004)
    assert found.output_variance == pytest.approx(768 * 0.0004)
    assert found.mlp_out_variance == pytest.approx(3072 * 0.0004)


def test_gpt2_normalises_first_masks_and_writes_less():
    found = of_config(GPT2)
    assert (found.norm, found.causal, found.hidden_dim) == ("pre", True, 3072)
    assert found.output_variance == pytest.approx(768 * 0.0004 / 24)
    assert found.beta == pytest.approx(768 * 0.0004 / math.sqrt(math.log(1024)))


def test_changes_win():
    found = of_config(BERT, tokens=128, norm="pre", beta=1.0, activation=None)
    assert (found.tokens, found.norm, found.beta, found.activation) == (128, "pre", 1.0, None)


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({**BERT, "hidden_act": "silu"}, "activation = 'silu'"),
        ({**BERT, "model_type": "novel"}, "model_type = 'novel' must be one of"),
        ({"model_type": "bert"}, "bert without dim"),
        ({**BERT, "initializer_range": -1}, "initializer_range = -1"),
        ({**BERT, "hidden_size": "large"}, "dim = 'large'"),
    ],
)
def test_what_cannot_be_read_is_named(config, named):
    with pytest.raises(ValueError, match=named):
        of_config(config)


@pytest.mark.parametrize("text", ["{", "[1, 2]", "\x00"])
def test_files_that_are_no_configuration(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="config = "):
        read_config(path)
