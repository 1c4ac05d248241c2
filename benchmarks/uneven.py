"""Targets that are not equally frequent: facts that fit, by linear programs, against theory."""

import math
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.stats import chi2

from simonides import capacity, statistical_dimension
from simonides.arrays import Integers, Reals
from simonides.estimate import Estimate
from simonides.theory.projection import raised_level
from simonides.theory.uneven import RANDOM as CHANCE
from simonides.theory.uneven import lost_to_chance

RANDOM = (
    *((6, 6, 60), (12, 6, 60), (24, 6, 60), (30, 6, 40)),
    *((6, 12, 60), (12, 12, 60), (24, 12, 40), (8, 20, 40), (14, 20, 24)),
)
"""Dimension of inputs, outputs in general position, instances: 2.5 to 17 facts per output."""

FEW = ((4, 20, 40), (3, 20, 40), (3, 30, 24))
"""The same with about one fact per output."""

GIVEN = (
    *(("zipf", 10, 10), ("zipf", 24, 12), ("zipf", 16, 20)),
    *(("half on one", 12, 12), ("half on one", 24, 12), ("half on one", 48, 6)),
    *(("three to one", 12, 12), ("three to one", 24, 12), ("three to one", 24, 6)),
)
"""Law of the shares, dimension of inputs, outputs in general position."""

MORE = ((10, 13, 10), (10, 16, 10), (10, 20, 10), (8, 24, 16))
"""Dimension of inputs, outputs, and their dimension: too many for general position."""

_INSTANCES = 24
"""For errors of two to three percent, with given shares and with many outputs."""

_SAMPLES = 20_000
"""Projections for the constant of the law: right to one percent up to a hundred outputs."""


def random() -> list[dict[str, Any]]:
    """Targets drawn at random beside balanced ones, of the same inputs."""
    rng = np.random.default_rng(4)
    return [
        *(
            _random(dim, np.eye(outputs)[:, 1:], instances)
            for dim, outputs, instances in (*RANDOM, *FEW)
        ),
        *(_random(dim, rng.standard_normal(sizes), _INSTANCES) for dim, *sizes in MORE),
    ]


def given() -> list[dict[str, Any]]:
    """Targets in given shares against the theory of uneven ones."""
    return [_given(*case) for case in GIVEN]


def constant(outputs: int, samples: int = _SAMPLES) -> float:
    r"""Return what random targets lose, times facts per output, to second order in the counts.

    With relative counts :math:`1 + u_k` the two sides of the game (see ``simonides.theory.uneven``) answer
    with :math:`M = 1 + b\, \mathrm{diag}(u)` and :math:`Q = 1 + a\, \mathrm{diag}(u)` on differences of
    scores. The quadratic form in a and b is an average over projections of Gaussian scores on the
    retrieval cone.
    """
    scores = np.random.default_rng(outputs).standard_normal((samples, outputs))
    level = raised_level(scores[:, 0], scores[:, 1:])
    taken = np.column_stack((scores[:, 0] - level, np.maximum(scores[:, 1:] - level[:, None], 0)))
    active = np.column_stack((np.ones(samples, bool), taken[:, 1:] > 0))
    number = active.sum(axis=1)  # n + 1
    centred = np.where(active, scores - scores.mean(axis=1, keepdims=True), 0.0)
    squares, norms = (taken**2).sum(axis=1), (centred**2).sum(axis=1)
    sums = centred.sum(axis=1) ** 2 / number
    price, per_active = squares.mean(), (squares / number).mean()
    others = outputs - 1
    own, raised = (taken[:, 0] ** 2).mean(), ((number - 1) / number).mean()
    by_m = own - (price - own) / others
    by_q = raised - ((number - 1) ** 2 / number).mean() / others
    m_m = (per_active - price / outputs) / others
    m_q = price / outputs - per_active / others
    q_q = norms.mean() / outputs - (norms / number).mean() / others
    q_q += (sums.mean() - price * (outputs - 2)) / (outputs * others)
    facts = others / price
    cross = 1 - 2 / outputs - facts * m_q
    slope, lean = facts * by_m / outputs, facts * by_q / outputs
    stiff, soft = facts * m_m, facts * q_q / 4
    a = (slope * cross / (2 * stiff) - lean) / (cross**2 / (2 * stiff) + 2 * soft)
    return float((cross * a - slope) ** 2 / (4 * stiff) + lean * a + soft * a**2)


