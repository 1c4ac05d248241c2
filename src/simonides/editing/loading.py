"""A language model from files on this machine, of which nothing is executed."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Any

from simonides import arguments
from simonides.gguf_files import is_gguf, read_gguf
from simonides.reading import expecting, read_json
from simonides.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def loaded(path: Path) -> tuple[Any, Any]:
    """Return the network and tokenizer of a folder that ``transformers`` wrote, or of a ``.gguf`` file."""
    # Never asked of the user either: a model's own code is not run.
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    folder = path
    if not path.is_dir() and is_gguf(path):
        read_gguf(path)  # which refuses what claims more than is there
        folder, options["gguf_file"] = path.parent, path.name
    elif path.is_dir():
        if not (path / "config.json").exists():
            raise arguments.refuse(
                "model", str(path), "a folder with a config.json", "pass what save_pretrained wrote"
            )
        read_json(path / "config.json")
    else:
        raise arguments.refuse(
            "model", str(path), "a folder that transformers wrote, or a .gguf file", "pass another"
        )
    try:
        import torch
        import transformers
        from safetensors import SafetensorError
    except ImportError as error:
        raise arguments.refuse(
            "model", str(path), "edited with torch and transformers installed",
            f"{arguments.install('hf')} ({error})",
        ) from None  # fmt: skip
    kind = "a language model that transformers loads, with its tokenizer"
    with (
        expecting("model", path, kind, "pass another"),
        contextlib.redirect_stderr(io.StringIO()),  # bars of its own
        _quiet(transformers),
    ):
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **options)
            if "gguf_file" not in options:
                options["use_safetensors"] = True  # other files would have to be executed
            loaded: Any = transformers.AutoModelForCausalLM.from_pretrained(
                str(folder), dtype=torch.float32, output_loading_info=True, **options
            )
            network, report = loaded
        except SafetensorError as error:
            raise ValueError(str(error)) from None
        absent = sorted({*report["missing_keys"], *map(str, report["mismatched_keys"])})
        if absent:  # which would be drawn at random
            raise ValueError(f"its files lack {printable(absent[0], 80)}")
    if "gguf_file" in options:  # its weights are plain numbers by now, and are to be saved as such
        network.config.__dict__.pop("quantization_config", None)
        network.hf_quantizer, network.is_quantized = None, False
    return network, tokenizer


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
