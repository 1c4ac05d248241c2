"""Hooks on the blocks of a PyTorch transformer that measure what passes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.signal.networks.observables import token_statistics, weight_statistics
from simonides.signal.networks.simulation import late, late_rows

if TYPE_CHECKING:
    from simonides.arrays import Truths
    from simonides.signal.maps.architecture import Architecture

_ROWS_SUM = 1e-3


class Record:
    """Averages of what passes, and nothing else.

    ``kept`` says which tokens of each sequence count; of a causal ``shape`` late positions do.
    """

    def __init__(self, blocks: int, kept: list[Truths] | None, shape: Architecture | None) -> None:
        self.streams: list[tuple[float, float]] = []
        self.attention: list[list[tuple[float, float, float]]] = [[] for _ in range(blocks)]
        self.lengths: list[int] = []
        self.scatter = 0.0
        self._kept = kept
        self._shape = shape

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
        tokens = inputs[0] if inputs else named["hidden_states"]
        self._stream(tokens)
        sequences = self._sequences(tokens)
        self.lengths = [len(one) for one in sequences]
        # What the mean cosine of independent tokens scatters by; sequences may share their positions.
        counted = min(len(self._late(one)) for one in sequences)
        self.scatter = 1 / math.sqrt(max(counted * (counted - 1) / 2, 1) * tokens.shape[-1])

    def _after(self, _module: Any, _inputs: Any, found: Any) -> None:
        self._stream(found[0] if isinstance(found, tuple) else found)

    def _stream(self, x: Any) -> None:
        found = np.array([token_statistics(self._late(one)) for one in self._sequences(x)])
        self.streams.append((float(found[:, 0].mean()), float(found[:, 1].mean())))

    def _sequences(self, x: Any) -> list[Any]:
        """Return each sequence's own tokens."""
        sequences = x.detach().double().cpu().numpy()
        if sequences.ndim != 3:
            raise arguments.refuse(
                "batch",
                sequences.shape,
                "batch x tokens x dimension inside",
                "pass whole sequences",
            )
        if self._kept is None:
            return list(sequences)
        return [one[own] for one, own in zip(sequences, self._kept, strict=True)]

    def _late(self, x: Any) -> Any:
        return x if self._shape is None else late(self._shape, x)

    def _weights(self, number: int) -> Any:
        def keep(_module: Any, _inputs: Any, found: Any) -> None:
            # A block passes on what its attention returned; each is counted once.
            if self.attention[number] or not isinstance(found, tuple):
                return
            for part in found:
                if _are_weights(part):
                    rows = part.detach().double().cpu().numpy()
                    self.attention[number] += [self._rows(one, i) for i, one in enumerate(rows)]
                    return

        return keep

    def _rows(self, weights: Any, sequence: int) -> tuple[float, float, float]:
        if self._kept is not None:
            own = self._kept[sequence]
            weights = weights[:, own][:, :, own]
        return weight_statistics(
            weights if self._shape is None else late_rows(self._shape, weights)
        )


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
