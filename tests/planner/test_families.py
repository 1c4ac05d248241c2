"""Shapes from configs: against the parameter counts that the models are published with, and by hand."""

import json
from pathlib import Path

import pytest

from simonides.failures import BadArgumentError
from simonides.planner.catalogue import CONFIGS
from simonides.planner.families import FAMILIES, model_of
from simonides.planner.model import Layer
from simonides.planner.source import read_model

PUBLISHED = {
    "distilgpt2": 81_912_576,
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
    "all-minilm-l6-v2": 22_713_216,
    "bert-base-uncased": 109_482_240,
    "bert-large-uncased": 335_141_888,
    "roberta-base": 124_645_632,
    "roberta-large": 355_359_744,
    "tinyllama-1.1b": 1_100_048_384,
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "mistral-7b": 7_241_732_096,
    "mistral-nemo-12b": 12_247_782_400,
    "mixtral-8x7b": 46_702_792_704,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-0.6b": 596_049_920,
    "qwen3-1.7b": 1_720_574_976,
    "qwen3-4b": 4_022_468_096,
    "qwen3-8b": 8_190_735_360,
    "qwen3-14b": 14_768_307_200,
    "qwen3-32b": 32_762_123_264,
    "smollm2-135m": 134_515_008,
    "smollm2-360m": 361_821_120,
    "smollm2-1.7b": 1_711_376_384,
    "phi-3-mini-4k": 3_821_079_552,
    "gemma-2-2b": 2_614_341_888,
    "gemma-2-9b": 9_241_705_984,
    "gemma-3-1b": 999_885_952,
    "olmo-2-1124-7b": 7_298_617_344,
    "mistral-7b-v0.3": 7_248_023_552,
    "pythia-70m": 70_426_624,
    "pythia-160m": 162_322_944,
    "pythia-410m": 405_334_016,
    "pythia-1.4b": 1_414_647_808,
    "pythia-6.9b": 6_857_302_016,
    "mamba-130m": 129_135_360,
    "mamba-2.8b": 2_768_345_600,
    "t5-small": 60_506_624,
    "t5-base": 222_903_552,
    "t5-large": 737_668_096,
    "modernbert-base": 149_014_272,
    "modernbert-large": 394_781_696,
    "qwen3-30b-a3b": 30_532_122_624,
    "deepseek-v3": 671_026_419_200,
}
"""Parameters of the whole model, a tied head counted once."""


def beside_the_layers(config: dict) -> int:
    """Return the parameters that are no linear map: tables, norms and biases."""
    kind, vocabulary = config["model_type"], config["vocab_size"]
    if kind == "gpt2":
        width, blocks = config["n_embd"], config["n_layer"]
        biases, norms = 9 * width, 4 * width
        return blocks * (biases + norms) + 2 * width + (vocabulary + 1024) * width
    if kind == "t5":
        # Norms of 2 and 3 parts in a block and at each end; positions of encoder and decoder, by head.
        width, blocks = config["d_model"], config["num_layers"]
        return (5 * blocks + 2) * width + 2 * 32 * config["num_heads"] + vocabulary * width
    width, blocks = config["hidden_size"], config["num_hidden_layers"]
    if kind == "gpt_neox":
        biases, norms = 5 * width + config["intermediate_size"], 4 * width
        return blocks * (biases + norms) + 2 * width + vocabulary * width
    if kind == "mamba":
        inner = (
            2 * width
        )  # its decays, skip, convolution of four steps with bias, and bias of steps
        own = inner * (config["state_size"] + 1 + 4 + 1 + 1) + width
        return blocks * own + width + vocabulary * width
    if kind == "modernbert":  # no norm before the first attention
        return (2 * blocks - 1) * width + 2 * width + vocabulary * width
    if kind == "deepseek_v3":
        own = 2 * width + config["q_lora_rank"] + config["kv_lora_rank"]
        routed = blocks - config["first_k_dense_replace"]
        return blocks * own + routed * config["n_routed_experts"] + width + vocabulary * width
    if kind in ("bert", "roberta"):
        positions, kinds = (512, 2) if kind == "bert" else (514, 1)
        biases, norms = 5 * width + config["intermediate_size"], 4 * width
        tables = (vocabulary + positions + kinds) * width
        return blocks * (biases + norms) + tables + 2 * width + width
    heads, shared = config["num_attention_heads"], config["num_key_value_heads"]
    own = {
        "qwen2": (heads + 2 * shared) * config["head_dim"],  # biases of query, key and value
        "qwen3": 2 * config["head_dim"],  # norms of query and key
        "qwen3_moe": 2 * config["head_dim"],
        "gemma2": 2 * width,  # norms after, too
        "gemma3_text": 2 * width + 2 * config["head_dim"],
        "olmo2": (heads + shared) * config["head_dim"],
    }
    return blocks * (2 * width + own.get(kind, 0)) + width + vocabulary * width


