"""Does it train? A small BERT-style model of text; needs the ``torch`` extra.

Some characters of a text are hidden, and the network writes the whole text down again. Characters it
sees must reach the last layer, those it does not see must be found from others. A network whose tokens
have collapsed can do no better than guess by frequency, since every position looks alike.

The text is one that every Python carries: the topics of its built-in help, ``pydoc_data.topics``, about
700,000 characters of English about Python. It needs no network and no licence beyond Python's own.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from simonides import arguments
from simonides.arrays import Integers
from simonides.signal.maps.architecture import Architecture
from simonides.signal.networks.torch_network import Transformer, normalised

ALPHABET = " etaoinsrhldcumfpgwybvkxjqz.,()'0\n"
"""Characters kept, all digits written as 0; anything else becomes a space."""

MASK = len(ALPHABET)
VOCABULARY = len(ALPHABET) + 1

MASKED = 0.15
"""Share of characters that are hidden, as in BERT."""

_HELD_OUT = 0.1
"""Share of the text, its end, that is not trained on."""

_UNSEEN_BATCHES = 16
"""Of unseen text that a loss is averaged over: half a thousand sequences at the usual batch."""

_SEEN_LETTERS = 0.5
"""Share of an embedding's variance that says which character it is; the rest says where."""


@dataclass(frozen=True)
class TrainingSchedule:
    """How long and how fast to train."""

    steps: int = 150
    batch: int = 32
    learning_rate: float = 2e-3
    warm_up: int = 20

    def __post_init__(self) -> None:
        arguments.whole("steps", self.steps, remedy="pass the number of updates")
        arguments.whole("batch", self.batch, remedy="pass the sequences of one update")
        arguments.whole("warm_up", self.warm_up, least=0, remedy="0 leaves it out")
        arguments.positive("learning_rate", self.learning_rate, remedy="2e-3 is usual")


@dataclass(frozen=True)
class TrainedModel:
    """What training came to.

    ``loss`` is the mean over all characters of unseen text, in nats, ``guessing`` that of frequencies
    alone, ``cosine`` that of two embedded tokens before training, ``gradient`` the norm of the
    whole gradient at the first step, ``history`` the training loss of every step.
    """

    loss: float
    guessing: float
    cosine: float
    gradient: float
    history: tuple[float, ...]


class MaskedModel(nn.Module):
    """Embeddings of characters and positions, a random transformer, and a linear read-out."""

    def __init__(self, architecture: Architecture, seed: int) -> None:
        super().__init__()
        rng = np.random.default_rng([seed, 1])
        dim = architecture.dim

        def drawn(rows: int, share: float) -> nn.Parameter:
            values = rng.standard_normal((rows, dim), np.float32)
            return nn.Parameter(torch.from_numpy(values * np.float32(math.sqrt(share))))

        self.letters = drawn(VOCABULARY, _SEEN_LETTERS)
        self.places = drawn(architecture.tokens, 1 - _SEEN_LETTERS)
        self.body = Transformer(architecture, seed)
        self.read_out = nn.Linear(dim, VOCABULARY)
        with torch.no_grad():
            self.read_out.weight.copy_(drawn(VOCABULARY, 1 / dim))
            self.read_out.bias.zero_()

    def embed(self, codes: torch.Tensor) -> torch.Tensor:
        """Return embedded tokens."""
        return self.letters[codes] + self.places

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        """Return scores of every character at every position."""
        scores: torch.Tensor = self.read_out(normalised(self.body(self.embed(codes))))
        return scores


def train(
    architecture: Architecture,
    seed: int,
    schedule: TrainingSchedule | None = None,
    text: Integers | None = None,
) -> TrainedModel:
    """Train a masked language model from this initialisation with Adam.

    The text is Python's own help unless codes are given. Weights, batches and masks follow from the
    seed.
    """
    plan = schedule or TrainingSchedule()
    codes = python_help() if text is None else text
    cut = int((1 - _HELD_OUT) * codes.size)
    model = MaskedModel(architecture, seed)
    rng = np.random.default_rng([seed, 2])
    optimiser = torch.optim.Adam(model.parameters(), lr=plan.learning_rate)
    warming = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / (plan.warm_up + 1))
    )
    history: list[float] = []
    cosine, gradient = math.nan, math.nan
    for step in range(plan.steps):
        shown, whole = _batch(codes[:cut], architecture.tokens, plan.batch, rng)
        if step == 0:
            cosine = _cosine(model, shown)
        loss = _loss(model, shown, whole)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        gradient = float(norm) if step == 0 else gradient
        optimiser.step()
        warming.step()
        history.append(loss.item())
    return TrainedModel(
        loss=_unseen(model, codes[cut:], plan.batch),
        guessing=letter_entropy(codes[cut:]),
        cosine=cosine,
        gradient=gradient,
        history=tuple(history),
    )


def _batch(
    codes: Integers, tokens: int, size: int, rng: np.random.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return sequences with characters hidden, and the same sequences whole."""
    starts = rng.integers(0, codes.size - tokens, size)
    chosen = codes[starts[:, None] + np.arange(tokens)]
    hide = rng.random(chosen.shape) < MASKED
    return torch.from_numpy(np.where(hide, MASK, chosen)), torch.from_numpy(chosen)


def _loss(model: MaskedModel, shown: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(model(shown).flatten(0, 1), whole.flatten())


def _unseen(model: MaskedModel, codes: Integers, size: int) -> float:
    rng = np.random.default_rng(0)  # the same unseen text for every network
    with torch.no_grad():
        losses = [
            _loss(model, *_batch(codes, model.body.architecture.tokens, size, rng)).item()
            for _ in range(_UNSEEN_BATCHES)
        ]
    return float(np.mean(losses))


def _cosine(model: MaskedModel, shown: torch.Tensor) -> float:
    """Return the mean cosine of two embedded tokens of a sequence."""
    with torch.no_grad():
        tokens = functional.normalize(normalised(model.embed(shown)), dim=-1)
        total = float(tokens.sum(dim=1).square().sum(dim=-1).mean())
    count = shown.shape[1]
    return float((total - count) / (count * (count - 1)))


def python_help() -> Integers:
    """Return the text as positions in ``ALPHABET``, runs of spaces made one."""
    from pydoc_data.topics import topics

    text = "\n".join(topics[name] for name in sorted(topics)).lower()
    text = re.sub(f"[^{re.escape(ALPHABET)}]", " ", re.sub("[1-9]", "0", text))
    return np.array([ALPHABET.index(letter) for letter in re.sub(" +", " ", text)], dtype=np.int64)


def letter_entropy(codes: Integers) -> float:
    """Return the entropy of single characters, in nats: what guessing without context costs."""
    counts = np.bincount(codes, minlength=len(ALPHABET))
    shares = counts[counts > 0] / codes.size
    return -float(shares @ np.log(shares))
