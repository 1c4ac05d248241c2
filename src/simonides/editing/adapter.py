r"""A change of bounded rank as an adapter that PEFT loads on the model as it was.

PEFT adds :math:`B (A k)` to what the layer gives, in single precision. The factors are written in that
precision, and what is proved is proved of their product.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.reading import expecting
from simonides.tensor_files import read_tensors
from simonides.writing import replacing, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.arrays import Reals, Singles
    from simonides.editing.language_model import LanguageModel

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


def product(factors: tuple[Singles, Singles]) -> Reals:
    """Return the change that factors (dim_out, rank) and (dim_in, rank) in single precision make."""
    left, right = (factor.astype(np.float64) for factor in factors)
    return np.asarray(left @ right.T)


def singles(factors: tuple[Reals, Reals]) -> tuple[Singles, Singles]:
    """Return factors as they are written."""
    left, right = (np.ascontiguousarray(factor, dtype=np.float32) for factor in factors)
    return left, right


def write(folder: Path, model: LanguageModel, factors: tuple[Singles, Singles]) -> None:
    """Write an adapter of one layer; its scale is one, and it is named by the layer's whole path."""
    from safetensors.numpy import save as packed

    left, right = factors
    rank = left.shape[1]
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": source(model),
        "r": rank,
        "lora_alpha": rank,
        "lora_dropout": 0.0,
        "bias": "none",
        "inference_mode": True,
        "target_modules": [model.weight_name.removesuffix(".weight")],
    }
    write_whole(folder / CONFIG, json.dumps(config, indent=1).encode())
    first, second = _names(model)
    with replacing(folder / WEIGHTS) as file:
        file.write(packed({first: np.ascontiguousarray(right.T), second: left}))


def read(folder: Path, model: LanguageModel) -> tuple[Singles, Singles]:
    """Return the factors of an adapter of a model's layer."""
    path = folder / WEIGHTS
    with expecting("file", path, "an adapter of the layer", "pass a folder as it was written"):
        tensors: dict[str, Any] = read_tensors(path)[0]
        first, second = (tensors.get(name) for name in _names(model))
        if first is None or second is None or len(tensors) != 2:
            raise ValueError("its tensors are not the two factors")
        single = first.dtype == second.dtype == np.float32
        if not single or (len(second), first.shape[1:]) != (
            model.weight.shape[0],
            model.weight.shape[1:],
        ):
            raise ValueError("its factors are of another kind or shape")
    return second, first.T


def source(model: LanguageModel) -> str:
    """Return where a model is from, in full if it is a place on this machine."""
    place = Path(model.source)
    return str(place.resolve()) if place.exists() else model.source


def _names(model: LanguageModel) -> tuple[str, str]:
    """Return what PEFT calls the factor that reads keys, and the one that writes to the stream."""
    layer = "base_model.model." + model.weight_name.removesuffix(".weight")
    return f"{layer}.lora_A.weight", f"{layer}.lora_B.weight"


@contextlib.contextmanager
def applied(model: LanguageModel, factors: tuple[Singles, Singles]) -> Iterator[None]:
    """Run the block with factors beside the layer, one after the other in single precision, as PEFT."""
    import torch

    left, right = (torch.from_numpy(np.ascontiguousarray(factor)) for factor in factors)

    def added(_module: Any, keys: Any, output: Any) -> Any:
        return output + keys[0] @ right @ left.T

    hook = model.down.register_forward_hook(added)
    try:
        yield
    finally:
        hook.remove()
