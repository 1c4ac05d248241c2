"""``simonides plan``: what it prints in each form, and what it refuses."""

import csv
import io
import json
import math
import os
import re
import resource
import sys
from pathlib import Path

import pytest
from program import run_file
from running import answer, refusal, refused, run


def write(path: Path, entries: dict, data: int, length: int | None = None) -> str:
    text = json.dumps(entries).encode()
    claimed = len(text) if length is None else length
    path.write_bytes(claimed.to_bytes(8, "little") + text + bytes(data))
    return str(path)


def tensor(*shape: int, start: int = 0, kind: str = "F32") -> dict:
    size = 4
    for number in shape:
        size *= number
    return {"dtype": kind, "shape": list(shape), "data_offsets": [start, start + size]}


def test_json_has_every_layer_and_the_total():
    record = answer("plan", "gpt2", "--lora-rank", "16", "--facts", "20000")
    assert [(one["name"], one["count"]) for one in record["layers"]] == [
        ("h.*.attn.c_attn", 12), ("h.*.attn.c_proj", 12), ("h.*.mlp.c_fc", 12), ("h.*.mlp.c_proj", 12),
    ]  # fmt: skip
    same = answer("capacity", "--dim-in", "768", "--dim-out", "3072", "--candidates", "50257")
    up = record["layers"][2]
    for key in ("facts", "bits_per_parameter", "parameters", "statistical_dimension"):
        assert up[key] == same[key]
    bounded = answer(
        "capacity", "--dim-in", "768", "--dim-out", "3072", "--candidates", "50257", "--rank", "16"
    )
    assert up["lora"]["facts"] == bounded["facts"]
    assert "50,256 rivals" in up["criterion"]
    assert record["total"]["matrices"] == 48
    assert record["total"]["facts"] == pytest.approx(
        sum(one["count"] * one["facts"] for one in record["layers"])
    )
    asked = ["require", "--facts", "20000", "--dim-in", "768", "--dim-out", "3072"]
    needed = answer(*asked, "--candidates", "50257")["smallest_rank"]
    assert up["smallest_rank"] == needed
    assert record["rank_pattern"] == {}
    advice = record["recommendation"]
    assert advice["target_modules"] == ["c_attn", "c_proj", "c_fc"]
    assert advice["rank"] >= advice["smallest_rank"] >= 2
    held = answer("plan", "gpt2", "--lora-rank", str(advice["rank"]))["total"]["lora"]["facts"]
    assert advice["share_of_capacity"] == pytest.approx(20_000 / held)
    assert advice["limit"] in ("capacity", "training")
    assert set(advice["training_reached"]) == {"all matrices", "one matrix"}
    assert all(0 < low <= high for low, high in advice["training_reached"].values())
    assert any("not a promise about a whole trained network" in note for note in record["notes"])


def test_the_recommendation_comes_first_and_can_be_pasted():
    asked = ["plan", "llama-3-8b", "--facts", "20k"]
    lines = run(*asked).stdout.splitlines()
    advice = answer(*asked)["recommendation"]
    assert lines[0] == advice["sentence"]
    assert "capacity is not your limit" in lines[0]
    pasted = "\n".join(lines[lines.index("LoraConfig(") : lines.index(")") + 1])
    assert pasted == advice["lora_config"]
    config = eval(pasted, {"LoraConfig": dict})
    assert config == {
        "r": advice["rank"], "lora_alpha": 2 * advice["rank"], "target_modules": advice["target_modules"],
    }  # fmt: skip
    assert "Training reached" in "\n".join(lines[: lines.index("LoraConfig(")])


def test_facts_are_read_as_people_write_them():
    plain = answer("plan", "gpt2", "--facts", "50000")
    for text in ("50k", "50K", "0.05M", "50,000", "50_000", "5e4"):
        assert answer("plan", "gpt2", "--facts", text) == plain
    several = answer("plan", "gpt2", "--facts", "12.5k", "--tokens-per-fact", "4")["recommendation"]
    assert several["tokens"] == 50_000
    assert several["rank"] == plain["recommendation"]["rank"]
    bits = ["--bits-per-fact", str(4 * math.log2(50257))]
    said = answer("plan", "gpt2", "--facts", "12.5k", *bits)["recommendation"]
    assert said["tokens"] == pytest.approx(50_000, abs=1)


def test_layers_may_be_named_several_times():
    record = answer("plan", "bert-base-uncased", "--layers", "*.output.dense", "--layers", "*query")
    assert [layer["name"] for layer in record["layers"]] == [
        "encoder.layer.*.attention.self.query", "encoder.layer.*.output.dense",
    ]  # fmt: skip


@pytest.mark.parametrize("columns", [30, 50, 60])
def test_digits_are_never_broken(columns):
    asked = ["plan", "llama-3-8b", "--lora-rank", "8", "--facts", "20000"]
    printed = run(*asked, env={**os.environ, "COLUMNS": str(columns)}).stdout
    words = set(printed.split())
    for row in answer(*asked)["layers"]:
        assert {f"{row['facts']:,.0f}", f"{row['dim_out']:,}", f"{row['dim_in']:,}"} <= words
        assert f"{row['bits_per_parameter']:.2f}" in words


def test_the_state_of_mamba_is_said():
    record = answer("plan", "mamba-130m")
    assert not [layer for layer in record["layers"] if "A_log" in layer["name"]]
    assert any("1,536 x 16 matrix that every text writes anew" in note for note in record["notes"])


