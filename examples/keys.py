"""Keys and head of a language model: does a layer hold what theory says?

Facts go from what the output matrix of a layer's MLP reads at a prompt's last token to tokens at random;
all rows of the head compete. A few coordinates of both, taken at random, make problems whose capacity can
be measured with a proof on both sides.
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

SIZES = ((16, 64), (16, 144), (32, 64), (32, 128))
"""Coordinates of keys and of the head."""

INSTANCES = 3
"""Of each case and size."""

REAL = tuple(f"layer {layer}" for layer in LAYERS)
CONTROLS = ("Gaussian keys", "Gaussian head", "both Gaussian")
EVEN_HEAD = ("Gaussian head", "both Gaussian")
CASES = (*REAL, *CONTROLS)
"""Controls have the same targets; a Gaussian head stands beside keys of the last layer."""

PREDICTIONS = ("theory", "lengths", "cells", "offset")
"""Of Gaussian vectors; by the lengths of the head's rows; by its cells; by these with an offset."""

PROMPTS = 1000
"""Of which every instance has some."""

_MORE = 1.6
"""Times as many facts as theory says are at hand."""

_BEGIN_BELOW = 0.9
"""Of theory, where a search begins with the real head."""

_SAMPLES = 256
"""Draws of a price: its relative error is then three percent, and instances have draws of their own."""

_LENGTH_SAMPLES = 128
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

    @cached_property
    def _draws(self) -> dict[str, Any]:
        """What is drawn, in this order."""
        rng = np.random.default_rng((self.seed, self.dim_in, self.dim_out))
        prompts, width = self.source.keys.shape[1:]
        rows, stream = self.source.head.shape
        facts = min(int(_MORE * self.theory), prompts)
        return {
            "targets": rng.permutation(self.source.told_apart)[:facts],
            "of_head": rng.choice(stream, self.dim_out, replace=False),
            "of_keys": rng.choice(width, self.dim_in, replace=False),
            "prompts": rng.permutation(prompts)[:facts],
            "head": rng.standard_normal((rows, self.dim_out)),
            "keys": rng.standard_normal((facts, self.dim_in)),
        }

    @property
    def targets(self) -> Integers:
        """A token for every prompt."""
        return np.asarray(self._draws["targets"])

    @cached_property
    def head(self) -> Reals:
        """The head in random coordinates, these made white, which changes no verdict."""
        return own_directions(self.source.head[:, self._draws["of_head"]], centred=True)

    def keys(self, layer: int) -> Reals:
        """Return a layer's keys of random prompts in random coordinates, these made white."""
        keys = self.source.keys[layer][self._draws["prompts"]]
        return own_directions(keys[:, self._draws["of_keys"]], centred=False)

    def problem(self, case: str) -> OriginalProblem:
        """Return the facts of a case."""
        even_keys = case in ("Gaussian keys", "both Gaussian")
        layer = REAL.index(case) if case in REAL else len(REAL) - 1
        keys = self._draws["keys"] if even_keys else self.keys(layer)
        head = self._draws["head"] if case in EVEN_HEAD else self.head
        return OriginalProblem(keys, head, self.targets)

    @property
    def theory(self) -> float:
        """What fits of Gaussian vectors."""
        return capacity(self.dim_in, self.dim_out, candidates=len(self.source.head)).facts

    def threshold(self, case: str) -> dict[str, Any]:
        """Return how many facts of a case can be stored, with a proof on both sides."""
        problem = self.problem(case)
        guess = self.theory if case in EVEN_HEAD else _BEGIN_BELOW * self.theory
        limit = threshold(problem.prefix, guess, most=problem.facts, threads=1)
        return {
            **self._size, "case": case, "facts": limit.facts, "open": limit.open,
            "seconds": limit.seconds,
        }  # fmt: skip

    def prediction(self) -> dict[str, Any]:
        """Return what fits by each correction, for the targets of about as many facts."""
        targets = self.targets[: round(_BEGIN_BELOW * self.theory)]
        lengths = np.sort(np.linalg.norm(self.head, axis=1))
        by_lengths = price(
            lengths, len(self.head), np.random.default_rng(self.seed), _LENGTH_SAMPLES
        ).value
        cells, offset = (
            capacity_for_outputs(
                self.head, self.dim_in, targets, offset=offset, samples=_SAMPLES, seed=self.seed
            )
            for offset in (False, True)
        )
        return {
            **self._size,
            "theory": self.theory,
            "lengths": self.dim_in * self.dim_out / by_lengths,
            "cells": cells.value,
            "cells_stderr": cells.stderr,
            "offset": offset.value,
            "offset_stderr": offset.stderr,
        }

    @property
    def _size(self) -> dict[str, int]:
        return {"dim_in": self.dim_in, "dim_out": self.dim_out, "seed": self.seed}


