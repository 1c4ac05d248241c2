"""Model folders and files that claim more than they hold, or that libraries choke on: one line each."""

import json

import gguf_made
import pytest
import tiny_model
from edits import MARKS

import simonides
from simonides.editing.language_model import LanguageModel

pytestmark = MARKS


@pytest.fixture
def model(tmp_path):
    return tiny_model.saved(tmp_path / "model")


def mended(path, **changes):
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, **changes}))


def refusal(path):
    """Return the line in which a model is refused."""
    with pytest.raises(simonides.BadArgumentError) as caught:
        LanguageModel.load(path)
    line = str(caught.value)
    assert "\n" not in line
    return line


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"intermediate_size": 10**6}, "192,014,112 numbers, and its files hold 26,400"),
        ({"hidden_size": 10**5}, "numbers, and its files hold 26,400"),
        ({"head_dim": 10**5}, "numbers, and its files hold 26,400"),
        (
            {"num_hidden_layers": 10**4},
            "num_hidden_layers is 10,000, and its files name 21 tensors",
        ),
        ({"num_labels": 10**6}, "num_labels is 1,000,000, and its files name 21 tensors"),
        ({"hidden_size": "x"}, "hidden_size"),
        ({"rms_norm_eps": "a"}, "rms_norm_eps"),
    ],
)
def test_a_configuration_is_believed_no_further_than_its_tensors(model, changes, reason):
    mended(model / "config.json", **changes)
    assert reason in refusal(model)


def test_what_a_file_of_weights_claims_is_checked_first(model):
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    assert "its tensors need" in refusal(model)


def test_weights_of_other_folders_are_not_read(model):
    (model / "model.safetensors").rename(model.parent / "model.safetensors")
    (model / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": {"lm_head.weight": "../model.safetensors"}})
    )
    assert "../model.safetensors" in refusal(model)


def test_an_adapter_does_not_lead_to_another_model(model, place):
    base = {"base_model_name_or_path": str(place / "model"), "peft_type": "LORA"}
    (model / "adapter_config.json").write_text(json.dumps(base))
    assert "adapter_config.json" in refusal(model)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": None},
        {"model": "x"},
        {"version": "9"},
        {
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"Regex": "(("},
                "behavior": "Isolated",
                "invert": False,
            }
        },
    ],
)
def test_a_tokenizer_that_its_library_does_not_read_is_refused(model, changes):
    mended(model / "tokenizer.json", **changes)
    assert "with its tokenizer" in refusal(model)


SIZES = {
    "llama.block_count": 2,
    "llama.embedding_length": 64,
    "llama.feed_forward_length": 160,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.context_length": 64,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
}


@pytest.mark.parametrize(
    ("key", "size", "reason"),
    [
        ("llama.block_count", 10**4, "block_count is 10,000, and its files name 14 tensors"),
        ("llama.feed_forward_length", 10**6, "numbers, and its files hold 127,184"),
    ],
)
def test_the_keys_of_a_gguf_file_are_believed_no_further_than_its_tensors(
    tmp_path, key, size, reason
):
    pytest.importorskip("gguf")
    keys = {**gguf_made.META, **SIZES, key: size}
    assert reason in refusal(gguf_made.write(tmp_path / "model.gguf", meta=keys))
