"""A language model from files on this machine, of which nothing is executed or believed beyond its size.

What a library would allocate or list on the word of a configuration is first compared with the tensors
that are there, whose headers our own readers check.
"""

from __future__ import annotations

import contextlib
import io
import math
import re
from typing import TYPE_CHECKING, Any

from simonides import arguments
from simonides.gguf_files import is_gguf, read_gguf
from simonides.reading import expecting, read_json
from simonides.tensor_files import read_header
from simonides.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from simonides.tensor_files import Tensor

_KIND = "a language model that transformers loads, with its tokenizer"

_REPEATED = re.compile("layer|block_count|label")
"""What in a configuration counts parts of a kind, of which a million are slow to make of nothing."""


def loaded(path: Path) -> tuple[Any, Any]:
    """Return the network and tokenizer of a folder that ``transformers`` wrote, or of a ``.gguf`` file."""
    # Never asked of the user either: a model's own code is not run.
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    folder, is_file = path, not path.is_dir()
    if is_file and is_gguf(path):
        tensors, words = read_gguf(path)
        folder, options["gguf_file"] = path.parent, path.name
    elif is_file:
        raise arguments.refuse(
            "model", str(path), "a folder that transformers wrote, or a .gguf file", "pass another"
        )
    else:
        tensors, words = _folder(path)
    with expecting("model", path, _KIND, "pass another"):
        _refuse_repeated(words, len(tensors))
    try:
        import torch
        import transformers
    except ImportError as error:
        raise arguments.refuse(
            "model", str(path), "edited with torch and transformers installed",
            f"{arguments.install('hf')} ({error})",
        ) from None  # fmt: skip
    with (
        expecting("model", path, _KIND, "pass another"),
        contextlib.redirect_stderr(io.StringIO()),  # bars of its own
        _quiet(transformers),
    ):
        with _library():
            config = transformers.AutoConfig.from_pretrained(str(folder), **options)
            with torch.device("meta"):  # which has shapes and no numbers
                models: Any = transformers.AutoModelForCausalLM
                outline = models.from_config(config)
        _refuse_larger(outline, tensors)
        with _library():
            tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **options)
            if not is_file:
                options["use_safetensors"] = True  # other files would have to be executed
            pair: Any = transformers.AutoModelForCausalLM.from_pretrained(
                str(folder), dtype=torch.float32, output_loading_info=True, **options
            )
        network, report = pair
        absent = sorted({*report["missing_keys"], *map(str, report["mismatched_keys"])})
        if absent:  # which would be drawn at random
            raise ValueError(f"its files lack {printable(absent[0], 80)}")
    if is_file:  # its weights are plain numbers by now, and are to be saved as such
        network.config.__dict__.pop("quantization_config", None)
        network.hf_quantizer, network.is_quantized = None, False
    return network, tokenizer


def _folder(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors that a folder's files name, and its configuration."""
    if not (path / "config.json").exists():
        raise arguments.refuse(
            "model", str(path), "a folder with a config.json", "pass what save_pretrained wrote"
        )
    if (path / "adapter_config.json").exists():  # which names another model, to be changed instead
        raise arguments.refuse(
            "model", str(path), "a whole model, without an adapter_config.json", "merge the adapter"
        )
    files = sorted(path.glob("*.safetensors"))
    tensors = {name: tensor for file in files for name, tensor in read_header(file).items()}
    for index in path.glob("*.safetensors.index.json"):
        with expecting("model", index, "an index of files beside it", "pass a whole model"):
            strange = {*read_json(index)["weight_map"].values()} - {file.name for file in files}
            if strange:
                raise ValueError(f"it names {printable(str(min(strange, key=str)), 80)}")
    return tensors, read_json(path / "config.json")


def _refuse_repeated(words: Mapping[str, Any], most: int) -> None:
    """Raise ``ValueError`` where a configuration asks for more parts of a kind than there are tensors."""
    for name, value in words.items():
        if isinstance(value, dict):
            _refuse_repeated(value, most)
        elif type(value) is int and value > most and _REPEATED.search(name):
            raise ValueError(
                f"its {printable(name, 40)} is {value:,}, and its files name {most:,} tensors"
            )


def _refuse_larger(outline: Any, tensors: Mapping[str, Tensor]) -> None:
    """Raise ``ValueError`` for a network that needs more numbers than its files hold."""
    there = sum(math.prod(tensor.shape) for tensor in tensors.values())
    for numbers in (outline.parameters(), outline.buffers()):
        wanted = sum(tensor.numel() for tensor in numbers)
        if wanted > there:
            raise ValueError(f"its network needs {wanted:,} numbers, and its files hold {there:,}")


@contextlib.contextmanager
def _library() -> Iterator[None]:
    """Turn what a library raises into ``ValueError``.

    The one place where all exceptions are caught: what a foreign parser raises for a bad file it does not
    say, and some raise Exception itself. Lacking files and memory are said elsewhere.
    """
    try:
        yield
    except (OSError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - see above
        words = " ".join(str(error).split())  # reasons after a line break would be cut off
        raise ValueError(words or type(error).__name__) from None


@contextlib.contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Have the library say nothing: what matters it raises."""
    logging = transformers.utils.logging
    level = logging.get_verbosity()
    logging.set_verbosity(logging.CRITICAL)
    try:
        yield
    finally:
        logging.set_verbosity(level)