Row = Mapping[str, Any]


def thresholds(
    source: Source,
    rows: Sequence[Row] = (),
    sizes: Sequence[tuple[int, int]] = SIZES,
    instances: int = INSTANCES,
) -> Iterator[list[Row]]:
    """Measure what is not among the rows yet, one seed after the other; yield all rows so far."""
    done = list(rows)
    known = {(*_place(row), row["case"]) for row in done}
    for seed in range(instances):
        for size in sizes:
            instance = Instance(source, *size, seed)
            for case in CASES:
                if (*size, seed, case) not in known:
                    done.append(instance.threshold(case))
                    yield done


def predictions(
    source: Source, measured: Sequence[Row], rows: Sequence[Row] = ()
) -> Iterator[list[Row]]:
    """Predict for every instance measured that is not among the rows yet; yield all rows so far."""
    done = list(rows)
    known = {_place(row) for row in done}
    for place in dict.fromkeys(_place(row) for row in measured):
        if place not in known:
            done.append(Instance(source, *place).prediction())
            yield done


def _place(row: Row) -> tuple[int, int, int]:
    return row["dim_in"], row["dim_out"], row["seed"]


def _of_draws(
    predicted: Mapping[tuple[int, int, int], Row], group: Sequence[Row], name: str
) -> float:
    """Return the standard error of a mean prediction from the draws of each."""
    errors = [predicted[_place(row)].get(f"{name}_stderr", 0.0) for row in group]
    return float(np.linalg.norm(errors)) / len(errors)


def is_whole(measured: Sequence[Row]) -> bool:
    """Return whether every size, instance and case is among the rows."""
    return len(measured) >= len(SIZES) * INSTANCES * len(CASES)


def corrections(case: str) -> tuple[str, ...]:
    """Return which predictions are for a case, the one meant for it last.

    What is known of the head counts where it is real, and what is known of the keys likewise.
    """
    if case in EVEN_HEAD:
        return PREDICTIONS[:1]
    return PREDICTIONS if case in REAL else PREDICTIONS[:3]


def summaries(measured: Sequence[Row], predicted: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the mean threshold of each size and case, and its ratio to each prediction."""
    known = {_place(row): row for row in predicted}
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in sorted(measured, key=lambda row: (_place(row)[:2], CASES.index(row["case"]))):
        if _place(row) in known:
            groups.setdefault((*_place(row)[:2], row["case"]), []).append(row)
    rows = []
    for (dim_in, dim_out, case), group in groups.items():
        facts = np.array([row["facts"] for row in group], dtype=float)
        numbers = {
            name: np.array([known[_place(row)][name] for row in group]) for name in PREDICTIONS
        }
        rows.append(
            {
                "dim_in": dim_in,
                "dim_out": dim_out,
                "case": case,
                "instances": len(group),
                "open": sum(row["open"] for row in group),
                "facts": Estimate.of_mean(facts),
                "predicted": Estimate.of_mean(numbers[corrections(case)[-1]]),
                "over": Estimate.of_mean(facts / numbers[corrections(case)[-1]]),
                "over_theory": Estimate.of_mean(facts / numbers["theory"]),
                **{
                    name: Estimate(float(values.mean()), _of_draws(known, group, name))
                    for name, values in numbers.items()
                },
            }
        )
    return rows


def common_part(source: Source) -> list[dict[str, Any]]:
    """Return of each layer's keys what share of mean square their mean has, and how uneven they are.

    ``dimensions`` is the participation of their second moments; ``condition`` how much longer the largest
    direction is than the smallest, in as many random coordinates as the largest problem has.
    """
    rows = []
    dim = min(max(dim_in for dim_in, _ in SIZES), source.keys.shape[2])
    chosen = np.random.default_rng(0).choice(source.keys.shape[2], dim, replace=False)
    for layer, keys in zip(LAYERS, source.keys, strict=True):
        sizes = np.linalg.svd(keys, compute_uv=False) ** 2
        mean = keys.mean(axis=0)
        rows.append(
            {
                "layer": layer,
                "mean": float(mean @ mean / np.square(keys).sum(axis=1).mean()),
                "dimensions": float(sizes.sum() ** 2 / np.square(sizes).sum()),
                "condition": float(np.linalg.cond(keys[:, chosen])),
            }
        )
    return rows
