"""To PyTorch and back: a memory is a linear layer without a bias, or two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments

if TYPE_CHECKING:
    from simonides.arrays import Reals


def to_layers(weights: Reals, factors: tuple[Reals, Reals] | None) -> Any:
    """Return ``nn.Linear`` in double precision, or ``nn.Sequential`` of two for factors."""
    torch = _torch()
    layers = (weights,) if factors is None else (factors[1].T, factors[0])
    linears = [_linear(torch, np.ascontiguousarray(layer)) for layer in layers]
    return linears[0] if factors is None else torch.nn.Sequential(*linears)


def weights_of(layer: Any) -> tuple[Reals, tuple[Reals, Reals] | None]:
    """Return the weights of ``nn.Linear``, or the factors of two in a row, as double precision."""
    torch = _torch()
    parts = list(layer) if isinstance(layer, torch.nn.Sequential) else [layer]
    if len(parts) not in (1, 2) or not all(isinstance(part, torch.nn.Linear) for part in parts):
        raise arguments.refuse(
            "layer", type(layer).__name__, "nn.Linear, or nn.Sequential of two", "pass one"
        )
    for part in parts:
        if part.bias is not None and bool(part.bias.detach().any()):
            raise arguments.refuse(
                "layer.bias", "not zero", "zero or None", "a memory has none: fold it into an input"
            )
    arrays = [part.weight.detach().cpu().double().numpy().copy() for part in parts]
    if len(arrays) == 1:
        return arrays[0], None
    shapes = [array.shape for array in arrays]
    if shapes[0][0] != shapes[1][1]:
        raise arguments.refuse(
            "layer", shapes, "two layers of which one feeds the other", "their sizes must agree"
        )
    if shapes[0][0] > min(shapes[0][1], shapes[1][0]):
        raise arguments.refuse(
            "layer", shapes, "two layers that narrow in between", "multiply them into one nn.Linear"
        )
    return arrays[1] @ arrays[0], (arrays[1], np.ascontiguousarray(arrays[0].T))


def _linear(torch: Any, weights: Reals) -> Any:
    rows, columns = weights.shape
    layer = torch.nn.Linear(columns, rows, bias=False, dtype=torch.float64, device="meta")
    layer.weight = torch.nn.Parameter(torch.tensor(weights))
    return layer


def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError as missing:
        if missing.name != "torch":
            raise
        raise arguments.refuse("torch", None, "installed", arguments.install("torch")) from None
    return torch
