"""Adapters, folders and files of other kinds: what is read of each, and what is said of the rest."""

import json
import pickle
import zipfile

import numpy as np
import pytest
from gguf_made import write as write_gguf
from handmade import GPT2, entries, write, write_raw

from simonides.failures import BadArgumentError
from simonides.planner.model import Layer
from simonides.planner.plan import plan
from simonides.planner.recommend import recommend
from simonides.planner.source import read_model
from simonides.theory.capacity import capacity

ATTENTION = "base_model.model.model.layers.{block}.self_attn"
FACTORS = {
    f"{ATTENTION.format(block=block)}.{name}.lora_{side}.weight": ("F32", shape)
    for block in range(2)
    for name, rank, wide, tall in (("q_proj", 4, 64, 64), ("v_proj", 2, 64, 16))
    for side, shape in (("A", [rank, wide]), ("B", [tall, rank]))
}
LAYERS = (
    Layer("model.layers.*.self_attn.q_proj", 64, 64, 2, 4),
    Layer("model.layers.*.self_attn.v_proj", 64, 16, 2, 2),
)


def adapter(folder, base="meta-llama/Llama-3-8B", factors=FACTORS):
    write(folder / "adapter_model.safetensors", factors)
    config = {"peft_type": "LORA", "r": 4, "base_model_name_or_path": base}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder


def test_an_adapter_is_the_maps_that_its_factors_make(tmp_path):
    folder = adapter(tmp_path)
    for path in (folder, folder / "adapter_config.json"):
        model = read_model(str(path))
        assert model.layers == LAYERS
        assert (model.family, model.vocabulary) == ("adapter", 128256)
    assert read_model(str(folder / "adapter_model.safetensors")).layers == LAYERS


def test_how_full_an_adapter_could_be(tmp_path):
    answer = plan(read_model(str(adapter(tmp_path))), candidates=1000)
    queries = capacity(64, candidates=1000, rank=4).facts
    values = capacity(64, 16, candidates=1000, rank=2).facts
    assert answer.total.facts == pytest.approx(2 * (queries + values))
    advice = recommend(answer, 50)
    assert advice.share_of_capacity == pytest.approx(50 / answer.total.facts)
    assert "of what this adapter could hold" in advice.sentence
    assert (advice.rank, advice.rank_pattern) == (4, {r"self_attn\.v_proj": 2})
    assert advice.parameters == 2 * (4 * 128 + 2 * 80)
    assert recommend(answer, 5).limit == "training"
    assert recommend(answer, 10**6).limit == "capacity"


def test_an_adapter_counts_wherever_it_is(tmp_path):
    factors = {
        "base_model.model.lm_head.lora_A.weight": ("F32", [4, 64]),
        "base_model.model.lm_head.lora_B.weight": ("F32", [100, 4]),
        "base_model.model.h.0.mlp.gate.lora_A.weight": ("F32", [4, 64]),
        "base_model.model.h.0.mlp.gate.lora_B.weight": ("F32", [64, 4]),
    }
    answer = plan(read_model(str(adapter(tmp_path, factors=factors))), candidates=100)
    advice = recommend(answer, 50)
    assert len(advice.layers) == 2
    assert advice.parameters == 4 * (64 + 100) + 4 * (64 + 64)
    assert not any("Left out" in note for note in advice.notes)


def test_an_adapter_of_an_unknown_model_needs_candidates(tmp_path):
    model = read_model(str(adapter(tmp_path, base="someone/something")))
    assert model.vocabulary is None
    with pytest.raises(BadArgumentError, match="--candidates"):
        plan(model)


def test_an_adapter_without_its_weights_is_refused(tmp_path):
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(BadArgumentError, match=r"beside its adapter_model\.safetensors"):
        read_model(str(tmp_path))


@pytest.mark.parametrize("shape", [[64, 3], [64], [0, 4]])
def test_factors_that_do_not_match_are_refused(tmp_path, shape):
    name = f"{ATTENTION.format(block=0)}.q_proj.lora_B.weight"
    folder = adapter(tmp_path, factors={**FACTORS, name: ("F32", shape)})
    with pytest.raises(BadArgumentError, match=r"layers\.0\.self_attn\.q_proj' do not match"):
        read_model(str(folder))


def test_a_folder_is_read_by_what_it_holds(tmp_path):
    with pytest.raises(BadArgumentError, match=r"a folder with one of .*config\.json"):
        read_model(str(tmp_path))
    write_gguf(tmp_path / "any.gguf")
    assert read_model(str(tmp_path)).family == "llama"
    write(tmp_path / "model.safetensors", GPT2)
    assert read_model(str(tmp_path)).family == "shapes of tensors"
    (tmp_path / "config.json").write_text('{"model_type": "unheard of"}')
    assert read_model(str(tmp_path)).family == "shapes of tensors"
    config = {"model_type": "gpt2", "n_embd": 8, "n_layer": 2, "vocab_size": 50}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read_model(str(tmp_path)).family == "gpt2"


def test_a_file_of_another_kind_is_called_what_it_is(tmp_path):
    with zipfile.ZipFile(tmp_path / "zip.bin", "w") as archive:
        archive.writestr("data.pkl", b"")
    (tmp_path / "pickle.pt").write_bytes(pickle.dumps({"a": 1}))
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "words.txt").write_text("hidden_size = 64\n")
    (tmp_path / "empty.bin").touch()
    (tmp_path / "noise.bin").write_bytes(bytes(range(128, 256)))
    (tmp_path / "config").write_text('{"model_type": "gpt2"}')
    for name, kind in {
        "zip.bin": "begins like a zip archive, as PyTorch writes",
        "pickle.pt": "begins like a Python pickle", "array.npy": "begins like an array of NumPy",
        "words.txt": "is text", "empty.bin": "is empty",
        "noise.bin": "is of a format that is not known, and begins with the bytes 80 81 82 83",
        "config": "begins like JSON, and its name says otherwise",
    }.items():  # fmt: skip
        with pytest.raises(BadArgumentError, match=f"it {kind}.*pass one of these") as refusal:
            read_model(str(tmp_path / name))
        assert "must be a config.json, .safetensors" in str(refusal.value)


def test_a_model_whose_length_begins_like_a_pickle_is_read(tmp_path):
    header = json.dumps(entries({"w.weight": ("F32", [4, 4])})).encode()
    write_raw(tmp_path / "model.bin", header.ljust(640), 64)
    assert (tmp_path / "model.bin").read_bytes()[:2] == b"\x80\x02"
    assert read_model(str(tmp_path / "model.bin")).layers
