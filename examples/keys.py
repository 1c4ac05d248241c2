"""Keys and head of a language model: does a layer hold what theory says?

Facts go from what the output matrix of a layer's MLP reads at a prompt's last token to tokens at random;
all rows of the head compete. A few coordinates of both, taken at random, make problems whose capacity can be
measured with a proof on both sides.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from examples import smollm
from examples.coordinates import own_directions
from simonides import Estimate, OriginalProblem, capacity, capacity_for_outputs, threshold
from simonides.arrays import Integers, Reals
from simonides.editing.language_model import LanguageModel
from simonides.theory.lengths import price

LAYERS = (7, 15, 29)
"""An early, a middle and the last layer of 30."""

SIZES = ((16, 64), (32, 64), (16, 144), (32, 128))
"""Coordinates of keys and of the head."""

INSTANCES = 3
"""Of each case and size."""

REAL = tuple(f"layer {layer}" for layer in LAYERS)
CONTROLS = ("Gaussian keys", "Gaussian head", "both Gaussian")
CASES = (*REAL, *CONTROLS)
"""Controls have the same targets; a Gaussian head stands beside keys of one layer after the other."""

PREDICTIONS = ("theory", "lengths", "head", "offset")
"""Of Gaussian vectors; by the lengths of the head's rows; by its cells; by these with an offset."""

PROMPTS = 400
"""More than the facts that fit at the largest size."""

_SAMPLES = 512
"""Draws of a price: its relative error is then two percent, and instances have draws of their own."""

_LENGTH_SAMPLES = 256
"""The same of lengths, where a draw has a number for every candidate."""


@dataclass(frozen=True, eq=False)
class Source:
    """Keys of each layer, shape (layers, prompts, width), and what every token is compared by."""

    keys: Reals
    head: Reals

    @classmethod
    def read(cls, model: LanguageModel, prompts: int = PROMPTS) -> "Source":
        """Return a model's keys of invented prompts, and its head."""
        texts = [prompt for prompt, _ in smollm.invented(model, prompts)]
        return cls(smollm.last_keys(model, texts, LAYERS), model.outputs())

    @cached_property
    def told_apart(self) -> Integers:
        """Tokens whose row no other token has: the others can never be recalled."""
        _, place, count = np.unique(self.head, axis=0, return_inverse=True, return_counts=True)
        return np.flatnonzero(count[place.ravel()] == 1)


@dataclass(frozen=True)
class Instance:
    """Facts in random coordinates of keys and head, the same for all cases of a seed."""

    source: Source
    dim_in: int
    dim_out: int
    seed: int

    def _rng(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.dim_in, self.dim_out, purpose))

    @cached_property
    def targets(self) -> Integers:
        """A token for every prompt."""
        order = self._rng(0).permutation(self.source.told_apart)
        return order[: self.source.keys.shape[1]]

    @cached_property
    def head(self) -> Reals:
        """The head in random coordinates, which changes no verdict where these are made white."""
        chosen = self._rng(1).choice(self.source.head.shape[1], self.dim_out, replace=False)
        return own_directions(self.source.head[:, chosen], centred=True)

    def keys(self, layer: int) -> Reals:
        """Return a layer's keys, in random order and random coordinates, these made white."""
        keys = self.source.keys[layer]
        rng = self._rng(2)
        chosen = rng.choice(keys.shape[1], self.dim_in, replace=False)
        return own_directions(rng.permutation(keys)[:, chosen], centred=False)

    def problem(self, case: str) -> OriginalProblem:
        """Return the facts of a case."""
        layer = REAL.index(case) if case in REAL else self.seed % len(REAL)
        keys, head = self.keys(layer), self.head
        if case in ("Gaussian keys", "both Gaussian"):
            keys = self._rng(3).standard_normal(keys.shape)
        if case in ("Gaussian head", "both Gaussian"):
            head = self._rng(4).standard_normal(head.shape)
        return OriginalProblem(keys, head, self.targets)

    @property
    def theory(self) -> float:
        """What fits of Gaussian vectors."""
        return capacity(self.dim_in, self.dim_out, candidates=len(self.source.head)).facts

    @cached_property
    def predictions(self) -> dict[str, float]:
        """What fits by each correction, for the targets at hand."""
        targets = self.targets[: round(self.theory)]
        lengths = np.sort(np.linalg.norm(self.head, axis=1))
        by_lengths = price(lengths, len(self.head), self._rng(5), _LENGTH_SAMPLES).value
        head, offset = (
            capacity_for_outputs(
                self.head, self.dim_in, targets, offset=offset, samples=_SAMPLES, seed=self.seed
            ).value
            for offset in (False, True)
        )
        return {
            "lengths": self.dim_in * self.dim_out / by_lengths,
            "head": head,
            "offset": offset,
        }

    def measured(self, case: str) -> dict[str, Any]:
        """Return how many facts of a case can be stored, with a proof on both sides."""
        problem = self.problem(case)
        guess = self.theory if case in ("Gaussian head", "both Gaussian") else self.predictions["head"]
        limit = threshold(problem.prefix, guess, most=problem.facts, threads=1)
        return {"case": case, "facts": limit.facts, "open": limit.open, "seconds": limit.seconds}


