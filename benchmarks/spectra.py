"""Singular values under a rank bound: what their distance from eq. 10 depends on.

A distance is the largest difference between distribution functions: that of eq. 10 for the rank fraction
asked for, and the mean over instances. Its error comes from drawing instances again, with repetition.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from simonides.arrays import Reals
from simonides.experiments import sweep
from simonides.experiments.spec import Spec, read_spec
from simonides.reproduction.plans import NEAR
from simonides.reproduction.results import groups
from simonides.reproduction.spectra import GRID, measured_distribution, unit_distribution
from simonides.theory.spectrum import CapacityLaw

WAYS_SPEC = Path("examples/spectra.toml")
FAR = 1.6
LOADS = {0.8: "load_080", NEAR: "load_098", 1.2: "load_120", FAR: "load_160"}
_INSTANCES, _SEED = 4, 2026
_BY_LOAD = {
    "relative_loads": tuple(LOADS),
    "rank_fractions": (0.1, 0.25, 0.5),
    "instances": _INSTANCES,
    "seed": _SEED,
    "solvers": ({"name": "cross_entropy", "least_gain": 1e-4},),
}
_REPEATS = 20
_RESAMPLES = 200

Row = dict[str, Any]


def by_way() -> list[Row]:
    """Store the same facts in four ways: distances where each begins and where it ends."""
    spec = read_spec(WAYS_SPEC)
    begun = [{**solver, "max_steps": 0} for solver in spec.mapping()["solvers"]]
    at = {
        "start": _measured(Spec.of({**spec.mapping(), "solvers": begun})),
        "end": _measured(spec),
    }
    return [
        {
            "when": when,
            "dim": dim,
            "rank": rank,
            "facts": facts,
            **{way: _distance(rows) for (way,), rows in ways.items()},
            "error": max(map(_error, ways.values())),
            "accuracy": min(map(_accuracy, ways.values())),
        }
        for when, measured in at.items()
        for (dim, rank, facts), part in groups(measured, "dim", "rank", "facts").items()
        for ways in [groups([{**row, "way": _way(row)} for row in part], "way")]
    ]


def by_load() -> list[Row]:
    """Minimise the cross-entropy below, at and beyond capacity, beside matrices that store nothing."""
    specs = (
        Spec.of({"problem": ("original", "decoupled"), "dims": (50, 100), **_BY_LOAD}),
        Spec.of({"problem": "original", "dims": (200,), **_BY_LOAD}),
    )
    measured = [row for spec in specs for row in _measured(spec)]
    table = []
    for (dim, rank, problem), part in groups(measured, "dim", "rank", "problem").items():
        # More facts, more load: both in ascending order.
        by_facts = dict(zip(LOADS, groups(part, "facts").values(), strict=True))
        facts = {load: rows[0]["facts"] for load, rows in by_facts.items()}
        fraction = part[0]["rank_fraction"]
        table.append(
            {
                "dim": dim,
                "rank": rank,
                "problem": problem,
                "facts": facts[NEAR],
                **{LOADS[load]: _distance(rows) for load, rows in by_facts.items()},
                "error": max(_error(rows) for rows in by_facts.values()),
                "recalled": {f"{load:g}": _accuracy(rows) for load, rows in by_facts.items()},
                "hebbian_near": of_random(dim, rank, fraction, facts[NEAR]),
                "hebbian_far": of_random(dim, rank, fraction, facts[FAR]),
                "gaussian": of_random(dim, rank, fraction, None),
            }
        )
    return table


def _measured(spec: Spec) -> list[Row]:
    with TemporaryDirectory() as folder:
        if sweep.run(spec, folder).failed:
            raise RuntimeError(f"tasks failed: {sweep.status(folder).reasons}")
        values = {row["id"]: row["singular_values"] for row in sweep.arrays(folder).to_pylist()}
        rows = sweep.rows(folder).to_pylist()
    return [{**row, "singular_values": values[row["id"]]} for row in rows]


def _way(row: Row) -> str:
    """Return the column of a row: how its facts were stored."""
    if row["solver"] != "cross_entropy":
        return {"gradient": "adam", "low_rank": "search"}[row["solver"]]
    return "stored" if json.loads(row["options"]).get("until_stored", True) else "converged"


def _accuracy(rows: list[Row]) -> float:
    return float(np.mean([row["accuracy"] for row in rows]))


def _distance(rows: list[Row]) -> float:
    return _from_law(np.array([measured_distribution(row) for row in rows]), rows[0])


def _error(rows: list[Row]) -> float:
    each = np.array([measured_distribution(row) for row in rows])
    rng = np.random.default_rng(_SEED)
    draws = rng.integers(len(rows), size=(_RESAMPLES, len(rows)))
    return float(np.std([_from_law(each[draw], rows[0]) for draw in draws]))


def _from_law(distributions: Reals, row: Row) -> float:
    law = unit_distribution(CapacityLaw(row["rank_fraction"]), GRID)
    return float(np.max(np.abs(distributions.mean(axis=0) - law)))


def of_random(dim: int, rank: int, fraction: float, facts: int | None) -> float:
    """Return the mean distance of a Hebbian sum of random facts, or without facts of Gaussian entries.

    Both have the quarter circle as their limit, so that cut to a rank they have eq. 10.
    """
    rng = np.random.default_rng(_SEED)

    def drawn() -> Row:
        left, right = (rng.standard_normal((dim, facts or dim)) for _ in range(2))
        values = np.linalg.svd(left @ right.T if facts else left, compute_uv=False)[:rank]
        # Scaled as the records are: a mean square of one over all dim values.
        values *= np.sqrt(dim) / np.linalg.norm(values)
        return {
            "dim": dim,
            "rank": rank,
            "rank_fraction": fraction,
            "singular_values": values,
        }

    return float(
        np.mean([_distance([drawn() for _ in range(_INSTANCES)]) for _ in range(_REPEATS)])
    )
