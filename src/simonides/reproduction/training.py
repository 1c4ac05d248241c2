"""Tables of Figs. 1, 2 and A.1: what training recalls, and its loss, against the load."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from joblib import Parallel, delayed
from scipy.interpolate import PchipInterpolator
from threadpoolctl import threadpool_limits

from simonides.curves.table import Table, stacked
from simonides.experiments.expand import predicted
from simonides.experiments.task import rank_of
from simonides.reproduction.results import groups, mean_of
from simonides.theory.hebbian import recall_probability
from simonides.theory.risk import minimum_of_risk
from simonides.theory.setting import Setting, facts_at_load
from simonides.theory.setting import load as load_of
from simonides.theory.spectrum import critical_load

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simonides.reproduction.results import Results, Row
    from simonides.theory.setting import ProblemKind

_SEED = 31
_SHARES = (0.2, 0.999, 1.01, 1.05, 1.15, 1.4)
_BETWEEN = 200
"""Points of a curve through them, beyond capacity."""


def figure_1(results: Results) -> dict[str, Table]:
    """Return accuracy against the load at full rank."""
    measured = results.rows("accuracy")
    theory = beyond_capacity(_dims(measured), results.plan.theory_samples)
    return {
        "measured": _curves(measured),
        "theory": theory,
        "theory-curve": between_nodes(theory),
        "thresholds": _thresholds(measured),
    }


def figure_2(results: Results) -> dict[str, Table]:
    """Return accuracy against the load by rank fraction, and that of the Hebbian rule."""
    measured = _all_ranks(results)
    hebbian = results.rows("hebbian")
    theory = beyond_capacity(_dims(measured), results.plan.theory_samples)
    return {
        "measured": _curves(measured),
        "theory": theory,
        "theory-curve": between_nodes(theory),
        "thresholds": _thresholds(measured),
        "hebbian": _curves(hebbian),
        "hebbian-theory": _hebbian(_dims(hebbian)),
    }


def figure_a1(results: Results) -> dict[str, Table]:
    """Return the loss against the load by rank fraction."""
    tables = figure_2(results)
    return {name: table for name, table in tables.items() if "hebbian" not in name}


@cache
def beyond_capacity(dims: tuple[int, ...], samples: int) -> Table:
    """Return accuracy and loss of the cross-entropy's minimum for the decoupled problem, in theory."""
    places = [
        (dim, round(share * predicted("decoupled", dim, None))) for dim in dims for share in _SHARES
    ]
    # Above capacity a point takes seconds, and each has its own draws.
    rows = Parallel()(
        delayed(_minimum)(dim, facts, samples_at(dim, samples)) for dim, facts in places
    )
    return stacked("theory", "Minimum of the cross-entropy, decoupled problem, full rank", rows)


def between_nodes(theory: Table) -> Table:
    """Return smooth monotone curves through the nodes of ``beyond_capacity``, for pictures.

    Straight up to the last node below capacity, where accuracy is one and the loss zero; beyond, a cubic
    in the root of the distance from there, which does not overshoot: the accuracy falls steeply at first
    and ever more slowly, and chords would lie above it.
    """
    rows = []
    for dim in theory.distinct("dim"):
        nodes = theory.where("dim", dim)
        _, kept = np.unique(nodes["load"], return_index=True)  # small sizes round nodes together
        load = nodes["load"][kept]
        last = max(int(np.count_nonzero(nodes["accuracy"][kept] >= 1)) - 1, 0)
        roots = np.sqrt(load[last:] - load[last])
        at = np.linspace(0, roots[-1], _BETWEEN)
        columns = {"load": np.concatenate([load[:last], load[last] + at**2])}
        for name in ("accuracy", "loss"):
            values = nodes[name][kept]
            beyond = PchipInterpolator(roots, values[last:])(at)
            columns[name] = np.concatenate([values[:last], beyond])
        rows += [
            {"dim": dim, **dict(zip(columns, map(float, row), strict=True))}
            for row in zip(*columns.values(), strict=True)
        ]
    return stacked("theory-curve", "Monotone interpolation of the computed points", rows)


def samples_at(dim: int, samples: int) -> int:
    """Return how many samples a plan's are at a dimension: more facts tell as much with fewer.

    >>> samples_at(25, 1024), samples_at(100, 1024)
    (1024, 256)
    """
    return max(64, samples * 25 // max(dim, 25))


def _minimum(dim: int, facts: int, samples: int) -> dict[str, float]:
    with threadpool_limits(1):
        state = minimum_of_risk(
            facts, dim**2, rng=np.random.default_rng([_SEED, facts]), samples=samples
        )
    return {
        "dim": float(dim),
        "facts": float(facts),
        "load": load_of(facts, dim),
        "accuracy": state.accuracy.value,
        "accuracy_stderr": state.accuracy.stderr,
        "loss": state.loss.value,
        "loss_stderr": state.loss.stderr,
    }


def _all_ranks(results: Results) -> list[Row]:
    return results.rows("rank") + results.rows("accuracy")


def _curves(measured: Iterable[Row]) -> Table:
    rows = []
    for (fraction, problem, dim, facts), part in groups(
        measured, "rank_fraction", "problem", "dim", "facts"
    ).items():
        accuracy = mean_of(part, "accuracy")
        row = {
            "rank_fraction": fraction,
            "decoupled": float(problem == "decoupled"),
            "dim": float(dim),
            "facts": float(facts),
            "load": part[0]["load"],
            "accuracy": accuracy.value,
            "accuracy_stderr": accuracy.stderr,
            "accuracy_std": accuracy.stderr * math.sqrt(len(part)),
            "all_recalled": float(np.mean([one["recalled"] == facts for one in part])),
            "instances": float(len(part)),
        }
        if part[0]["loss"] is not None:
            loss = mean_of(part, "loss")
            row |= {"loss": loss.value, "loss_std": loss.stderr * math.sqrt(len(part))}
        rows.append(row)
    return stacked("measured", "Means over instances", rows)


def _thresholds(measured: Iterable[Row]) -> Table:
    """Return the predicted loads at capacity: asymptotic, and at each dimension."""
    rows = []
    for fraction, dim in groups(measured, "rank_fraction", "dim"):
        rows.append(
            {
                "rank_fraction": fraction,
                "dim": float(dim),
                "finite_size": load_of(predicted("decoupled", dim, rank_of(dim, fraction)), dim),
                "asymptotic": critical_load(fraction),
            }
        )
    return stacked("thresholds", "Predicted loads at capacity", rows)


def _hebbian(dims: tuple[int, ...]) -> Table:
    rows = []
    kinds: tuple[ProblemKind, ...] = ("original", "decoupled")
    for code, kind in enumerate(kinds):
        for dim, load in product(dims, np.linspace(0.02, 1.3, 65)):
            facts = max(2, round(facts_at_load(float(load), dim)))
            accuracy = recall_probability(Setting(dim, dim, problem=kind), facts)
            place = {"decoupled": float(code), "dim": float(dim), "load": load_of(facts, dim)}
            rows.append({**place, "accuracy": accuracy})
    return stacked("hebbian-theory", "Independent Gaussian scores", rows)


def _dims(measured: Iterable[Row]) -> tuple[int, ...]:
    return tuple(dim for (dim,) in groups(measured, "dim"))
