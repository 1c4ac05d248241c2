"""The layers above one, run from streams that a change has shifted where subjects end.

What stands before a subject's last token no shift can change: its keys and values are computed once.
"""

from __future__ import annotations

import copy
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides import arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from simonides.arrays import Reals
    from simonides.editing.language_model import LanguageModel
    from simonides.editing.wordings import Wording

_ROWS, _TOKENS = 64, 1024
"""Wordings that run at once and their tokens: cores are busy, and what a gradient remembers fits."""

_NOT_ASKED = -100
"""What stands in a target's place where a shorter answer has ended, as torch's losses have it."""

_LEAST_AGREEMENT = 0.05
"""Relative difference of losses, alone and in the model: above half precision's rounding."""


@dataclass(frozen=True, eq=False)
class Group:
    """Wordings whose subjects end at the same place: streams from there on, and what stands before.

    ``answers`` says where the logits of each answer's tokens are, ``targets`` which tokens these are.
    """

    rows: Any
    streams: Any
    past: Any
    answers: Any
    targets: Any


@dataclass(frozen=True, eq=False)
class UpperLayers:
    """The layers above the one that is changed, the final norm and the head, in the quickest precision.

    Attributes
    ----------
    keys : array (wordings, dim_in)
        What the changed matrix reads at each subject's last token.
    others : array (dim_in, dim_in)
        Second moments of what it reads at all other tokens of the wordings.
    size : float
        Median length of the streams there: where a text begins they may be a hundred times longer.
    """

    base: Any
    head: Any
    groups: tuple[Group, ...]
    keys: Reals
    others: Reals
    size: float

    @classmethod
    def of(cls, model: LanguageModel, wordings: Sequence[Wording]) -> UpperLayers:
        """Return the layers above a model's changed one, and wordings read up to it."""
        import torch

        kind = _quickest()
        network = model.network
        base = copy.copy(network.base_model)
        base._modules = dict(base._modules)
        above = list(network.base_model.layers)[model.layer + 1 :]
        base.layers = torch.nn.ModuleList(_fixed(layer, kind) for layer in above)
        base.norm = _fixed(network.base_model.norm, kind)
        base.config = copy.copy(network.base_model.config)
        if getattr(base.config, "layer_types", None):  # by which each layer knows how far it sees
            base.config.layer_types = list(base.config.layer_types)[model.layer + 1 :]
        keys = np.empty((len(wordings), model.down.in_features))
        moments, count = np.zeros((keys.shape[1],) * 2), 0
        groups, sizes = [], []
        for rows, tokens, place in _batches(wordings):
            own = [wordings[row] for row in rows]
            every, streams, past = _read(model, tokens, place, kind)
            keys[rows] = every[:, place]
            rest = every[_others(own, place, every.shape[1])]
            moments += rest.T @ rest
            count += len(rest)
            sizes.append(streams[:, 0].norm(dim=1))
            answers, targets = _asked(own, place)
            groups.append(Group(torch.tensor(rows), streams.to(kind), past, answers, targets))
        moments /= max(count, 1)
        size = float(torch.cat(sizes).median())
        layers = cls(base, _fixed(model.head, torch.float32), tuple(groups), keys, moments, size)
        layers._check(model, wordings)
        return layers

    def losses(self, group: Group, shifts: Any) -> Any:
        """Return the loss of each token of the answers after shifts of the streams where subjects end."""
        import torch

        first = group.streams[:, :1] + shifts[:, None].to(group.streams.dtype)
        streams = torch.cat([first, group.streams[:, 1:]], dim=1)
        past = copy.copy(group.past)
        if past is not None:  # what is appended to a cache stays out of the one kept
            past.layers = [copy.copy(layer) for layer in group.past.layers]
        states = self.base(
            inputs_embeds=streams, past_key_values=past, use_cache=past is not None
        ).last_hidden_state
        wanted = torch.gather(states, 1, group.answers[:, :, None].expand(-1, -1, states.shape[-1]))
        logits = self.head(wanted.float())
        losses = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), group.targets.flatten(), ignore_index=_NOT_ASKED, reduction="none"
        )
        return losses.reshape(group.targets.shape)

    def _check(self, model: LanguageModel, wordings: Sequence[Wording]) -> None:
        """Refuse a model whose upper layers do not say by themselves what the model says."""
        import torch

        for group in (self.groups[0], self.groups[-1]):
            row = int(group.rows[-1])
            wording = wordings[row]
            with torch.no_grad():
                shifts = torch.zeros(len(group.rows), group.streams.shape[-1])
                alone = self.losses(group, shifts)[-1].amax()
                logits = model.logits(torch.tensor([wording.read]))[0, len(wording.prompt) - 1 :]
                whole = torch.nn.functional.cross_entropy(
                    logits, torch.tensor(wording.answer), reduction="none"
                ).amax()
            if not abs(float(alone - whole)) <= _LEAST_AGREEMENT * (1 + float(whole)):
                raise arguments.refuse(
                    "model", model.source, "one whose layers can be run from a stream in its middle",
                    "it does more between them; change its last layer alone (layer=-1)",
                )  # fmt: skip