@pytest.mark.parametrize("name", CONFIGS)
def test_the_layers_make_up_the_published_parameters(name):
    model = read_model(name)
    linear = sum(one.dim_in * one.dim_out * one.count for one in model.layers)
    assert linear + beside_the_layers(CONFIGS[name]) == PUBLISHED[name]
    assert model.vocabulary == CONFIGS[name]["vocab_size"]


LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 500,
}


def test_query_heads_that_share_keys_make_narrow_projections():
    assert model_of("made", LLAMA).layers == (
        Layer("model.layers.*.self_attn.q_proj", 64, 64, 3),
        Layer("model.layers.*.self_attn.k_proj", 64, 16, 3),
        Layer("model.layers.*.self_attn.v_proj", 64, 16, 3),
        Layer("model.layers.*.self_attn.o_proj", 64, 64, 3),
        Layer("model.layers.*.mlp.gate_proj", 64, 160, 3),
        Layer("model.layers.*.mlp.up_proj", 64, 160, 3),
        Layer("model.layers.*.mlp.down_proj", 160, 64, 3),
        Layer("lm_head", 64, 500, 1),
    )


def test_a_head_dimension_may_differ_from_the_width_over_the_heads():
    layers = {one.name: one for one in model_of("made", {**LLAMA, "head_dim": 24}).layers}
    assert layers["model.layers.*.self_attn.q_proj"].dim_out == 8 * 24
    assert layers["model.layers.*.self_attn.v_proj"].dim_out == 2 * 24
    assert layers["model.layers.*.self_attn.o_proj"].dim_in == 8 * 24


def test_a_tied_head_is_no_layer_of_its_own():
    names = {one.name for one in model_of("made", {**LLAMA, "tie_word_embeddings": True}).layers}
    assert "lm_head" not in names
    gemma = {**LLAMA, "model_type": "gemma2"}
    assert "lm_head" not in {one.name for one in model_of("made", gemma).layers}


def test_experts_and_their_router():
    mixtral = {**LLAMA, "model_type": "mixtral", "num_local_experts": 4}
    layers = {one.name: one for one in model_of("made", mixtral).layers}
    assert layers["model.layers.*.block_sparse_moe.gate"].dim_out == 4
    expert = layers["model.layers.*.block_sparse_moe.experts.*.w2"]
    assert (expert.dim_in, expert.dim_out, expert.count) == (160, 64, 12)


def test_distilbert_has_names_of_its_own():
    config = {
        "model_type": "distilbert",
        "dim": 8,
        "hidden_dim": 32,
        "n_layers": 2,
        "vocab_size": 9,
    }
    linear = sum(one.dim_in * one.dim_out * one.count for one in model_of("made", config).layers)
    assert linear == 2 * (4 * 8 * 8 + 2 * 8 * 32)


