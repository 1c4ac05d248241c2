"""Token to token: do the vectors of a real encoder store like random ones?"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import special

from examples.coordinates import own_directions
from examples.encoder import token_vectors
from simonides import OriginalProblem, capacity
from simonides.arrays import Integers, Reals, Truths
from simonides.estimate import Estimate
from simonides.solvers.deciding.threshold import Threshold, threshold
from simonides.theory.lengths import facts_that_fit

_BEGIN_BELOW = 0.92
"""Where outputs differ in length fewer facts fit, so the search begins lower."""


def leading_directions(vectors: Reals, dim: int) -> Reals:
    """Return the vectors in their ``dim`` largest directions, centred, each direction of unit size."""
    return own_directions(vectors, centred=True, dim=dim)


def lengths(rows: Reals) -> Reals:
    """Return the length of each row, as a column."""
    return np.asarray(np.linalg.norm(rows, axis=1, keepdims=True))


def unit(rows: Reals) -> Reals:
    """Return the rows at unit length."""
    return np.asarray(rows / lengths(rows))


def is_short(rows: Reals) -> Truths:
    """Return which rows are shorter than half the median."""
    sizes = lengths(rows)[:, 0]
    return np.asarray(sizes < np.median(sizes) / 2)


def _long_ones(tokens: Reals, number: int, rng: np.random.Generator) -> Reals:
    return np.asarray(tokens[rng.permutation(np.flatnonzero(~is_short(tokens)))[:number]])


Draw = Callable[[Reals, Integers, np.random.Generator], Reals]

OUTPUTS: dict[str, Draw] = {
    "Gaussian": lambda tokens, some, rng: rng.standard_normal((len(some), tokens.shape[1])),
    "tokens": lambda tokens, some, _: tokens[some],
    "tokens at unit length": lambda tokens, some, _: unit(tokens[some]),
    "random directions, tokens' lengths": lambda tokens, some, rng: (
        unit(rng.standard_normal((len(some), tokens.shape[1]))) * lengths(tokens[some])
    ),
    "tokens, short ones left out": lambda tokens, some, rng: _long_ones(tokens, len(some), rng),
}
"""What facts point at; the last two tell whether lengths explain what tokens do."""

_UNEVEN = ("tokens", "random directions, tokens' lengths")
"""For these, theory can be asked with the tokens' lengths."""


INSTANCES: Mapping[int, Mapping[str, int]] = {
    20: dict.fromkeys(OUTPUTS, 12),
    40: dict.fromkeys(OUTPUTS, 12),
    100: dict.fromkeys(OUTPUTS, 4),
}
"""How many instances of each case, by dimension; in 100 dimensions one takes long."""


def instance(tokens: Reals, outputs: str, seed: int, most: int) -> OriginalProblem:
    """Return facts from random tokens to other random tokens, or what replaces these."""
    of_inputs, of_outputs, of_controls = np.random.default_rng(seed).spawn(3)
    keys, values = (rng.permutation(len(tokens))[:most] for rng in (of_inputs, of_outputs))
    return OriginalProblem(tokens[keys], OUTPUTS[outputs](tokens, values, of_controls))


def measured(tokens: Reals, outputs: str, seed: int) -> Threshold:
    """Return how many facts of one instance can be stored, and how many larger numbers stayed open."""
    theory = capacity(tokens.shape[1]).facts
    problem = instance(tokens, outputs, seed, most=round(2 * theory))
    guess = theory * (_BEGIN_BELOW if outputs in _UNEVEN else 1.0)
    return threshold(problem.prefix, guess, most=problem.facts, threads=1)


def run(
    jobs: int, instances: Mapping[int, Mapping[str, int]] = INSTANCES
) -> Iterator[list[dict[str, Any]]]:
    """Measure thresholds at several dimensions; yield all rows so far."""
    vectors = token_vectors()
    rows: list[dict[str, Any]] = []
    for dim, cases in instances.items():
        tokens = leading_directions(vectors, dim)
        by_lengths = facts_that_fit(lengths(tokens)[:, 0], dim)
        for outputs, number in cases.items():
            tasks = (delayed(measured)(tokens, outputs, seed) for seed in range(number))
            rows.append(summary(dim, outputs, Parallel(n_jobs=jobs)(tasks), by_lengths))
            yield rows


def summary(
    dim: int, outputs: str, thresholds: Sequence[Threshold], by_lengths: Estimate
) -> dict[str, Any]:
    """Return the mean threshold beside theory's.

    ``open`` counts numbers of facts above a threshold that were neither stored nor proved impossible.
    """
    facts = [each.facts for each in thresholds]
    return {
        "dim": dim,
        "outputs": outputs,
        "instances": len(facts),
        "mean": float(np.mean(facts)),
        "stderr": float(np.std(facts, ddof=1) / math.sqrt(len(facts))),
        "theory": capacity(dim).facts,
        "theory_lengths": by_lengths.value if outputs in _UNEVEN else None,
        "theory_lengths_stderr": by_lengths.stderr if outputs in _UNEVEN else None,
        "thresholds": facts,
        "open": sum(each.open for each in thresholds),
    }


def length_histogram(vectors: Reals, dim: int = max(INSTANCES)) -> dict[str, Any]:
    """Return how long tokens are in their largest directions, and how long Gaussian vectors are."""
    sizes = lengths(leading_directions(vectors, dim))[:, 0]
    edges = np.linspace(0, 1.05 * sizes.max(), 61)
    gaussian = np.diff(special.gammainc(dim / 2, edges**2 / 2)) / np.diff(edges)
    return {
        "dim": dim,
        "edges": edges.tolist(),
        "tokens": np.histogram(sizes, edges, density=True)[0].tolist(),
        "gaussian": gaussian.tolist(),
    }


def crowd(vectors: Reals) -> list[dict[str, Any]]:
    """Return how many tokens are short, and how alike the directions of the short and the long are."""
    rows = []
    for dim in INSTANCES:
        tokens = leading_directions(vectors, dim)
        short, directions = is_short(tokens), unit(tokens)
        rows.append(
            {
                "dim": dim,
                "short": float(short.mean()),
                "cosine_short": _mean_cosine(directions[short]),
                "cosine_long": _mean_cosine(directions[~short]),
            }
        )
    return rows


def _mean_cosine(directions: Reals) -> float:
    """Return the mean product of two different directions."""
    number, total = len(directions), directions.sum(axis=0)
    return float((total @ total - number) / (number * (number - 1)))
