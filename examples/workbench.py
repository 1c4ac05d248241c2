"""Facts at a layer, as editors take them: keys, values, and the layers above met at every token."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from examples.questions import Questions
from simonides.arrays import Reals
from simonides.editing.language_model import LanguageModel
from simonides.editing.token_facts import opened
from simonides.editing.upper_layers import UpperLayers
from simonides.editing.values import best_values
from simonides.editing.wordings import Wording, wordings


@dataclass(frozen=True, eq=False)
class Above:
    """Wordings of which every token meets the layer's change, and the layers above it."""

    upper: UpperLayers
    keys: tuple[Any, ...]
    count: int

    @classmethod
    def of(cls, model: LanguageModel, ways: Sequence[Wording]) -> "Above":
        """Return wordings as the layer and those above it read them, from the first token on."""
        import torch

        upper = UpperLayers.of(model, [replace(way, place=0) for way in ways])
        keys = []
        for group in upper.groups:
            texts = [ways[row].read for row in group.rows]
            longest = group.streams.shape[1]
            padded = [(*text, *text[:1] * (longest - len(text))) for text in texts]
            keys.append(model.states(torch.tensor(padded))[0].to(group.streams.dtype))
        return cls(upper, tuple(keys), len(ways))

    def logits(self, place: int, change: Any) -> tuple[Any, Any]:
        """Return logits where a group's answers are, after a change, and the tokens to follow."""
        import torch

        group, keys = self.upper.groups[place], self.keys[place]
        streams = group.streams + (keys.float() @ change.T).to(group.streams.dtype)
        states = self.upper.base(inputs_embeds=streams, use_cache=False).last_hidden_state
        places = group.answers[:, :, None].expand(-1, -1, states.shape[-1])
        return self.upper.head(torch.gather(states, 1, places).float()), group.targets

    def losses(self, place: int, change: Any) -> Any:
        """Return the loss of every token of a group's answers."""
        import torch

        logits, targets = self.logits(place, change)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def right(self, change: Reals) -> Any:
        """Return for each wording whether every token of its answer is the most likely one."""
        import torch

        answered = np.zeros(self.count, dtype=bool)
        weights = torch.from_numpy(change).float()
        with torch.no_grad():
            for place, group in enumerate(self.upper.groups):
                logits, targets = self.logits(place, weights)
                wrong = (logits.argmax(-1) != targets) & (targets >= 0)
                answered[group.rows.numpy()] = ~wrong.any(dim=1).numpy()
        return answered


@dataclass(frozen=True, eq=False)
class Valued:
    """Of each fact the key, averaged over its wordings, and the value; processor seconds for values."""

    keys: Reals
    values: Reals
    seconds: float


@dataclass(frozen=True, eq=False)
class Bench:
    """Facts to be stored in a model's layer, and second moments of text there; the rest when needed."""

    model: LanguageModel
    questions: Questions
    metric: Reals

    @cached_property
    def ways(self) -> list[Wording]:
        """The wordings to be stored."""
        return wordings(self.questions.stored, self.model.tokenizer, self.model.longest)

    @cached_property
    def valued(self) -> Valued:
        """Keys and values: of all facts, also those whose wordings no value was found to answer."""
        upper = UpperLayers.of(self.model, self.ways)
        facts = np.array([way.subject for way in self.ways])
        count = int(facts.max()) + 1
        began = time.process_time()
        values = best_values(upper, facts, count, np.inf, lambda _step, _reached: None)
        seconds = time.process_time() - began
        total = np.zeros((count, upper.keys.shape[1]))
        np.add.at(total, facts, upper.keys)
        return Valued(total / np.bincount(facts)[:, None], values.shifts, seconds)

    @cached_property
    def around(self) -> tuple[list[tuple[int, ...]], list[int]]:
        """The prompts whose next token is to stay, as tokens, and that token."""
        tokenizer = self.model.tokenizer
        prompts = [tuple(opened(tokenizer, prompt)) for prompt in self.questions.neighbours]
        return prompts, self.model.next_tokens(prompts)

    @cached_property
    def above(self) -> Above:
        """The wordings to be stored, every token of them."""
        return Above.of(self.model, self.ways)

    @cached_property
    def judge(self) -> "Judge":
        """What tells how well a change of the layer does."""
        return Judge.of(self)


@dataclass(frozen=True, eq=False)
class Judge:
    """Wordings stored, wordings held out and neighbours, through the layers above alone.

    It is quicker than the model itself, rounded a little more, and used for tuning only.
    """

    above: Above
    cuts: tuple[int, int]

    @classmethod
    def of(cls, bench: Bench) -> "Judge":
        """Return the judge of a bench."""
        model = bench.model
        others = wordings(bench.questions.held_out, model.tokenizer, model.longest)
        around = [
            Wording(0, prompt, 0, (token,)) for prompt, token in zip(*bench.around, strict=True)
        ]
        every = [*bench.ways, *others, *around]
        return cls(Above.of(model, every), (len(bench.ways), len(bench.ways) + len(others)))

    def score(self, change: Reals) -> float:
        """Return the harmonic mean of repetition, paraphrase and neighbourhood, as editors are ranked."""
        parts = np.split(self.above.right(change), self.cuts)
        shares = [float(part.mean()) for part in parts]
        return len(shares) / sum(1 / share for share in shares) if min(shares) > 0 else 0.0