def run(
    source: Source,
    rows: Sequence[Mapping[str, Any]] = (),
    sizes: Sequence[tuple[int, int]] = SIZES,
    instances: int = INSTANCES,
) -> Iterator[list[dict[str, Any]]]:
    """Measure what is not among the rows yet, one seed after the other; yield all rows so far."""
    done = [dict(row) for row in rows]
    known = {(row["dim_in"], row["dim_out"], row["seed"], row["case"]) for row in done}
    for seed in range(instances):
        for dim_in, dim_out in sizes:
            instance = Instance(source, dim_in, dim_out, seed)
            for case in CASES:
                if (dim_in, dim_out, seed, case) not in known:
                    asked = {"dim_in": dim_in, "dim_out": dim_out, "seed": seed}
                    theory = {"theory": instance.theory, **instance.predictions}
                    done.append({**asked, **instance.measured(case), **theory})
                    yield done


def prediction(row: Mapping[str, Any]) -> float:
    """Return what the correction for a case predicts: for the head where it is real, for keys likewise."""
    if row["case"] in REAL:
        return float(row["offset"])
    return float(row["head"] if row["case"] == "Gaussian keys" else row["theory"])


def summaries(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean threshold of each size and case beside what was predicted."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["dim_in"], row["dim_out"], row["case"]), []).append(row)
    return [
        {
            "dim_in": dim_in,
            "dim_out": dim_out,
            "case": case,
            "instances": len(group),
            "open": sum(row["open"] for row in group),
            "facts": _mean([row["facts"] for row in group]),
            "predicted": _mean([prediction(row) for row in group]),
            "over": _mean([row["facts"] / prediction(row) for row in group]),
            **{name: _mean([row[name] for row in group]) for name in PREDICTIONS},
        }
        for (dim_in, dim_out, case), group in groups.items()
    ]


def _mean(numbers: Sequence[float]) -> Estimate:
    return Estimate.of_mean(np.array(numbers, dtype=np.float64))


def common_part(source: Source) -> list[dict[str, Any]]:
    """Return of each layer which share of its keys' mean square their mean has, and how many dimensions."""
    rows = []
    for layer, keys in zip(LAYERS, source.keys, strict=True):
        sizes = np.linalg.svd(keys, compute_uv=False) ** 2
        mean = keys.mean(axis=0)
        rows.append(
            {
                "layer": layer,
                "mean": float(mean @ mean / np.square(keys).sum(axis=1).mean()),
                "dimensions": float(sizes.sum() ** 2 / np.square(sizes).sum()),
            }
        )
    return rows