def test_without_a_rank_or_facts_their_keys_are_null():
    record = answer("plan", "gpt2", "--layers", "*c_fc", "--candidates", "100")
    assert [one["name"] for one in record["layers"]] == ["h.*.mlp.c_fc"]
    assert record["layers"][0]["lora"] is None
    assert record["total"]["lora"] is None
    assert record["rank_pattern"] is record["recommendation"] is None
    assert (record["vocabulary"], record["candidates"]) == (50257, 100)


def test_csv_has_the_numbers_of_json():
    asked = ["plan", "llama-3-8b", "--lora-rank", "8", "--facts", "400000"]
    rows = list(csv.DictReader(io.StringIO(run(*asked, "--csv").stdout)))
    record = answer(*asked)
    assert [row["name"] for row in rows] == [one["name"] for one in record["layers"]]
    for row, one in zip(rows, record["layers"], strict=True):
        assert float(row["facts"]) == one["facts"]
        assert float(row["lora_facts"]) == one["lora"]["facts"]
        assert row["criterion"] == one["criterion"]
        assert row["smallest_rank"] == (
            "" if one["smallest_rank"] is None else f"{one['smallest_rank']}"
        )
    assert {row["smallest_rank"] for row in rows} > {""}


def test_the_table_says_what_is_claimed_and_fits_a_page():
    printed = run("plan", "mixtral-8x7b", "--lora-rank", "16", "--facts", "400000").stdout
    text = " ".join(printed.split())
    for words in (
        "32,000 candidates competing",
        "every target beats each of its 31,999 rivals",
        "not a promise about a whole trained network",
        "No rank exceeds the smaller dimension",
        "block_sparse_moe.gate",
        "Capacity sets the rank",
    ):
        assert words in text, words
    tables = printed.partition("\n")[2]
    assert max(map(len, tables.splitlines())) <= 80
    assert "…" not in tables
    assert "400,000 facts" in tables


def test_the_guide_shows_what_is_printed():
    guide = (Path(__file__).parents[2] / "docs" / "planner.md").read_text()
    command = re.search(r"\$ simonides (plan .*)", guide)[1]
    shown = re.search(r"```text\n(.*?)```", guide, re.DOTALL)[1]
    printed = run(*command.split()).stdout
    assert [line.rstrip() for line in printed.splitlines()] == shown.splitlines()


def test_names_in_a_file_are_printed_as_they_are(tmp_path):
    path = write(tmp_path / "x.safetensors", {"[/b][red]w[0].weight": tensor(40, 40)}, 6400)
    done = run("plan", path, "--candidates", "50")
    assert done.returncode == 0, done.stderr
    assert "[/b][red]w[0]" in done.stdout


def test_a_file_of_an_unknown_family_needs_only_candidates(tmp_path):
    path = write(tmp_path / "x.safetensors", {"mixer.weight": tensor(60, 40)}, 9600)
    assert "--candidates" in refused("plan", path)
    record = answer("plan", path, "--candidates", "50")
    same = answer("capacity", "--dim-in", "40", "--dim-out", "60", "--candidates", "50")
    assert record["layers"][0]["facts"] == same["facts"]


BAD = [
    ([], "FILE"),
    (["gpt-5"], "gpt2-xl"),
    (["gpt2", "--lora-rank", "769"], "at most 768"),
    (["gpt2", "--facts", "many"], "50k or 1.5M"),
    (["gpt2", "--facts", "1.2345k"], "facts = '1.2345k'"),
    (["gpt2", "--facts", "9", "--tokens-per-fact", "0"], "tokens_per_fact = 0"),
    (["gpt2", "--tokens-per-fact", "4"], "pass --facts"),
    (["gpt2", "--facts", "9", "--tokens-per-fact", "4", "--bits-per-fact", "30"], "choose one"),
    (["gpt2", "--layers", "c_fc", "--layers", "mlp.c_fc"], "there are attn.c_attn"),
    (["meta-llama/Lama-3-8B"], "did you mean llama-3-8b"),
    (["words.txt"], "it is text"),
    (["gpt2", "--json", "--csv"], "--json"),
    (["text.json"], "not JSON"),
    (["vast.safetensors"], "header claims"),
    (["packed.safetensors"], "pass the model's config.json"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, text in {
        "text": "hidden_size = 5", "list": "[1]", "other": "{}", "mamba": '{"model_type": "mamba"}',
    }.items():  # fmt: skip
        (folder / f"{name}.json").write_text(text)
    (folder / "empty.safetensors").touch()
    (folder / "words.txt").write_text("hidden_size = 5")
    write(folder / "vast.safetensors", {}, 0, length=2**40)
    write(folder / "torn.safetensors", {"w": tensor(50, 50)}, 9999)
    write(folder / "norms.safetensors", {"norm.weight": tensor(50)}, 200)
    packed = {"q.qweight": tensor(8, 9, kind="I32"), "q.scales": tensor(2, 9, start=288)}
    write(folder / "packed.safetensors", packed, 360)
    return folder


@pytest.mark.parametrize(("arguments", "named"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_exits_with_two_and_one_line(folder, arguments, named):
    before = sorted(folder.iterdir())
    assert named in refused("plan", *arguments, cwd=folder)
    assert sorted(folder.iterdir()) == before


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory cannot be limited")
def test_a_header_of_gigabytes_needs_no_gigabytes(tmp_path):
    path = write(tmp_path / "x.safetensors", {}, 0, length=8 * 2**30)
    os.truncate(path, 16 * 2**30)
    limit = 2 * 2**30
    ended = run_file(
        "plan", path,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    assert "8,589,934,592 bytes" in refusal(ended)