BAD = [
    ({"model_type": "rwkv"}, "model_type = 'rwkv'.*safetensors"),
    ({"model_type": 3}, "model_type = 3"),
    ({"model_type": None}, "model_type = None"),
    ({"hidden_size": "64"}, "hidden_size = '64'"),
    ({"hidden_size": None}, "hidden_size = None"),
    ({"hidden_size": 0}, "hidden_size = 0"),
    ({"hidden_size": 1e300}, "hidden_size = 1e\\+300"),
    ({"vocab_size": None}, "vocab_size = None"),
    ({"num_hidden_layers": 10**9}, "num_hidden_layers = 1000000000"),
    ({"num_attention_heads": 7}, "num_attention_heads = 7.*head_dim"),
    ({"num_key_value_heads": -1}, "num_key_value_heads = -1"),
    ({"intermediate_size": True}, "intermediate_size = True"),
    ({"intermediate_size": [160]}, "intermediate_size"),
    ({"model_type": "qwen3_moe", "mlp_only_layers": 3}, "mlp_only_layers = 3"),
    ({"model_type": "gemma3", "text_config": []}, r"text_config = \[\]"),
    ({"tie_word_embeddings": "yes"}, "tie_word_embeddings = 'yes'"),
]


@pytest.mark.parametrize(("change", "named"), BAD, ids=[str(change) for change, _ in BAD])
def test_a_bad_value_is_refused_by_its_key(change, named):
    with pytest.raises(BadArgumentError, match=named):
        model_of("made", {**LLAMA, **change})


def test_every_family_names_the_first_key_that_is_missing():
    with pytest.raises(BadArgumentError, match="text_config = None must be an object"):
        model_of("made", {"model_type": "gemma3"})
    for kind in FAMILIES.keys() - {"gemma3"}:
        with pytest.raises(BadArgumentError, match="vocab_size = None"):
            model_of("made", {"model_type": kind})
        with pytest.raises(BadArgumentError, match="= None must be a whole number"):
            model_of("made", {"model_type": kind, "vocab_size": 9})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("[]", "holds a list"),
        ("{}", "no model_type"),
        ('{"model_type": "gpt2", "model_type": "bert"}', "occurs twice"),
        ('{"model_type": "llama", "hidden_size": NaN}', "NaN"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_is_no_config(tmp_path, text, reason):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(BadArgumentError, match=reason):
        read_model(str(path))


def test_a_config_file_is_read(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    model = read_model(str(path))
    assert model.layers == model_of("made", LLAMA).layers
    assert (model.family, model.vocabulary, model.source) == ("llama", 500, str(path))


def test_a_vast_text_is_not_read_whole(tmp_path):
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(BadArgumentError, match="at most 100,000,000 bytes"):
        read_model(str(path))


@pytest.mark.parametrize("size", ["8b", "70b"])
def test_llama_3_1_has_the_shapes_of_llama_3(size):
    newer = read_model(f"llama-3.1-{size}")
    assert newer.layers == read_model(f"llama-3-{size}").layers
    assert newer.vocabulary == 128256


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("GPT2", "gpt2"),
        ("openai-community/gpt2", "gpt2"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"),
        ("meta-llama/Llama-3-8B", "llama-3-8b"),
        ("meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"),
        ("mistralai/Mistral-7B-Instruct-v0.1", "mistral-7b"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"),
        ("google-bert/bert-base-uncased", "bert-base-uncased"),
        ("google/gemma-2-9b-it", "gemma-2-9b"),
        ("Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b"),
        ("state-spaces/mamba-130m-hf", "mamba-130m"),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", "smollm2-135m"),
    ],
)
def test_names_are_known_as_on_the_hub_and_in_any_case(name, known):
    model = read_model(name)
    assert model.source == known
    assert model.vocabulary == CONFIGS[known]["vocab_size"]


def test_versions_with_another_vocabulary_are_not_confused():
    assert read_model("mistral-7b").vocabulary != read_model("mistral-7b-v0.3").vocabulary
    with pytest.raises(BadArgumentError, match="known name"):
        read_model("mistral-7b-v0.9")


def test_an_unknown_name_gets_suggestions_and_the_list():
    with pytest.raises(BadArgumentError, match=r"gpt2-xl.*llama-3-8b.*qwen3-32b"):
        read_model("gpt5")
    with pytest.raises(BadArgumentError, match="did you mean llama-3-8b or "):
        read_model("meta-llama/Lama-3-8B")
    with pytest.raises(BadArgumentError, match=r"known name: known are distilgpt2"):
        read_model("zzzz")


def test_a_name_may_be_a_path():
    assert read_model(Path("gpt2")) == read_model("gpt2")
