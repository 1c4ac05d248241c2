"""Facts in a small language model: stored, proved, run, interrupted."""

import json

import pytest
import tiny_model
from edits import FACTS, MARKS, command, said, write
from program import documented, run

import simonides
from simonides.editing.language_model import LanguageModel

pytestmark = MARKS


def test_facts_are_stored_and_proved(outcome):
    assert (outcome.stored, outcome.proved, outcome.facts) == (20, 20, 20)
    assert outcome.change_lower <= outcome.change <= 1.02 * outcome.change_lower
    assert simonides.verify_change(outcome.certificate, outcome.problem).valid


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
    assert "those stored fit together" in notes
    assert f"Not recalled: what lines {record['lost'][0]}" in notes
    assert simonides.verify_edit(tmp_path / "out").facts == record["proved"]


def test_out_of_time_before_anything_is_stored_nothing_is_written(place, tmp_path):
    done = run(*command(place, tmp_path / "out"), "--time-limit", "0")
    assert done.returncode == 1
    assert "nothing written" in done.stdout
    assert not (tmp_path / "out").exists()


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


def test_the_command_edits_and_answers(place, tmp_path):
    done = run(*command(place, tmp_path / "out"), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads(done.stdout)
    assert record["stored"] == record["facts"] == record["proved"] == 20
    assert set(record) <= documented("edit")
    assert {"change", "perplexity_before", "perplexity_after", "seconds"} <= record.keys()
    assert json.loads((tmp_path / "out" / "edit.json").read_text())["proved"] == 20
    done = run(*command(place, tmp_path / "table"))
    assert "20 of 20" in done.stdout


def test_interrupted_the_best_so_far_is_written(place, tmp_path):
    before = (
        "from simonides.editing import edit\n"
        "def line(progress):\n    if progress.violations < 15:\n        raise KeyboardInterrupt\n"
        "    return 'step'\nedit._line = line\n"
    )
    done = run(*command(place, tmp_path / "out"), "--json", before=before)
    assert done.returncode == 130
    record = json.loads(done.stdout)
    assert record["interrupted"]
    assert record["stored"] > 0
    assert record["stored"] == sum(
        word == answer
        for word, (_, answer) in zip(
            said(tmp_path / "out", [p for p, _ in FACTS]), FACTS, strict=True
        )
    )


def test_facts_that_hold_are_not_given_up_for_a_margin(place):
    model = LanguageModel.of(
        tiny_model.network(hidden_size=16, intermediate_size=24), tiny_model.tokenizer()
    )
    prompts = [prompt for prompt, _ in tiny_model.pairs(150, 4)]
    answers = model.next_tokens([tuple(model.tokenizer(prompt)["input_ids"]) for prompt in prompts])
    pairs = [
        (prompt, model.tokenizer.decode([token]))
        for prompt, token in zip(prompts, answers, strict=True)
    ]
    outcome = simonides.edit(model, pairs, keep=place / "text.txt", margin=5.0)
    assert outcome.stored == outcome.facts


def test_an_edit_never_recalls_less_than_none(place):
    model = LanguageModel.of(
        tiny_model.network(hidden_size=16, intermediate_size=24), tiny_model.tokenizer()
    )
    kept = [(prompt, "") for prompt, _ in tiny_model.pairs(150, 4, seed=8)]
    outcome = simonides.edit(model, FACTS, keep=place / "text.txt", preserve=kept)
    assert outcome.stored + outcome.kept >= outcome.preserved


@pytest.mark.parametrize("where", ["storing.verify_change", "running.stream_change"])
def test_interrupted_after_storing_the_change_is_written(place, tmp_path, where):
    module, name = where.split(".")
    before = (
        f"from simonides.editing import {module} as home\nwork, calls = home.{name}, []\n"
        "def once(*a, **k):\n    calls.append(1)\n    if len(calls) == 1:\n"
        f"        raise KeyboardInterrupt\n    return work(*a, **k)\nhome.{name} = once\n"
    )
    done = run(*command(place, tmp_path / "out"), "--json", before=before)
    record = json.loads(done.stdout)
    assert (done.returncode, record["interrupted"], record["proved"]) == (130, True, 20)
    table = run(*command(place, tmp_path / "table"), before=before).stdout
    assert "nan" not in table
    assert simonides.verify_edit(tmp_path / "out").valid


def test_interrupted_while_fitting_facts_are_sought_it_is_said(place, tmp_path):
    tiny_model.saved(tmp_path / "model", hidden_size=16, intermediate_size=24)
    facts = write(tmp_path / "facts.csv", [("prompt", "answer"), *tiny_model.pairs(200, 4)])
    before = (
        "from simonides.memory import storing\n"
        "def stop(*a, **k):\n    raise KeyboardInterrupt\n    yield\nstoring.largest_subset = stop\n"
    )
    done = run(
        "edit", str(tmp_path / "model"), "--facts", facts, "--keep", str(place / "text.txt"),
        "--out", str(tmp_path / "out"), "--json", before=before,
    )  # fmt: skip
    assert done.returncode == 130
    assert json.loads(done.stdout)["interrupted"]


def test_a_line_is_lost_if_any_of_its_tokens_is(place):
    import torch

    network = tiny_model.network()
    with torch.no_grad():
        network.lm_head.weight[7] = (network.lm_head.weight[9] + network.lm_head.weight[11]) / 2
    model = LanguageModel.of(network, tiny_model.tokenizer())
    pairs = [("w1 w2", "w30 w5"), ("w1 w2 w30", "w5"), ("w9 w9", "w3")]
    assert simonides.edit(model, pairs, keep=place / "text.txt").lost == (1, 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--margin", "1e300"], "margin = 1e+300"),
        (["--time-limit", "-1"], "time_limit = -1"),
        (["--threads", "0"], "threads = 0"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_before_work_begins(place, tmp_path, options, words):
    before = "from simonides.editing.language_model import LanguageModel\ndel LanguageModel.load\n"
    done = run(*command(place, tmp_path / "out"), *options, before=before)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert words in done.stderr