def _batches(wordings: Sequence[Wording]) -> Iterator[tuple[list[int], Any, int]]:
    """Yield wordings whose subjects end at the same place, padded behind, where it changes nothing."""
    import torch

    places = defaultdict(list)
    for row, wording in enumerate(wordings):
        places[wording.place].append(row)
    for place, rows in sorted(places.items()):
        rows.sort(key=lambda row: len(wordings[row].read))
        while rows:
            count = 1
            while (
                count < min(_ROWS, len(rows))
                and (count + 1) * len(wordings[rows[count]].read) <= _TOKENS
            ):
                count += 1
            part, rows = rows[:count], rows[count:]
            longest = len(wordings[part[-1]].read)
            tokens = [wordings[row].read for row in part]
            yield part, torch.tensor([(*t, *t[:1] * (longest - len(t))) for t in tokens]), place


def _read(model: LanguageModel, tokens: Any, place: int, kind: Any) -> tuple[Reals, Any, Any]:
    """Return keys at every token, streams from where subjects end, and the cache of what stands before."""
    import torch
    from transformers import DynamicCache

    keys: list[Any] = []
    past: Any = None
    with torch.no_grad():
        if place:
            past = DynamicCache()
            keys.append(model.states(tokens[:, :place], past)[0])
        rest, streams = model.states(tokens[:, place:], copy.deepcopy(past))
        keys.append(rest)
    if past is not None:
        for number, layer in enumerate(past.layers):
            if number <= model.layer:  # never read but for how many tokens there are
                layer.keys, layer.values = (
                    state[:1, :1, :, :1].clone() for state in (layer.keys, layer.values)
                )
            layer.keys, layer.values = layer.keys.to(kind), layer.values.to(kind)
    return torch.cat(keys, dim=1).double().numpy(), streams, past


def _others(wordings: Sequence[Wording], place: int, longest: int) -> Any:
    """Return where the tokens of wordings stand that end no subject, and are no padding."""
    lengths = np.array([len(wording.read) for wording in wordings])
    there = np.arange(longest) < lengths[:, None]
    there[:, place] = False
    return there


def _asked(wordings: Sequence[Wording], place: int) -> tuple[Any, Any]:
    """Return where the logits of each answer's tokens are, counted from a place on, and the tokens."""
    import torch

    longest = max(len(wording.answer) for wording in wordings)
    answers, targets = [], []
    for wording in wordings:
        count, first = len(wording.answer), len(wording.prompt) - 1 - place
        answers.append([first + min(step, count - 1) for step in range(longest)])
        targets.append([*wording.answer, *[_NOT_ASKED] * (longest - count)])
    return torch.tensor(answers), torch.tensor(targets)


def _fixed(module: Any, kind: Any) -> Any:
    """Return a copy of a module in a precision, whose weights are not trained."""
    return copy.deepcopy(module).to(kind).requires_grad_(False)


@cache
def _quickest() -> Any:
    """Return the precision in which this processor multiplies matrices more quickly: half or single.

    It is asked once, so that a process does the same throughout.
    """
    import torch

    def seconds(kind: Any) -> float:
        left, right = torch.ones(_ROWS, 512, dtype=kind), torch.ones(512, 512, dtype=kind)
        trials = []
        for _ in range(5):
            began = time.perf_counter()
            for _ in range(4):
                left @ right
            trials.append(time.perf_counter() - began)
        return min(trials)

    half, single = seconds(torch.bfloat16), seconds(torch.float32)
    return torch.bfloat16 if half < single else torch.float32
