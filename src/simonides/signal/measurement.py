"""Reading signals off a real PyTorch transformer, beside what theory says; needs the ``torch`` extra."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.signal.observables import token_statistics, weight_statistics
from simonides.signal.propagation import Propagation, propagate

if TYPE_CHECKING:
    from simonides.arrays import Reals
    from simonides.signal.architecture import Architecture

_ROWS_SUM = 1e-3


@dataclass(frozen=True)
class Measurement:
    """What a model did to a batch: averages over its sequences, and theory for the same start.

    ``cosine`` has one entry for the input of the first block and one after each, ``entropy`` and
    ``participation`` one for each block. ``theory`` is None where no architecture was given or could
    be read off the model.
    """

    cosine: Reals
    entropy: Reals
    participation: Reals
    theory: Propagation | None


def measure(model: Any, batch: Any, architecture: Architecture | None = None) -> Measurement:
    """Run a model on a batch and return cosine, entropy and participation of every block.

    Blocks are the modules of the longest ``ModuleList``; the first tensor that a block takes and
    returns must be tokens (batch x tokens x dimension). Attention weights are taken from any module
    inside that returns rows which sum to one (batch x heads x queries x keys):
    ``torch.nn.MultiheadAttention`` is asked for them, Hugging Face models must be loaded with
    ``attn_implementation="eager"``. ``batch`` is the model's argument, or a mapping of several. The
    model is put in evaluation mode meanwhile. Theory is computed at the measured cosine of the
    input, for the architecture given or, failing that, the model's own.
    """
    import torch

    blocks = _blocks(model)
    record = _Record(len(blocks))
    handles = [
        handle for number, block in enumerate(blocks) for handle in record.attach(block, number)
    ]
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            model(**batch) if isinstance(batch, dict) else model(batch)
    finally:
        model.train(training)
        for handle in handles:
            handle.remove()
    if any(not rows for rows in record.attention):
        raise arguments.refuse(
            "model", type(model).__name__, "one whose blocks return attention weights",
            "load Hugging Face models with attn_implementation='eager'",
        )  # fmt: skip
    cosine = np.array([token for token, _ in record.streams])
    entropy, participation = (
        np.array([np.mean([row[k] for row in rows]) for rows in record.attention]) for k in (0, 1)
    )
    asked = architecture or getattr(model, "architecture", None)
    return Measurement(cosine, entropy, participation, _theory(asked, float(cosine[0])))


class _Record:
    """Hooks that keep averages of what passes, and nothing else."""

    def __init__(self, blocks: int) -> None:
        self.streams: list[tuple[float, float]] = []
        self.attention: list[list[tuple[float, float, float]]] = [[] for _ in range(blocks)]

    def attach(self, block: Any, number: int) -> list[Any]:
        """Add hooks to one block and all modules inside it."""
        from torch import nn

        handles = [block.register_forward_hook(self._after)]
        if number == 0:
            handles.append(block.register_forward_pre_hook(self._before, with_kwargs=True))
        for module in block.modules():
            if isinstance(module, nn.MultiheadAttention):
                handles.append(module.register_forward_pre_hook(_ask_for_weights, with_kwargs=True))
            handles.append(module.register_forward_hook(self._weights(number)))
        return handles

    def _before(self, _module: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.streams.append(_tokens(inputs[0] if inputs else named["hidden_states"]))

    def _after(self, _module: Any, _inputs: Any, found: Any) -> None:
        self.streams.append(_tokens(found[0] if isinstance(found, tuple) else found))

    def _weights(self, number: int) -> Any:
        def keep(_module: Any, _inputs: Any, found: Any) -> None:
            # A block passes on what its attention returned; each is counted once.
            if self.attention[number] or not isinstance(found, tuple):
                return
            for part in found:
                if _are_weights(part):
                    rows = part.detach().double().cpu().numpy()
                    self.attention[number] += [weight_statistics(one) for one in rows]
                    return

        return keep


def _blocks(model: Any) -> list[Any]:
    from torch import nn

    if not isinstance(model, nn.Module):
        raise arguments.refuse("model", type(model).__name__, "a torch.nn.Module", "pass the model")
    lists = [list(one) for one in model.modules() if isinstance(one, nn.ModuleList) and len(one)]
    if not lists:
        raise arguments.refuse(
            "model", type(model).__name__, "one that keeps its blocks in a ModuleList",
            "wrap the blocks in torch.nn.ModuleList",
        )  # fmt: skip
    return max(lists, key=len)


def _tokens(x: Any) -> tuple[float, float]:
    sequences = x.detach().double().cpu().numpy()
    if sequences.ndim != 3:
        raise arguments.refuse(
            "batch", sequences.shape, "batch x tokens x dimension inside", "pass whole sequences"
        )
    found = np.array([token_statistics(one) for one in sequences])
    return float(found[:, 0].mean()), float(found[:, 1].mean())


def _are_weights(part: Any) -> bool:
    return (
        getattr(part, "ndim", 0) == 4
        and part.shape[-1] == part.shape[-2]
        and bool((part.sum(dim=-1) - 1).abs().max() < _ROWS_SUM)
    )


def _ask_for_weights(
    _module: Any, inputs: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return inputs, {**named, "need_weights": True, "average_attn_weights": False}


def _theory(asked: Architecture | None, cosine: float) -> Propagation | None:
    if asked is None:
        return None
    if not 0 <= cosine < 1:
        warnings.warn(
            f"tokens start at cosine {cosine:.3g}, which the theory does not cover", stacklevel=3
        )
        return None
    return propagate(replace(asked, cosine=cosine))
