"""Architectures read from config.json."""

import json
import math
import warnings

import pytest

from simonides.signal import PoorTheoryWarning, read_config
from simonides.signal.models.reading import of_config

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
    architecture = read_config(path)
    assert (architecture.dim, architecture.layers, architecture.heads, architecture.hidden) == (
        768,
        12,
        12,
        3072,
    )
    assert (
        architecture.tokens,
        architecture.norm,
        architecture.activation,
        architecture.causal,
    ) == (
        512,
        "post",
        "gelu",
        False,
    )
    assert architecture.beta == pytest.approx(0.123, abs=5e-4)
    assert architecture.value_variance == pytest.approx(768 * 0.0004)
    assert architecture.output_variance == pytest.approx(768 * 0.0004)
    assert architecture.mlp_out_variance == pytest.approx(3072 * 0.0004)


def test_gpt2_normalises_first_masks_and_writes_less():
    architecture = of_config(GPT2)
    assert (architecture.norm, architecture.causal, architecture.hidden_dim) == ("pre", True, 3072)
    assert architecture.output_variance == pytest.approx(768 * 0.0004 / 24)
    assert architecture.beta == pytest.approx(768 * 0.0004 / math.sqrt(math.log(1024)))


def test_changes_win():
    architecture = of_config(BERT, tokens=128, norm="pre", beta=1.0, activation=None)
    assert (architecture.tokens, architecture.norm, architecture.beta, architecture.activation) == (
        128,
        "pre",
        1.0,
        None,
    )


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({**BERT, "hidden_act": "silu"}, "activation = 'silu'"),
        ({**BERT, "model_type": "novel"}, "model_type = 'novel' must be one of"),
        ({"model_type": "bert"}, "bert without dim"),
        ({**BERT, "initializer_range": -1}, "initializer_range = -1"),
        ({**BERT, "initializer_range": 1e300}, r"initializer_range = 1e\+300"),
        ({**BERT, "hidden_size": "large"}, "dim = 'large'"),
        ({**BERT, "intermediate_size": "3072"}, "hidden = '3072'"),
        ({**BERT, "model_type": "gptj"}, "model_type = 'gptj' must be one of"),
    ],
)
def test_what_cannot_be_read_is_named(config, named):
    with pytest.raises(ValueError, match=named):
        of_config(config)


@pytest.mark.parametrize(
    "text", ["{", "[1, 2]", "\x00", '{"dim":' * 10**5, '{"n_embd": ' + "9" * 5000 + "}"]
)
def test_files_that_are_no_configuration(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="config = "):
        read_config(path)


OPT = {
    "model_type": "opt",
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "ffn_dim": 4096,
    "max_position_embeddings": 2048,
    "activation_function": "relu",
    "init_std": 0.01,
}


def test_opt_says_how_it_is_drawn_and_where_it_normalises():
    usual, other = (of_config({**OPT, "do_layer_norm_before": first}) for first in (True, False))
    assert (usual.norm, other.norm) == ("pre", "post")
    assert usual.causal
    assert usual.value_variance == pytest.approx(1024 * 0.01**2)


def test_weights_may_start_at_zero():
    assert of_config({**BERT, "initializer_range": 0}).beta == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "albert"}, "share their weights"),
        ({"position_embedding_type": "relative_key"}, "positions enter the scores"),
        ({"rope_theta": 10_000.0}, "positions enter the scores"),
        ({"scale_attn_by_inverse_layer_idx": True}, "divided by the number of the layer"),
    ],
)
def test_what_theory_leaves_out_is_said(change, said):
    with pytest.warns(PoorTheoryWarning, match=said):
        of_config({**BERT, **change})


def test_what_theory_covers_is_read_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bert = of_config({**BERT, "position_embedding_type": "absolute"})
        gpt2 = of_config({**GPT2, "scale_attn_by_inverse_layer_idx": False})
    assert (bert, gpt2) == (of_config(BERT), of_config(GPT2))
