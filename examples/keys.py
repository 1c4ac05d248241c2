"""Keys and outputs of a language model: does a layer hold what theory says of random vectors?"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from examples import smollm
from examples.coordinates import own_directions
from simonides import OriginalProblem, capacity
from simonides.arrays import Integers, Reals
from simonides.solvers.deciding.threshold import Threshold, threshold
from simonides.theory.lengths import price

LAYERS = (7, 15, 29)
"""An early, a middle and the last layer of 30."""

SIZES = ((16, 64), (32, 64), (16, 144), (32, 128), (16, 288), (16, 576))
"""Coordinates of keys and of outputs; the last has all that outputs have."""

INSTANCES = 2
"""Of each layer and size, with real outputs; as many in all with Gaussian ones."""

PROMPT = "The secret word of {} is"

_PROMPTS = 1_000
"""More than the facts that fit at the largest size."""

_SAMPLES = 512
"""Draws of a price: its relative error is then about two percent, and both prices have the same draws."""

_BEGIN_BELOW = 0.93
"""Where the search begins, over theory: real outputs differ in length."""


def told_apart(outputs: Reals) -> Integers:
    """Return the rows that no other row equals: the others can never be recalled."""
    _, place, count = np.unique(outputs, axis=0, return_inverse=True, return_counts=True)
    return np.flatnonzero(count[place] == 1)


def instance(keys: Reals, head: Reals, size: tuple[int, int], seed: Sequence[int]) -> OriginalProblem:
    """Return facts from keys to random tokens, in random coordinates of each; all tokens compete."""
    rng = np.random.default_rng(seed)
    of_keys, of_head = (
        rng.choice(rows.shape[1], dim, replace=False)
        for rows, dim in zip((keys, head), size, strict=True)
    )
    targets = rng.permutation(told_apart(head))[: len(keys)]
    return OriginalProblem(rng.permutation(keys)[:, of_keys], head[:, of_head], targets)


def measured(problem: OriginalProblem) -> Threshold:
    """Return how many of the facts can be stored, with a proof on both sides."""
    theory = capacity(problem.dim_in, problem.dim_out, candidates=problem.candidates).facts
    return threshold(problem.prefix, _BEGIN_BELOW * theory, most=problem.facts, threads=1)


def price_of_lengths(outputs: Reals) -> float:
    """Return what a fact costs over what it costs if outputs had Gaussian lengths.

    Only differences of scores matter and a matrix absorbs any invertible map, so lengths are taken after
    the outputs are centred and whitened.
    """
    rows, dim = outputs.shape
    gaussian = np.sqrt(np.random.default_rng(1).chisquare(dim, rows))
    own = np.linalg.norm(own_directions(outputs, centred=True, dim=dim), axis=1)
    expected, given = (
        price(np.sort(lengths), rows, np.random.default_rng(0), _SAMPLES).value
        for lengths in (gaussian, own)
    )
    return given / expected


def run(jobs: int) -> Iterator[list[dict[str, Any]]]:
    """Measure thresholds of every size and layer; yield all rows so far."""
    tokenizer, model = smollm.loaded()
    prompts = [PROMPT.format(name) for name in smollm.names(_PROMPTS, seed=0)]
    keys = dict(
        zip(LAYERS, smollm.last_keys(tokenizer, model, prompts, LAYERS), strict=True)
    )
    head = smollm.head(model)
    rows: list[dict[str, Any]] = []
    for number, size in enumerate(SIZES):
        problems = [
            (layer, instance(keys[layer], head, size, (seed, number, layer)))
            for layer in LAYERS
            for seed in range(INSTANCES)
        ]
        dearer = [price_of_lengths(np.asarray(problem.outputs)) for _, problem in problems[:2]]
        random = np.random.default_rng(number).standard_normal((len(head), size[1]))
        problems += [
            ("Gaussian", OriginalProblem(problem.inputs, random, problem.targets))
            for _, problem in problems[-INSTANCES:]
        ]
        thresholds = Parallel(n_jobs=jobs)(delayed(measured)(problem) for _, problem in problems)
        theory = capacity(*size, candidates=len(head)).facts
        for name in (*LAYERS, "Gaussian"):
            own = [each for (layer, _), each in zip(problems, thresholds, strict=True) if layer == name]
            rows.append(summary(size, name, own, theory, float(np.mean(dearer))))
        yield rows


def summary(
    size: tuple[int, int], layer: Any, thresholds: Sequence[Threshold], theory: float, dearer: float
) -> dict[str, Any]:
    """Return the mean threshold of a layer beside theory, without and with the outputs' lengths."""
    facts = [each.facts for each in thresholds]
    return {
        "dim_in": size[0],
        "dim_out": size[1],
        "layer": layer,
        "instances": len(facts),
        "mean": float(np.mean(facts)),
        "stderr": float(np.std(facts, ddof=1) / math.sqrt(len(facts))),
        "theory": theory,
        "theory_lengths": None if layer == "Gaussian" else theory / dearer,
        "open": sum(each.open for each in thresholds),
        "thresholds": facts,
    }
