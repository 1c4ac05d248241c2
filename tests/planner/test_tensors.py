"""Which tensors are linear layers, which way round, and how those alike are gathered."""

import json

import pytest
from handmade import GPT2, write

from simonides.failures import BadArgumentError
from simonides.planner.model import Layer, selected
from simonides.planner.source import read_model
from simonides.planner.tensors import model_of
from simonides.tensor_files import Tensor


def shapes(**tensors: tuple[int, ...]):
    named = {name.replace("__", "."): Tensor(shape, True) for name, shape in tensors.items()}
    return model_of("made", named)


def test_gpt2_stores_its_weights_the_other_way_round(tmp_path):
    model = read_model(str(write(tmp_path / "model.safetensors", GPT2)))
    assert model.layers == (
        Layer("h.*.attn.c_attn", 8, 24, 2),
        Layer("h.*.mlp.c_proj", 32, 8, 2),
    )
    assert model.vocabulary == 50
    reasons = {one.name: one.reason for one in model.skipped}
    assert "axes" in reasons["h.0.attn.bias"]
    assert "vector" in reasons["h.0.ln_1.weight"]
    assert "table" in reasons["wte.weight"]
    assert "table" in reasons["wpe.weight"]


def test_rows_are_outputs_unless_the_bias_says_otherwise():
    model = shapes(
        plain__weight=(3, 5), biased__weight=(3, 5), biased__bias=(3,),
        turned__weight=(3, 5), turned__bias=(5,), square__weight=(4, 4), square__bias=(4,),
    )  # fmt: skip
    assert {one.name: (one.dim_in, one.dim_out) for one in model.layers} == {
        "plain": (5, 3), "biased": (5, 3), "turned": (3, 5), "square": (4, 4),
    }  # fmt: skip


def test_blocks_of_other_shapes_are_not_gathered():
    model = shapes(h__0__up__weight=(8, 4), h__1__up__weight=(6, 4), h__0__q__weight=(4, 4))
    assert [(one.name, one.dim_out, one.count) for one in model.layers] == [
        ("h.0.up", 8, 1), ("h.1.up", 6, 1), ("h.0.q", 4, 1),
    ]  # fmt: skip


def test_experts_are_counted_in_every_block():
    names = [f"layers.{i}.experts.{j}.w1.weight" for i in range(3) for j in range(4)]
    model = model_of("made", {name: Tensor((6, 5), True) for name in names})
    assert model.layers == (Layer("layers.*.experts.*.w1", 5, 6, 12),)


@pytest.mark.parametrize(
    ("name", "tensor", "reason"),
    [
        ("conv.weight", Tensor((8, 3, 5, 5), True), "axes"),
        ("experts.gate_up_proj", Tensor((4, 8, 16), True), "axes"),
        ("q_proj.qweight", Tensor((8, 16), False), "not floating point"),
        ("q_proj.lora_A.weight", Tensor((4, 16), True), "adapter"),
        ("norm.weight", Tensor((16,), True), "vector"),
        ("scale", Tensor((), True), "number"),
        ("gone.weight", Tensor((0, 16), True), "empty"),
        ("embeddings.position_embeddings.weight", Tensor((512, 16), True), "table"),
        ("block.0.relative_attention_bias.weight", Tensor((32, 8), True), "table"),
    ],
)
def test_what_is_no_linear_layer_is_named_with_its_reason(name, tensor, reason):
    model = model_of("made", {name: tensor})
    assert model.layers == ()
    assert reason in model.skipped[0].reason


def test_a_layer_called_embedding_is_known_by_its_bias():
    model = shapes(time_embed__weight=(8, 4), time_embed__bias=(8,))
    assert [layer.name for layer in model.layers] == ["time_embed"]


@pytest.mark.parametrize(
    ("tensors", "vocabulary"),
    [
        ({"model__embed_tokens__weight": (99, 4), "lm_head__weight": (77, 4)}, 99),
        ({"lm_head__weight": (77, 4)}, 77),
        ({"h__0__output__weight": (5, 4)}, None),
        ({"patch_embed__weight": (16, 4)}, None),
    ],
)
def test_the_vocabulary_is_the_table_of_tokens_or_the_head(tensors, vocabulary):
    assert shapes(**tensors).vocabulary == vocabulary


def test_several_files_with_an_index_are_one_model(tmp_path):
    parts = {"one.safetensors": {}, "two.safetensors": {}}
    for position, (name, tensor) in enumerate(GPT2.items()):
        parts[list(parts)[position % 2]][name] = tensor
    for name, tensors in parts.items():
        write(tmp_path / name, tensors)
    homes = {tensor: name for name, tensors in parts.items() for tensor in tensors}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": homes}))
    whole = read_model(str(write(tmp_path / "whole.safetensors", GPT2)))
    assert read_model(str(index)).layers == whole.layers
    assert read_model(str(index)).vocabulary == whole.vocabulary

    for name, home, reason in [
        ("more.weight", "one.safetensors", "'more.weight' is in none"),
        ("wte.weight", "two.safetensors", "'wte.weight' is not where it says"),
        ("wte.weight", "../one.safetensors", "name of a file"),
        ("wte.weight", "..", "name of a file"),
        ("wte.weight", 3, "name of a file"),
    ]:
        index.write_text(json.dumps({"weight_map": {**homes, name: home}}))
        with pytest.raises(BadArgumentError, match=reason):
            read_model(str(index))


def test_an_index_without_its_files_says_which(tmp_path):
    index = tmp_path / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"w": "gone.safetensors"}}')
    with pytest.raises(FileNotFoundError, match=r"gone\.safetensors"):
        read_model(str(index))


def test_layers_are_selected_by_a_pattern():
    model = read_model("gpt2")
    assert [one.name for one in selected(model, "*mlp*").layers] == [
        "h.*.mlp.c_fc",
        "h.*.mlp.c_proj",
    ]
    with pytest.raises(BadArgumentError, match=r"layers = 'q_proj'.*there are attn\.c_attn"):
        selected(model, "q_proj")


def test_layers_are_selected_by_the_names_that_are_printed():
    model = read_model("bert-base-uncased")
    names = {short: name for name, short in model.names.items()}
    for short, name in names.items():  # also '*.output.dense', which as a pattern fits two
        assert [layer.name for layer in selected(model, short).layers] == [name]
    both = selected(model, "*.output.dense", "*.query")
    assert [layer.name for layer in both.layers] == [
        "encoder.layer.*.attention.self.query", "encoder.layer.*.output.dense",
    ]  # fmt: skip
    assert {layer.name for layer in both.layers + both.apart} == {*names.values()}
    assert both.names == model.names


def test_the_state_of_mamba_is_no_layer():
    model = shapes(
        backbone__embeddings__weight=(50, 8), backbone__layers__0__mixer__A_log=(16, 4),
        backbone__layers__1__mixer__A_log=(16, 4), backbone__layers__0__mixer__in_proj__weight=(32, 8),
        blk__0__ssm_conv1d__weight=(16, 4), blk__0__ssm_a=(16, 4),
    )  # fmt: skip
    assert model.vocabulary == 50
    assert [layer.name for layer in model.layers] == ["backbone.layers.0.mixer.in_proj"]
    assert model.states == (
        Layer("backbone.layers.*.mixer", 4, 16, 2),
        Layer("blk.0", 4, 16),
    )
    reasons = {part.name: part.reason for part in model.skipped}
    assert "decays of a state" in reasons["backbone.layers.*.mixer.A_log"]
    assert "convolution" in reasons["blk.0.ssm_conv1d.weight"]
