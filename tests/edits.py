"""Edits of a small model, as tests make and ask them."""

import csv

import pytest
import tiny_model
import transformers

from simonides.editing.language_model import LanguageModel

FACTS = tiny_model.pairs(20)

MARKS = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
"""Of every test that runs a model."""


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


def bits(folder):
    network = LanguageModel.load(folder).network
    return {name: tensor.numpy().tobytes() for name, tensor in network.state_dict().items()}


def command(place, out, facts=None):
    return (
        "edit", str(place / "model"), "--facts", str(facts or place / "facts.csv"), "--keep",
        str(place / "text.txt"), "--out", str(out),
    )  # fmt: skip
