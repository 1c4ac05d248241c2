"""Reading signals off a real PyTorch transformer, beside what theory says; needs the ``torch`` extra."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments
from simonides.failures import BadArgumentError
from simonides.signal.models.hooks import Record
from simonides.signal.models.reading import Reading, read_model
from simonides.signal.notes import PoorTheoryWarning
from simonides.signal.propagation import Propagation, propagate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simonides.arrays import Reals, Truths
    from simonides.signal.maps.architecture import Architecture


@dataclass(frozen=True)
class Measurement:
    """What a model did to a batch: averages over its sequences, and theory for the same start.

    ``cosine`` and ``norm`` have one entry for the input of the first block and one after each,
    ``entropy`` and ``participation`` one for each block; ``tokens`` is the mean length of a sequence.
    ``theory`` is None where no architecture was given or could be read off the model.
    """

    tokens: float
    cosine: Reals
    norm: Reals
    entropy: Reals
    participation: Reals
    theory: Propagation | None


def measure(model: Any, batch: Any, architecture: Architecture | None = None) -> Measurement:
    """Run a model on a batch and return cosine, entropy and participation of every block.

    Blocks are the modules of the longest ``ModuleList``; the first tensor that a block takes and
    returns must be tokens (batch x tokens x dimension). Attention weights are taken from any module
    inside that returns rows which sum to one (batch x heads x queries x keys):
    ``torch.nn.MultiheadAttention`` and Hugging Face models are asked for them. ``batch`` is the model's
    argument, or a mapping of several; tokens that its ``attention_mask`` (or
    ``src_key_padding_mask``) leaves out are not counted. The model is put in evaluation mode
    meanwhile.

    Theory is computed at the measured cosine and norm of the input and the number of tokens: for the
    architecture given, the model's own, or that which its blocks and weights say
    (``torch.nn.TransformerEncoder``, Hugging Face encoders and GPT-2). Where the batch has another
    number of tokens than the architecture given, its query and key weights keep their scale, and beta
    follows. Where no architecture can be read a warning says why.
    """
    blocks = _blocks(model)
    known = architecture or getattr(model, "architecture", None) or _read(model, blocks)
    record = Record(len(blocks), _kept(batch), _shape(known))
    _run(model, batch, blocks, record)
    if any(not rows for rows in record.attention):
        raise arguments.refuse(
            "model", type(model).__name__, "one whose blocks return attention weights",
            "load Hugging Face models with attn_implementation='eager'",
        )  # fmt: skip
    cosine, norm = np.array(record.streams).T
    entropy, participation = (
        np.array([np.mean([row[k] for row in rows]) for rows in record.attention]) for k in (0, 1)
    )
    tokens = float(np.mean(record.lengths))
    theory = _theory(known, tokens, float(cosine[0]), float(norm[0]), record.scatter)
    return Measurement(tokens, cosine, norm, entropy, participation, theory)


def _run(model: Any, batch: Any, blocks: list[Any], record: Record) -> None:
    """Run the model with hooks on its blocks, and leave it as it was."""
    import torch

    handles = [
        handle for number, block in enumerate(blocks) for handle in record.attach(block, number)
    ]
    training = model.training
    model.eval()
    try:
        with torch.no_grad(), _eager(model):
            model(**batch) if isinstance(batch, Mapping) else model(batch)
    finally:
        model.train(training)
        for handle in handles:
            handle.remove()


@contextmanager
def _eager(model: Any) -> Iterator[None]:
    """Ask a Hugging Face model for attention that returns its weights."""
    if not hasattr(model, "set_attn_implementation"):
        yield
        return
    usual = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(usual)


def _kept(batch: Any) -> list[Truths] | None:
    """Return which tokens of each sequence are real, None if all are."""
    if not isinstance(batch, Mapping):
        return None
    for name, real in (("attention_mask", True), ("src_key_padding_mask", False)):
        if batch.get(name) is not None:
            rows = batch[name].detach().cpu().numpy().astype(bool)
            return [row if real else ~row for row in rows]
    return None


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


def _read(model: Any, blocks: list[Any]) -> Reading | str:
    """Return what a model is, or why that cannot be said."""
    try:
        return read_model(model, blocks)
    except BadArgumentError as unknown:
        return str(unknown)


def _shape(known: Architecture | Reading | str) -> Architecture | None:
    if isinstance(known, str):
        return None
    return known.architecture if isinstance(known, Reading) else known


def _theory(
    known: Architecture | Reading | str, tokens: float, cosine: float, norm: float, scatter: float
) -> Propagation | None:
    unknown = known if isinstance(known, str) else ""
    if not -3 * scatter <= cosine < 1:
        unknown = f"tokens start at cosine {cosine:.3g}, which is not covered"
    if isinstance(known, str) or unknown:
        warnings.warn(f"measured without theory: {unknown}", stacklevel=3)
        return None
    cosine = max(cosine, 0.0)  # independent tokens scatter to both sides of 0
    keys = max(2, round(tokens))
    if not isinstance(known, Reading):
        return propagate(_at(known, keys, cosine, norm))
    for note in known.notes:
        warnings.warn(note, PoorTheoryWarning, stacklevel=3)
    asked, betas = known.at(keys, cosine, norm)
    return propagate(asked, betas=betas)


def _at(known: Architecture, tokens: int, cosine: float, input_variance: float) -> Architecture:
    """Return an architecture for a batch; its weights stay, so beta goes with the number of tokens."""
    changes: dict[str, Any] = {
        "tokens": tokens,
        "cosine": cosine,
        "input_variance": input_variance,
        "beta": known.beta * math.sqrt(math.log(known.tokens) / math.log(tokens)),
    }
    return replace(known, **changes)
