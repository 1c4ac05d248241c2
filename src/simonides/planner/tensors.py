"""From tensors to layers: which of them are linear maps, of what shape, and how many alike."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import TypeVar

from simonides.planner.model import Layer, Model, Skipped
from simonides.tensor_files import Tensor

Kind = TypeVar("Kind")

_TOKEN_TABLES = (
    "wte", "embed_tokens", "word_embeddings", "word_embedding", "tok_embeddings", "token_embedding",
    "token_embeddings", "embed_in", "shared", "token_embd", "embeddings",
)  # fmt: skip
"""Names under which models keep one vector per token."""

_OTHER_TABLES = ("wpe", "relative_attention_bias", "attn_rel_b", "token_types")
"""The same for positions and segments."""

_HEADS = ("lm_head", "embed_out", "output")
"""Names of the map from the last layer to the tokens; only at the top, or it is a block's own."""

_SCALES = re.compile(r"(.*_)?(scales?|q?zeros?|zero_points?|absmax|biases)(_inv|_\d+)?")
"""What quantised weights keep beside them, by the last part of a name: a number for a block of entries."""

_WEIGHTS = ("weight", "qweight", "packed_weight", "weight_packed")

PACKED = "not floating point: packed weights, whose shape need not be the layer's"
"""Why integers are no layer that are called weights, or have scales beside them."""

_DECAYS = ("A_log", "ssm_a")
"""Names of Mamba for how fast entries of its state fade: of the state's shape, and no map."""

_INDICES = "not floating point: indices or a mask"


def model_of(source: str, tensors: Mapping[str, Tensor]) -> Model:
    """Return the linear layers among tensors, those of one name but for its numbers together."""
    layers: dict[str, tuple[int, int]] = {}
    skipped: dict[str, tuple[tuple[int, ...], str]] = {}
    scaled = {
        _home(name)
        for name, tensor in tensors.items()
        if len(tensor.shape) > 1 and _SCALES.fullmatch(_last(name))
    }
    for name, tensor in tensors.items():
        packed = _last(name) in _WEIGHTS or _home(name) in scaled
        reason = _reason_to_skip(name, tensor, tensors, PACKED if packed else _INDICES)
        if reason is None:
            layers[_module(name)] = _oriented(name, tensor, tensors)
        else:
            skipped[name] = (tensor.shape, reason)
    return Model(
        source=source,
        family="shapes of tensors",
        vocabulary=_vocabulary(tensors),
        layers=tuple(Layer(name, *dims, count) for name, dims, count in alike(layers)),
        skipped=tuple(
            Skipped(name, shape, reason, count) for name, (shape, reason), count in alike(skipped)
        ),
        states=tuple(Layer(name, *dims, count) for name, dims, count in alike(_states(tensors))),
    )


def _reason_to_skip(
    name: str, tensor: Tensor, tensors: Mapping[str, Tensor], integers: str
) -> str | None:
    if 0 in tensor.shape:
        return "empty"
    if len(tensor.shape) < 2:
        return "a vector or a number"
    if _SCALES.fullmatch(_last(name)):
        return "scales or zero points of quantised weights"
    if not tensor.is_float:
        return integers
    if _last(name) in _DECAYS:
        return "decays of a state, which every text writes anew"
    if len(tensor.shape) > 2 or "conv1d" in name:
        return "more than two axes: a convolution or a stack"
    if "lora_" in name:
        return "a factor of an adapter"
    last = _last(_module(name))
    table = ("embed" in last or "embd" in last) and last not in _HEADS
    if (table or last in _TOKEN_TABLES or last in _OTHER_TABLES) and _bias(name, tensors) is None:
        return "a table of vectors"
    return None


def _states(tensors: Mapping[str, Tensor]) -> dict[str, tuple[int, int]]:
    """Return what states are read by and what is read, by the module that keeps them."""
    return {
        _home(name): (tensor.shape[1], tensor.shape[0])
        for name, tensor in tensors.items()
        if _last(name) in _DECAYS and len(tensor.shape) == 2 and 0 not in tensor.shape
    }


def _home(name: str) -> str:
    return name.rpartition(".")[0]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _oriented(name: str, tensor: Tensor, tensors: Mapping[str, Tensor]) -> tuple[int, int]:
    """Return input and output dimension: rows are outputs, unless the bias says that columns are."""
    rows, columns = tensor.shape
    bias = _bias(name, tensors)
    transposed = bias is not None and bias.shape == (columns,)  # as GPT-2 stores its weights
    return (rows, columns) if transposed else (columns, rows)


def _bias(name: str, tensors: Mapping[str, Tensor]) -> Tensor | None:
    return tensors.get(f"{_module(name)}.bias") if name.endswith(".weight") else None


def _module(name: str) -> str:
    return name.removesuffix(".weight")


def _vocabulary(tensors: Mapping[str, Tensor]) -> int | None:
    """Return how many tokens there are by the table of their vectors, or else by the output head."""
    matrices = {_module(name): each.shape for name, each in tensors.items() if len(each.shape) == 2}
    for name, (rows, _) in matrices.items():
        if _last(name) in _TOKEN_TABLES:
            return rows
    return next((shape[0] for name, shape in matrices.items() if name in _HEADS), None)


def alike(kinds: Mapping[str, Kind]) -> list[tuple[str, Kind, int]]:
    """Return names with ``*`` for their numbers, where all of one such name are of one kind."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in kinds:
        groups[_without_numbers(name)].append(name)
    rows = []
    for pattern, names in groups.items():
        if len({kinds[name] for name in names}) == 1 and len(names) > 1:
            rows.append((pattern, kinds[names[0]], len(names)))
        else:
            rows += [(name, kinds[name], 1) for name in names]
    return rows


def _without_numbers(name: str) -> str:
    return ".".join("*" if part.isdecimal() else part for part in name.split("."))
