"""Reading signals off a real PyTorch transformer, beside what theory says; needs the ``torch`` extra."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from simonides import arguments
from simonides.arrays import Reals, Truths
from simonides.failures import BadArgumentError
from simonides.signal.maps.architecture import Architecture
from simonides.signal.models.reading import Reading, read_model, refuse_model
from simonides.signal.networks.simulation import late, token_statistics, weight_statistics
from simonides.signal.notes import PoorTheoryWarning
from simonides.signal.propagation import Propagation, propagate

_ROWS_SUM = 1e-3
"""How far from one rows of attention may sum: half precision rounds to some 1e-3."""


@dataclass(frozen=True)
class ModelMeasurement:
    """What a model did to a batch: averages over its sequences, and theory for the same start.

    Attributes
    ----------
    tokens : float
        Mean length of a sequence.
    cosine, norm : array
        At the input of the first block, and after each.
    entropy, participation : array
        Of each block's attention.
    theory : Propagation or None
        None where no architecture was passed or could be read off the model.
    """

    tokens: float
    cosine: Reals
    norm: Reals
    entropy: Reals
    participation: Reals
    theory: Propagation | None


def measure(model: Any, batch: Any, architecture: Architecture | None = None) -> ModelMeasurement:
    """Measure cosine, entropy and participation of every block of a PyTorch model, beside theory.

    Theory starts at the measured cosine and norm of the input, at the batch's number of tokens.

    Parameters
    ----------
    model : torch.nn.Module
        Its blocks are the modules of the longest ``ModuleList``; the first tensor that a block takes and
        returns must be tokens (batch x tokens x dimension). Attention weights are taken from any module
        inside that returns rows which sum to one (batch x heads x queries x keys):
        ``torch.nn.MultiheadAttention`` and Hugging Face models are made to. The model is put in evaluation
        mode meanwhile.
    batch : tensor or mapping
        The model's argument, or several by name. Tokens that ``attention_mask`` (or
        ``src_key_padding_mask``) leaves out are not counted.
    architecture : Architecture, optional
        Default: the model's own, or that which its blocks and weights say (``torch.nn.TransformerEncoder``,
        Hugging Face encoders and GPT-2). At another number of tokens its query and key weights keep their
        scale, and beta follows.

    Returns
    -------
    ModelMeasurement

    Raises
    ------
    BadArgumentError
        If there are no blocks, or they do not return attention weights.

    Warns
    -----
    UserWarning
        Where no architecture can be read: why.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> layer = torch.nn.TransformerEncoderLayer(64, 4, batch_first=True)  # doctest: +SKIP
    >>> model = torch.nn.TransformerEncoder(layer, 6)  # doctest: +SKIP
    >>> measure(model, torch.randn(2, 32, 64)).cosine.shape  # doctest: +SKIP
    (7,)
    """
    blocks = _blocks(model)
    own, unknown = architecture or getattr(model, "architecture", None), ""
    known = None if own is None else Reading(own)
    if known is None:
        try:
            known = read_model(model, blocks)
        except BadArgumentError as error:
            unknown = str(error)
    causal = known is not None and known.architecture.causal
    record = BlockRecorder(blocks, _real(batch), causal)
    _run(model, batch, record)
    if any(not rows for rows in record.attention):
        raise refuse_model(
            model,
            "one whose blocks return attention weights",
            "load Hugging Face models with attn_implementation='eager'",
        )
    cosine, norm = np.array(record.streams).T
    entropy, participation = (
        np.array([np.mean([row[k] for row in rows]) for rows in record.attention]) for k in (0, 1)
    )
    tokens = float(np.mean(record.lengths))
    if not -3 * record.scatter <= cosine[0] < 1:
        unknown = f"tokens start at cosine {cosine[0]:.3g}, which is not covered"
    theory = None
    if known is None or unknown:
        warnings.warn(f"measured without theory: {unknown}", stacklevel=2)
    else:
        for note in known.notes:
            warnings.warn(note, PoorTheoryWarning, stacklevel=2)
        # Independent tokens scatter to both sides of 0.
        start = max(float(cosine[0]), 0.0)
        network, betas = known.at(max(2, round(tokens)), start, float(norm[0]))
        theory = propagate(network, betas=betas)
    return ModelMeasurement(tokens, cosine, norm, entropy, participation, theory)


def _run(model: Any, batch: Any, record: BlockRecorder) -> None:
    """Run the model with hooks on its blocks, and leave it as it was."""
    import torch

    with ExitStack() as afterwards, torch.no_grad():
        afterwards.callback(model.train, model.training)
        model.eval()
        for number, block in enumerate(record.blocks):
            for handle in record.attach(block, number):
                afterwards.enter_context(handle)
        if hasattr(model, "set_attn_implementation"):
            # Hugging Face's other ways to attend do not return the weights.
            afterwards.callback(model.set_attn_implementation, model.config._attn_implementation)
            model.set_attn_implementation("eager")
        model(**batch) if isinstance(batch, Mapping) else model(batch)


def _real(batch: Any) -> list[Truths] | None:
    """Return which tokens of each sequence are real, None if all are."""
    if not isinstance(batch, Mapping):
        return None
    for name, real in (("attention_mask", True), ("src_key_padding_mask", False)):
        if batch.get(name) is not None:
            rows = batch[name].detach().cpu().numpy().astype(bool)
            return list(rows if real else ~rows)
    return None


def _blocks(model: Any) -> list[Any]:
    from torch import nn

    if not isinstance(model, nn.Module):
        raise refuse_model(model, "a torch.nn.Module", "pass the model")
    modules = (module for module in model.modules() if isinstance(module, nn.ModuleList))
    lists = [list(module) for module in modules if len(module)]
    if not lists:
        remedy = "wrap the blocks in torch.nn.ModuleList"
        raise refuse_model(model, "one that keeps its blocks in a ModuleList", remedy)
    return max(lists, key=len)


@dataclass
class BlockRecorder:
    """Averages of what passes, and nothing else.

    ``real`` says which tokens of each sequence count; of a ``causal`` model late positions do.
    """

    blocks: list[Any]
    real: list[Truths] | None
    causal: bool
    lengths: tuple[int, ...] = ()
    scatter: float = 0.0

    def __post_init__(self) -> None:
        self.streams: list[tuple[float, float]] = []
        self.attention: list[list[tuple[float, float, float]]] = [[] for _ in self.blocks]

    def attach(self, block: Any, number: int) -> list[Any]:
        """Add hooks to one block and all modules inside it."""
        from torch import nn

        handles = [block.register_forward_hook(self._after)]
        if number == 0:
            handles.append(block.register_forward_pre_hook(self._before, with_kwargs=True))
        for module in block.modules():
            if isinstance(module, nn.MultiheadAttention):
                handles.append(module.register_forward_pre_hook(_ask_for_weights, with_kwargs=True))
            handles.append(module.register_forward_hook(partial(self._weights, number)))
        return handles

    def _before(self, _module: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        tokens = inputs[0] if inputs else named["hidden_states"]
        self._stream(tokens)
        sequences = self._sequences(tokens)
        self.lengths = tuple(len(sequence) for sequence in sequences)
        # What the mean cosine of independent tokens scatters by; sequences may share their positions.
        counted = min(len(late(self.causal, sequence)) for sequence in sequences)
        self.scatter = 1 / math.sqrt(max(counted * (counted - 1) / 2, 1) * tokens.shape[-1])

    def _after(self, _module: Any, _inputs: Any, outputs: Any) -> None:
        self._stream(outputs[0] if isinstance(outputs, tuple) else outputs)

    def _stream(self, x: Any) -> None:
        rows = [token_statistics(late(self.causal, sequence)) for sequence in self._sequences(x)]
        cosine, norm = np.array(rows).T
        self.streams.append((float(cosine.mean()), float(norm.mean())))

    def _sequences(self, x: Any) -> list[Any]:
        """Return each sequence's own tokens."""
        sequences = x.detach().double().cpu().numpy()
        if sequences.ndim != 3:
            condition, remedy = "batch x tokens x dimension inside", "pass whole sequences"
            raise arguments.refuse("batch", sequences.shape, condition, remedy)
        if self.real is None:
            return list(sequences)
        return [tokens[own] for tokens, own in zip(sequences, self.real, strict=True)]

    def _weights(self, number: int, _module: Any, _inputs: Any, outputs: Any) -> None:
        # A block passes on what its attention returned; each is counted once.
        if self.attention[number] or not isinstance(outputs, tuple):
            return
        for rows in filter(_are_weights, outputs):
            heads = list(rows.detach().double().cpu().numpy())
            if self.real is not None:
                own = zip(heads, self.real, strict=True)
                heads = [weights[:, real][:, :, real] for weights, real in own]
            self.attention[number] += [
                weight_statistics(late(self.causal, weights, axis=1)) for weights in heads
            ]
            return


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
