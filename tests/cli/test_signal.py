"""The signal commands, run as a user runs them."""

import json

import program
import pytest

from simonides.signal import Architecture, propagate

SIZES = ("--layers", "6", "--dim", "64", "--tokens", "32")


def run(*arguments):
    return program.run("signal", *arguments)


def answer(*arguments):
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_propagate_has_the_promised_keys_and_the_library_s_numbers():
    record = answer(
        "propagate", *SIZES, "--beta", "0.7", "--skip", "2", "--set", "value_variance=0.5"
    )
    expected = propagate(
        Architecture(
            tokens=32, dim=64, layers=6, beta=0.7, attention_skip=2, mlp_skip=2, value_variance=0.5
        )
    )
    assert record["cosine"] == expected.cosine.tolist()
    assert record["entropy"] == expected.entropy.tolist()
    assert record["class"] == str(expected.outcome)
    assert record["beta_critical"] == expected.beta_critical.min()
    assert record["architecture"]["value_variance"] == 0.5


def test_propagate_in_words_and_as_a_picture(tmp_path):
    path = tmp_path / "way.svg"
    done = run("propagate", *SIZES, "--norm", "pre", "--plot", str(path))
    assert done.returncode == 0, done.stderr
    assert "6 pre-norm blocks of dimension 64 on 32 tokens" in done.stdout
    assert "class: " in done.stdout
    assert path.read_bytes().startswith(b"<?xml")


def test_poor_regimes_are_visible():
    done = run("propagate", *SIZES, "--beta", "5", "--skip", "0.5")
    assert "Frozen attention with a weak skip" in " ".join(done.stdout.split())
    notes = answer("propagate", *SIZES, "--beta", "5", "--skip", "0.5")["notes"]
    assert any("weak skip" in note for note in notes)


@pytest.mark.slow
def test_recommend():
    record = answer("recommend", *SIZES, "--norm", "post")
    assert record["class"] == "trainable"
    assert record["cosine"][-1] <= 0.9 + 1e-3
    assert record["beta_recommended"] == pytest.approx(record["beta_critical"] / 2)
    assert len(record["layer_std"]) == 6
    assert len(record["entropy"]) == 6
    text = run("recommend", *SIZES, "--norm", "pre").stdout
    assert "standard deviation of query and key weights" in text


@pytest.mark.slow
def test_diagram(tmp_path):
    path = tmp_path / "diagram.png"
    record = answer(
        "diagram", *SIZES, "--x", "beta=0.2:3:4", "--y", "skip=0.5:3:3", "--plot", str(path)
    )
    assert record["x"] == pytest.approx([0.2, 0.2 + 2.8 / 3, 0.2 + 5.6 / 3, 3.0])
    assert record["y"] == [0.5, 1.75, 3.0]
    assert [len(row) for row in record["class"]] == [4, 4, 4]
    assert record["class"][2][0] == "trainable"
    assert record["class"][2][3] == "entropy collapse"
    assert len(record["cosine"]) == 3
    assert path.read_bytes().startswith(b"\x89PNG")
    text = run("diagram", *SIZES, "--x", "beta=0.2:3:4", "--y", "layers=1:6:3").stdout
    assert "trainable" in text
    assert "beta" in text


def test_a_model_s_config_is_read(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps(
            {"model_type": "bert", "hidden_size": 64, "num_hidden_layers": 3, "hidden_act": "gelu",
             "num_attention_heads": 2, "max_position_embeddings": 32, "initializer_range": 0.1}
        )
    )  # fmt: skip
    record = answer("propagate", "--config", str(path))
    assert record["architecture"]["activation"] == "gelu"
    assert record["architecture"]["value_variance"] == pytest.approx(0.64)
    assert len(record["entropy"]) == 3
    assert (
        answer("propagate", "--config", str(path), "--layers", "2")["architecture"]["layers"] == 2
    )


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("propagate", "--dim", "8", "--tokens", "8"), "layers = None"),
        (("propagate", *SIZES, "--beta", "-1"), "beta = -1.0"),
        (("propagate", *SIZES, "--set", "colour=red"), "set = 'colour=red'"),
        (("propagate", *SIZES, "--beta", "1", "--std", "0.1"), "std = 0.1"),
        (("propagate", "--config", "/nowhere/config.json"), "/nowhere/config.json"),
        (("diagram", *SIZES, "--x", "beta=1"), "x = 'beta=1'"),
    ],
)
def test_bad_input_is_one_line(arguments, named):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert named in done.stderr
