"""The folder of an edit: whole or not there, verified, undone, and never over what others wrote."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
import tiny_model
from edits import FACTS, MARKS, bits, command, said
from program import documented, run

import simonides
from simonides.editing.folder import _new_folder
from simonides.editing.language_model import LanguageModel

pytestmark = MARKS


def test_the_folder_is_a_model_that_says_the_answers(outcome, tmp_path):
    folder = outcome.save(tmp_path / "edited")
    prompts, answers = zip(*FACTS, strict=True)
    assert said(folder, prompts) == list(answers)
    assert simonides.verify_edit(folder).valid


def test_undone_the_model_is_as_it_was_bit_for_bit(outcome, place, tmp_path):
    folder = outcome.save(tmp_path / "edited")
    done = run("undo", str(folder), "--out", str(tmp_path / "before"), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert set(json.loads(done.stdout)) <= documented("undo")
    assert bits(tmp_path / "before") == bits(place / "model")


def test_zeros_of_either_sign_and_the_smallest_weights_come_back(place, tmp_path):
    import torch

    network = tiny_model.network()
    with torch.no_grad():
        weight = network.model.layers[-1].mlp.down_proj.weight
        weight[0, :3] = torch.tensor([-0.0, 0.0, 1e-30])
    model = LanguageModel.of(network, tiny_model.tokenizer())
    outcome = simonides.edit(model, FACTS, keep=place / "text.txt")
    folder = outcome.save(tmp_path / "edited")
    assert simonides.verify_edit(folder).valid
    network.save_pretrained(tmp_path / "model")
    model.tokenizer.save_pretrained(tmp_path / "model")
    assert bits(simonides.undo_edit(folder, tmp_path / "before")) == bits(tmp_path / "model")


def test_an_edit_whose_weights_were_changed_since_is_refused(outcome, tmp_path):
    import torch

    folder = outcome.save(tmp_path / "edited")
    model = LanguageModel.load(folder)
    with torch.no_grad():
        model.network.model.layers[0].mlp.up_proj.weight[0, 0] += 1e-3
    model.network.save_pretrained(str(folder))
    with pytest.raises(simonides.BadArgumentError, match="as it was written"):
        simonides.undo_edit(folder, tmp_path / "before")
    verification = simonides.verify_edit(folder)
    assert not verification.valid
    assert "that of before" in verification.reason
    assert not (tmp_path / "before").exists()


def test_a_folder_is_verified_by_the_command(outcome, tmp_path):
    folder = outcome.save(tmp_path / "edited")
    done = run("verify", str(folder), "--json")
    record = json.loads(done.stdout)
    assert (done.returncode, record["valid"], record["facts"]) == (0, True, 20)
    assert record["change_lower"] <= record["change_upper"]
    assert set(record) <= documented("verify")
    assert "facts proved" in run("verify", str(folder)).stdout
    done = run("verify", str(folder), "--dim", "5")  # would go unheeded
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    (folder / "certificate.npz").unlink()
    done = run("verify", str(folder))
    assert done.returncode == 1
    assert "no certificate" in done.stdout
    done = run("verify", str(tmp_path))
    assert done.returncode == 2
    assert "'simonides edit' wrote" in done.stderr


def test_interrupted_while_writing_nothing_is_left(place, tmp_path):
    before = (
        "from simonides.editing import folder\n"
        "def stop(*_):\n    raise KeyboardInterrupt\nfolder._write_tensors = stop\n"
    )
    done = run(*command(place, tmp_path / "out"), before=before)
    assert done.returncode == 130
    assert os.listdir(tmp_path) == []


def test_a_proof_of_another_change_is_not_valid(outcome, tmp_path):
    folder = outcome.save(tmp_path / "edited")
    other = replace(outcome.certificate, weights=outcome.weights + 1e-9)
    other.save(folder / "certificate.npz")
    verification = simonides.verify_edit(folder)
    assert (verification.valid, verification.reason) == (
        False,
        "the change is not that of the proof",
    )


def test_a_folder_of_others_is_left_alone(place, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").touch()
    done = run(*command(place, tmp_path / "out"))
    assert done.returncode == 2
    assert "new or empty" in done.stderr
    assert os.listdir(tmp_path / "out") == ["mine.txt"]
    done = run("undo", str(tmp_path / "out"), "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    (tmp_path / "here").mkdir()
    done = run(*command(place, "."), cwd=tmp_path / "here")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_model_that_reads_otherwise_is_not_verified(outcome, tmp_path):
    folder = outcome.save(tmp_path / "edited")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "hidden_act": "relu"}))
    assert not simonides.verify_edit(folder).valid
    with pytest.raises(simonides.BadArgumentError, match="as it was written"):
        simonides.undo_edit(folder, tmp_path / "before")


def test_a_proof_about_invented_keys_is_not_valid(outcome, tmp_path):
    folder = outcome.save(tmp_path / "edited")
    facts, rng = 30, np.random.default_rng(0)
    inputs = rng.standard_normal((facts, outcome.problem.dim_in)).astype(np.float32)
    targets = rng.integers(2, tiny_model.WORDS, size=facts)
    outputs = outcome.problem.outputs
    problem = simonides.OriginalProblem(inputs.astype(float), outputs, targets)
    nothing = np.empty(0, np.int64)
    forged = replace(
        outcome.certificate,
        fingerprint=problem.fingerprint(),
        offsets=1e6 * outputs[targets] - inputs @ outcome.weights.T,
        margins=np.full(facts, 1e-6),
        pair_facts=nothing, pair_rivals=nothing, multipliers=np.empty(0),
    )  # fmt: skip
    forged.save(folder / "certificate.npz")
    np.savez(
        folder / "keys.npz",
        inputs=inputs, targets=targets, tokens=np.arange(2, facts + 2), lengths=np.ones(facts, int),
    )  # fmt: skip
    assert not simonides.verify_edit(folder).valid


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tokens": np.ones(300, int), "lengths": [281, *[1] * 19]}, "281 tokens, more than 256"),
        ({"lengths": [2**62] * 4 + [1] * 16}, "more than 256"),
        ({"lengths": np.full(20, np.nan)}, "its lengths are float64"),
        ({"tokens": np.ones(20, complex), "lengths": [1] * 20}, "its tokens are complex128"),
        ({"inputs": np.ones((20, 64), complex)}, "its inputs are complex128"),
        ({"targets": np.ones(20)}, "its targets are float64"),
    ],
)
def test_keys_that_no_edit_writes_are_refused_before_the_model_runs(
    outcome, tmp_path, monkeypatch, changes, reason
):
    folder = outcome.save(tmp_path / "edited")
    np.savez(folder / "keys.npz", **{**np.load(folder / "keys.npz"), **changes})
    monkeypatch.setattr(LanguageModel, "next_tokens", lambda *_: pytest.fail("it was run"))
    with pytest.raises(simonides.BadArgumentError, match=reason):
        simonides.verify_edit(folder)


def test_a_folder_lasts_before_it_takes_its_place_and_its_name_after(tmp_path, monkeypatch):
    events, fsync, replace = [], os.fsync, os.replace

    def watched(call, name):
        def calling(*arguments):
            events.append(name(*arguments))
            return call(*arguments)

        return calling

    monkeypatch.setattr(os, "fsync", watched(fsync, lambda handle: os.fstat(handle).st_ino))
    monkeypatch.setattr(os, "replace", watched(replace, lambda *_: "renamed"))
    with _new_folder(tmp_path / "out") as part:
        (part / "inner").mkdir()
        (part / "inner" / "file").write_text("x")
    out = tmp_path / "out"
    places = (out / "inner" / "file", out / "inner", out, "renamed", tmp_path)
    assert events == [place if place == "renamed" else place.stat().st_ino for place in places]


def test_all_prefixes_together_are_bounded(outcome, tmp_path, monkeypatch):
    folder = outcome.save(tmp_path / "edited")
    monkeypatch.setattr("simonides.editing.folder.MOST_TOKENS", 50)
    with pytest.raises(simonides.BadArgumentError, match="its facts have 60 tokens, more than 50"):
        simonides.verify_edit(folder)


def test_the_longest_text_is_bounded_whatever_a_configuration_says():
    network = tiny_model.network(max_position_embeddings=10**12)
    assert LanguageModel.of(network, tiny_model.tokenizer()).longest == 4096
