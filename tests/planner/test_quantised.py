"""Quantised weights: counted where their shape is the layer's, refused where it is not."""

import pytest
from handmade import write

from simonides.failures import BadArgumentError
from simonides.planner.model import Layer
from simonides.planner.source import read_model
from simonides.planner.tensors import model_of
from simonides.tensor_files import Tensor

TOP = {"model.embed_tokens.weight": ("BF16", [50, 64]), "lm_head.weight": ("BF16", [50, 64])}


def blocks(**parts: tuple[str, list[int]]) -> dict:
    """Return the parts of a query projection in two blocks."""
    return {
        f"model.layers.{block}.self_attn.q_proj.{name}": part
        for block in range(2)
        for name, part in parts.items()
    }


@pytest.mark.parametrize("kind", ["F8_E4M3", "F8_E5M2"])
@pytest.mark.parametrize(
    ("scale", "shape"), [("weight_scale_inv", [2, 1]), ("weight_scale", [96, 1])]
)
def test_weights_of_eight_bits_are_the_layers_they_are(tmp_path, kind, scale, shape):
    parts = blocks(weight=(kind, [96, 64]), **{scale: ("F32", shape)})
    model = read_model(str(write(tmp_path / "model.safetensors", {**TOP, **parts})))
    assert model.layers == (
        Layer("lm_head", 64, 50),
        Layer("model.layers.*.self_attn.q_proj", 64, 96, 2),
    )
    assert (
        "scales"
        in {one.name: one.reason for one in model.skipped}[
            f"model.layers.*.self_attn.q_proj.{scale}"
        ]
    )


PACKED = {
    "GPTQ": blocks(
        qweight=("I32", [8, 96]), qzeros=("I32", [2, 12]), scales=("F16", [2, 96]), g_idx=("I32", [64]),
    ),
    "AWQ": blocks(qweight=("I32", [64, 12]), qzeros=("I32", [2, 12]), scales=("F16", [2, 96])),
    "compressed": blocks(
        weight_packed=("I32", [96, 8]), weight_scale=("BF16", [96, 2]), weight_shape=("I64", [2]),
    ),
    "two in a byte": blocks(
        weight=("U8", [96, 32]), weight_scale=("F8_E4M3", [96, 4]), weight_scale_2=("F32", []),
    ),
    "MLX": blocks(weight=("I32", [96, 8]), scales=("F16", [96, 2]), biases=("F16", [96, 2])),
    "another name": blocks(W_q=("U8", [32, 96]), scale=("F16", [96, 1]), zero=("F16", [96, 1])),
}  # fmt: skip


@pytest.mark.parametrize("parts", PACKED.values(), ids=PACKED)
def test_packed_integers_are_refused_by_name(tmp_path, parts):
    path = write(tmp_path / "model.safetensors", {**TOP, **parts})
    with pytest.raises(BadArgumentError) as caught:
        read_model(str(path))
    said = str(caught.value)
    first = next(iter(parts)).replace("layers.0", "layers.*")
    assert f"the shapes of {first} (2 matrices) need not be" in said
    assert "pass the model's config.json" in said


def test_a_refusal_does_not_name_them_without_end(tmp_path):
    parts = {f"part{number}.qweight": ("I32", [4, 8]) for number in range(20)}
    with pytest.raises(BadArgumentError, match=r"part15\.qweight and 12 more \(20 matrices\)"):
        read_model(str(write(tmp_path / "model.safetensors", parts)))


def test_indices_and_masks_are_not_taken_for_packed_weights():
    model = model_of(
        "made",
        {
            "fc.weight": Tensor((6, 4), True),
            "position_ids": Tensor((1, 512), False),
            "logit_scale": Tensor((), True),
            "attn.bias": Tensor((1, 1, 16, 16), False),
            "modulation.scale.weight": Tensor((8, 4), True),
        },
    )
    assert [one.name for one in model.layers] == ["fc", "modulation.scale"]
    reasons = {one.name: one.reason for one in model.skipped}
    assert "indices" in reasons["position_ids"]
    assert "mask" in reasons["attn.bias"]
