"""Text to train on that every Python carries: the topics of its built-in help.

The standard library ships the language reference's prose in ``pydoc_data.topics``, about 700,000
characters of English about Python. It needs no network and no licence beyond Python's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simonides.arrays import Integers

ALPHABET = " etaoinsrhldcumfpgwybvkxjqz.,()'0\n"
"""Characters kept, all digits written as 0; anything else becomes a space."""

MASK = len(ALPHABET)
VOCABULARY = len(ALPHABET) + 1


def python_help() -> Integers:
    """Return the text as positions in ``ALPHABET``, runs of spaces made one."""
    from pydoc_data.topics import topics

    raw = "\n".join(topics[name] for name in sorted(topics)).lower()
    known = {letter: position for position, letter in enumerate(ALPHABET)}
    known.update(dict.fromkeys("123456789", known["0"]))
    codes = np.array([known.get(letter, 0) for letter in raw], dtype=np.int64)
    repeated = np.zeros(codes.size, dtype=bool)
    repeated[1:] = (codes[1:] == 0) & (codes[:-1] == 0)
    return codes[~repeated]


def letter_entropy(codes: Integers) -> float:
    """Return the entropy of single characters, in nats: what guessing without context costs."""
    counts = np.bincount(codes, minlength=len(ALPHABET))
    shares = counts[counts > 0] / codes.size
    return -float(shares @ np.log(shares))