def _random(dim: int, outputs: Reals, instances: int) -> dict[str, Any]:
    number, dim_out = outputs.shape
    theory = capacity(dim, dim_out, candidates=number).facts
    loss = lost_to_chance(number, theory, dim_out)
    balanced, drawn = [], []
    for seed in range(instances):
        rng = np.random.default_rng([dim, number, dim_out, seed])
        inputs = rng.standard_normal((math.ceil(3 * theory), dim))
        rounds = [rng.permutation(number) for _ in range(len(inputs) // number + 1)]
        even = np.concatenate(rounds)[: len(inputs)]
        balanced.append(threshold(inputs, even, outputs, theory))
        targets = rng.integers(number, size=len(inputs))
        drawn.append(threshold(inputs, targets, outputs, theory * (1 - loss)))
    equal, chance = (Estimate.of_mean(np.array(facts, float)) for facts in (balanced, drawn))
    ratio = chance.value / equal.value
    error = ratio * math.hypot(chance.stderr / chance.value, equal.stderr / equal.value)
    return {
        "shape": f"{dim} → {dim_out}",
        "candidates": number,
        "per_output": theory / number,
        "balanced": equal.value,
        "balanced_stderr": equal.stderr,
        "drawn": chance.value,
        "drawn_stderr": chance.stderr,
        "over_balanced": ratio - 1,
        "over_balanced_stderr": error,
        "predicted_loss": -loss,
        "instances": instances,
    }


def _given(law: str, dim: int, outputs: int) -> dict[str, Any]:
    rank = np.arange(outputs)
    shares = {
        "zipf": 1 / (1 + rank),
        "half on one": np.where(rank == 0, outputs - 1.0, 1.0),
        "three to one": np.where(rank < outputs / 2, 3.0, 1.0),
    }[law]
    shares = shares / shares.sum()
    counts = np.round(1e5 * shares).astype(int).tolist()
    theory = capacity(dim, outputs, target_counts=counts).facts
    thresholds = []
    for seed in range(_INSTANCES):
        rng = np.random.default_rng([dim, outputs, seed])
        inputs = rng.standard_normal((math.ceil(3 * theory), dim))
        targets = _in_shares(shares, len(inputs), rng)
        thresholds.append(threshold(inputs, targets, np.eye(outputs)[:, 1:], theory))
    mean = Estimate.of_mean(np.array(thresholds, float))
    return {
        "ensemble": law,
        "shape": f"{dim} → {outputs - 1}",
        "candidates": outputs,
        "theory": theory,
        "mean": mean.value,
        "stderr": mean.stderr,
        "over_theory": mean.value / theory - 1,
        "over_theory_stderr": mean.stderr / theory,
        "instances": _INSTANCES,
    }


def _in_shares(shares: Reals, facts: int, rng: np.random.Generator) -> Integers:
    """Return targets of which any first ones are as near to the shares as whole numbers can be."""
    counts, targets = rng.random(len(shares)) * 1e-6, []
    for number in range(1, facts + 1):
        target = int(np.argmax(number * shares - counts))
        counts[target] += 1
        targets.append(target)
    return np.array(targets)


def law(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how well the law without a free number describes losses, and the number that does it best.

    Of outputs in general position with a fact for each, and without the cut at a half, which was measured.
    """
    rows = [row for row in rows if row["candidates"] <= directions(row) + 1]
    rows = [row for row in rows if row["per_output"] >= 1]
    scales = np.linspace(0.5, 2.0, 301)

    def misfit(scale: float) -> float:
        losses = (
            scale * CHANCE * statistical_dimension(row["candidates"]) / row["per_output"]
            for row in rows
        )
        squares = (
            ((row["over_balanced"] + loss) / row["over_balanced_stderr"]) ** 2
            for row, loss in zip(rows, losses, strict=True)
        )
        return float(sum(squares))

    misfits = np.array([misfit(scale) for scale in scales])
    best = scales[misfits.argmin()]
    within = scales[misfits < misfits.min() + 1]
    return {
        "chi_square": misfit(1.0),
        "cells": len(rows),
        "chance": float(chi2.sf(misfit(1.0), len(rows))),
        "best_scale": float(best),
        "best_scale_stderr": float((within[-1] - within[0]) / 2),
        "best_chi_square": float(misfits.min()),
        "instances": sum(2 * row["instances"] for row in rows),
    }


def directions(row: dict[str, Any]) -> int:
    """Return the dimension of a row's outputs."""
    return int(row["shape"].split()[-1])


def threshold(inputs: Reals, targets: Integers, outputs: Reals, guess: float) -> int:
    """Return how many of the first facts can be stored, by bisection of linear programs."""
    stored, refused, trial = 0, len(inputs) + 1, max(1, round(guess))
    stride = max(1, trial // 16)
    while refused - stored > 1:
        if _fits(inputs[:trial], targets[:trial], outputs):
            stored, step = trial, stride
        else:
            refused, step = trial, -stride
        bracketed = stored > 0 and refused <= len(inputs)
        trial = (stored + refused) // 2 if bracketed else min(max(1, trial + step), len(inputs))
        stride *= 2
    return stored


def _fits(inputs: Reals, targets: Integers, outputs: Reals) -> bool:
    facts, rivals = np.nonzero(targets[:, None] != np.arange(len(outputs)))
    leads = outputs[targets[facts]] - outputs[rivals]
    rows = np.einsum("ij,ik->ijk", leads, inputs[facts]).reshape(len(facts), -1)
    program = linprog(
        np.zeros(rows.shape[1]),
        A_ub=-rows,
        b_ub=-np.ones(len(rows)),
        bounds=(None, None),
        method="highs-ipm",
    )
    if program.status not in (0, 2):
        raise RuntimeError(f"{len(inputs)} facts were not decided: {program.message}")
    return program.status == 0
