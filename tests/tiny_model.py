"""A small random language model and its tokenizer, made here."""

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("tokenizers")
pytest.importorskip("safetensors")

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

WORDS = 120
"""Words w0, w1, ... beside the two special tokens."""


def tokenizer() -> PreTrainedTokenizerFast:
    names = ["<unk>", "</s>", *(f"w{k}" for k in range(WORDS))]
    made = Tokenizer(models.WordLevel({name: k for k, name in enumerate(names)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", eos_token="</s>")


def network(seed: int = 0, **options: object) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    sizes = {
        "vocab_size": WORDS + 2,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
    }
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256}
    made = LlamaForCausalLM(LlamaConfig(initializer_range=0.2, **{**sizes, **heads, **options}))
    with torch.no_grad():
        for parameter in made.model.norm.parameters():
            parameter.uniform_(0.5, 1.5)
    return made.eval()


def saved(folder: Path, **options: object) -> Path:
    network(**options).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def pairs(count: int, length: int = 3, tokens: int = 1, seed: int = 1) -> list[tuple[str, str]]:
    """Return prompts of words, all different, and answers of others at random."""
    generator = torch.Generator().manual_seed(seed)

    def words(number: int) -> str:
        return " ".join(f"w{k}" for k in torch.randint(WORDS, (number,), generator=generator))

    return [(f"w{place % WORDS} {words(length - 1)}", words(tokens)) for place in range(count)]


def text(words: int = 3000, seed: int = 2) -> str:
    generator = torch.Generator().manual_seed(seed)
    return " ".join(f"w{k}" for k in torch.randint(WORDS, (words,), generator=generator))
