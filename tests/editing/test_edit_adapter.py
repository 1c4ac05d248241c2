"""An edit of bounded rank: loaded by PEFT it recalls every fact, and its proof is about what is written."""

import json
import os

import numpy as np
import pytest
import tiny_model
from edits import FACTS, MARKS, command
from program import run
from safetensors.numpy import load_file, save_file

import simonides
from simonides.editing.language_model import LanguageModel

pytestmark = MARKS


@pytest.fixture(scope="module")
def bounded(place):
    return simonides.edit(place / "model", FACTS, keep=place / "text.txt", rank=4)


@pytest.fixture(scope="module")
def folder(bounded, tmp_path_factory):
    return bounded.save(tmp_path_factory.mktemp("adapters") / "adapter", adapter=True)


def answers(network, tokenizer):
    words = []
    for prompt, _ in FACTS:
        tokens = tokenizer(prompt, return_tensors="pt")["input_ids"]
        words.append(tokenizer.decode(network(input_ids=tokens).logits[0, -1].argmax()))
    return words


def test_a_change_of_a_rank_recalls_all_and_is_longer(bounded, outcome):
    assert (bounded.stored, bounded.proved, bounded.facts) == (20, 20, 20)
    sizes = np.linalg.svd(bounded.weights, compute_uv=False)
    assert sizes[4] < 1e-5 * sizes[3]  # what rounding to single precision leaves
    assert outcome.change_lower <= outcome.change < bounded.change
    assert bounded.change_lower == pytest.approx(outcome.change_lower, rel=0.02)


def test_it_is_saved_as_a_model_too(bounded, tmp_path):
    assert simonides.verify_edit(bounded.save(tmp_path / "edited")).facts == 20


def test_peft_loads_the_adapter_on_the_model_as_it_was(folder, place):
    peft = pytest.importorskip("peft")
    expected = [answer for _, answer in FACTS]
    model = LanguageModel.load(place / "model")
    assert answers(model.network, model.tokenizer) != expected
    loaded = peft.PeftModel.from_pretrained(model.network, folder)
    adapted = [name for name, _ in loaded.named_modules() if name.endswith("lora_A.default")]
    assert adapted == ["base_model.model.model.layers.1.mlp.down_proj.lora_A.default"]
    assert answers(loaded, model.tokenizer) == expected
    with loaded.disable_adapter():
        assert answers(loaded, model.tokenizer) != expected
    assert answers(loaded.merge_and_unload(), model.tokenizer) == expected


def test_the_adapter_is_verified_and_only_as_it_was_written(folder, tmp_path):
    assert simonides.verify_edit(folder).facts == 20
    assert json.loads((folder / "edit.json").read_text())["proved"] == 20
    assert not [name for name in os.listdir(folder) if name.startswith("model")]
    weights = folder / "adapter_model.safetensors"
    before = weights.read_bytes()
    tensors = load_file(weights)
    save_file({name: 0.5 * array for name, array in tensors.items()}, weights)
    verification = simonides.verify_edit(folder)
    weights.write_bytes(before)
    assert not verification.valid
    with pytest.raises(simonides.BadArgumentError, match="no adapter"):
        simonides.undo_edit(folder, tmp_path / "before")


def test_an_adapter_of_a_model_that_was_changed_is_not_valid(tmp_path, place):
    import torch

    tiny_model.saved(tmp_path / "model")
    outcome = simonides.edit(tmp_path / "model", FACTS, keep=place / "text.txt", rank=4)
    folder = outcome.save(tmp_path / "adapter", adapter=True)
    network = tiny_model.network()
    with torch.no_grad():
        network.model.layers[0].mlp.up_proj.weight[0, 0] += 1e-3
    network.save_pretrained(tmp_path / "model")
    assert "that of before" in simonides.verify_edit(folder).reason


def test_the_command_writes_an_adapter(place, tmp_path):
    done = run(*command(place, tmp_path / "out"), "--rank", "4", "--adapter", "--json")
    assert (done.returncode, json.loads(done.stdout)["stored"]) == (0, 20)
    config = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    assert (config["r"], config["lora_alpha"]) == (4, 4)
    assert config["target_modules"] == ["model.layers.1.mlp.down_proj"]
    assert run("verify", str(tmp_path / "out")).returncode == 0


def test_what_makes_no_adapter_is_refused(outcome, place, tmp_path):
    done = run(*command(place, tmp_path / "out"), "--adapter")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--rank" in done.stderr
    with pytest.raises(simonides.BadArgumentError, match="rank is bounded"):
        outcome.save(tmp_path / "out", adapter=True)
    done = run(*command(place, tmp_path / "out"), "--rank", "33")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not (tmp_path / "out").exists()
