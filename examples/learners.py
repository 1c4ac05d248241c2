"""What is trained: an adapter of one matrix, adapters of all matrices, and two layers from scratch.

Each ``draw`` gives a new network and its facts, ``settings`` are the maps in it that are trained, ``most``
the facts that there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from peft import LoraConfig, get_peft_model, inject_adapter_in_model
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

from examples.learning import Material
from examples.smollm import Readings
from simonides.planner.families import model_of
from simonides.planner.plan import bound, plan
from simonides.theory.setting import Setting

ALPHA = 2
"""``lora_alpha`` over the rank, as the planner prints it."""


@dataclass(frozen=True, eq=False)
class OneMatrix:
    """An adapter of the last matrix of a language model: what it reads and adds to is read once."""

    rank: int
    readings: Readings
    candidates: int = 1024
    name: str = "one matrix"

    @property
    def keys(self) -> str:
        """What the adapter reads."""
        return self.readings.kind

    @property
    def most(self) -> int:
        """Facts that there are."""
        return len(self.readings.keys)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The maps that are trained."""
        dim_in, dim_out = self.readings.keys.shape[1], self.readings.outputs.shape[1]
        return (Setting(dim_in, dim_out, self.candidates, self.rank),)

    def draw(self, facts: int, seed: int) -> tuple[nn.Module, Material]:
        """Return the end of the model with a new adapter, and prompts with tokens at random."""
        rng = np.random.default_rng(seed)
        tokens = rng.permutation(len(self.readings.outputs))[: self.candidates]
        prompts = rng.permutation(self.most)[:facts]
        torch.manual_seed(seed)
        network = LastLayers(torch.from_numpy(self.readings.outputs[tokens]), self.settings[0])
        given = (self.readings.keys[prompts], self.readings.streams[prompts])
        return network, Material(
            tuple(map(torch.from_numpy, given)), _evenly(facts, self.candidates, rng)
        )


class LastLayers(nn.Module):
    """From what the last matrix reads to the logits: its adapter, the norm and the head.

    The matrix itself is in the streams already, so that here it is zero. The head has the norm's gains.
    """

    def __init__(self, outputs: torch.Tensor, setting: Setting) -> None:
        super().__init__()
        self.down = nn.Linear(setting.dim_in, setting.dim_out, bias=False)
        self.norm = nn.RMSNorm(setting.dim_out, elementwise_affine=False)
        self.head = nn.Linear(setting.dim_out, len(outputs), bias=False)
        with torch.no_grad():
            self.down.weight.zero_()
            self.head.weight.copy_(outputs)
        inject_adapter_in_model(_lora(setting.rank, ["down"]), self)

    def forward(self, keys: torch.Tensor, streams: torch.Tensor) -> torch.Tensor:
        """Return the logits after each prompt."""
        logits: torch.Tensor = self.head(self.norm(streams + self.down(keys)))
        return logits


@dataclass(frozen=True, slots=True)
class AllMatrices:
    """Adapters of every linear map in the blocks of a small Llama with random weights."""

    rank: int
    hidden: int = 32
    intermediate: int = 64
    blocks: int = 2
    candidates: int = 256
    length: int = 2
    most: int = 50_000
    name: str = "all matrices"
    keys: str = "as they are"

    @property
    def config(self) -> dict[str, Any]:
        """The model's config.json, as far as it matters."""
        return {
            "model_type": "llama",
            "vocab_size": self.candidates,
            "hidden_size": self.hidden,
            "intermediate_size": self.intermediate,
            "num_hidden_layers": self.blocks,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "tie_word_embeddings": False,
            # So that a block changes the stream by about its own size, as trained ones do.
            "initializer_range": self.hidden**-0.5,
        }

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The maps that are trained: what the planner counts in the blocks."""
        answer = plan(model_of(self.name, self.config), lora_rank=self.rank)
        return tuple(
            row.lora.setting
            for row in answer.rows
            if row.lora is not None and "*" in row.layer.name
            for _ in range(row.layer.count)
        )

    def draw(self, facts: int, seed: int) -> tuple[nn.Module, Material]:
        """Return a model with new adapters, and prompts of random tokens with tokens at random."""
        rng = np.random.default_rng(seed)
        prompts = _different(rng, facts, self.length, self.candidates)
        torch.manual_seed(seed)
        options = {key: value for key, value in self.config.items() if key != "model_type"}
        network = LlamaForCausalLM(LlamaConfig(pad_token_id=None, **options))
        adapted = Answering(get_peft_model(network, _lora(self.rank, "all-linear")))
        return adapted, Material((torch.from_numpy(prompts),), _evenly(facts, self.candidates, rng))


class Answering(nn.Module):
    """A language model as it answers: the logits after the last token of each prompt."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits after each prompt."""
        logits: torch.Tensor = self.network(
            input_ids=tokens, use_cache=False, logits_to_keep=1
        ).logits
        return logits[:, -1]


@dataclass(frozen=True, slots=True)
class TwoLayers:
    """Two matrices with a ReLU between them, from scratch: Gaussian keys, Gaussian outputs."""

    width: int = 32
    hidden: int = 128
    candidates: int = 256
    name: str = "two layers"
    keys: str = "Gaussian"
    rank: None = None
    most: int = 1_000_000

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The maps that are trained."""
        return (
            Setting(self.width, self.hidden, self.candidates),
            Setting(self.hidden, self.width, self.candidates),
        )

    def draw(self, facts: int, seed: int) -> tuple[nn.Module, Material]:
        """Return two new layers before fixed outputs, and Gaussian keys with outputs at random."""
        rng = np.random.default_rng(seed)
        torch.manual_seed(seed)
        outputs = nn.Linear(self.width, self.candidates, bias=False)
        outputs.weight.requires_grad_(False)
        nn.init.normal_(outputs.weight, std=self.width**-0.5)
        network = nn.Sequential(
            nn.Linear(self.width, self.hidden, bias=False),
            nn.ReLU(),
            nn.Linear(self.hidden, self.width, bias=False),
            outputs,
        )
        keys = rng.standard_normal((facts, self.width), dtype=np.float32)
        return network, Material((torch.from_numpy(keys),), _evenly(facts, self.candidates, rng))


Learner = OneMatrix | AllMatrices | TwoLayers


def bounds(learner: Learner) -> tuple[float, float]:
    """Return the planner's number of facts, and the same by parameters alone, all matrices together.

    They differ at rank one, where only two targets can win: the planner's number is two for a matrix.
    """
    planned = sum(bound(setting).facts for setting in learner.settings)
    return planned, sum(_by_parameters(setting) for setting in learner.settings)


def _by_parameters(setting: Setting) -> float:
    """Return the bound, at rank one that of facts with rivals of their own, which can all be targets."""
    return bound(replace(setting, problem="decoupled") if setting.rank == 1 else setting).facts


def _lora(rank: int | None, modules: list[str] | str) -> LoraConfig:
    assert rank is not None
    return LoraConfig(r=rank, lora_alpha=ALPHA * rank, target_modules=modules)


def _evenly(facts: int, candidates: int, rng: np.random.Generator) -> torch.Tensor:
    """Return targets in random order, each output as often as any other, give or take one."""
    rounds = [rng.permutation(candidates) for _ in range(math.ceil(facts / candidates))]
    return torch.from_numpy(np.concatenate(rounds)[:facts])


def _different(rng: np.random.Generator, facts: int, length: int, tokens: int) -> Any:
    """Return different prompts of random tokens."""
    places = rng.choice(tokens**length, facts, replace=False)
    return np.stack(np.unravel_index(places, (tokens,) * length), axis=1)
