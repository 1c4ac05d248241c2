"""Singular values near capacity at half the rank: the same facts stored in four ways, against eq. 10."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from simonides.experiments import sweep
from simonides.experiments.spec import read_spec
from simonides.reproduction.results import groups
from simonides.reproduction.spectra import GRID, measured_distribution, unit_distribution
from simonides.theory.spectrum import CapacityLaw

SPEC = Path("examples/spectra.toml")


def run() -> list[dict[str, Any]]:
    """Store the facts of ``examples/spectra.toml`` in four ways, six instances each."""
    with TemporaryDirectory() as folder:
        sweep.run(read_spec(SPEC), folder)
        return distances(folder)


def distances(folder: str) -> list[dict[str, Any]]:
    """Return how far the mean distribution of singular values lies from eq. 10, for each way."""
    values = {one["id"]: one["singular_values"] for one in sweep.arrays(folder).to_pylist()}
    rows = [{**row, "singular_values": values[row["id"]]} for row in sweep.rows(folder).to_pylist()]
    return [
        {
            "dim": dim,
            "facts": part[0]["facts"],
            "rank": part[0]["rank"],
            "contender": solver,
            "options": options,
            "accuracy": float(np.mean([row["accuracy"] for row in part])),
            "distance": _distance(part),
        }
        for (dim, solver, options), part in groups(rows, "dim", "solver", "options").items()
    ]


def _distance(part: list[dict[str, Any]]) -> float:
    measured = np.mean([measured_distribution(row) for row in part], axis=0)
    law = unit_distribution(CapacityLaw(part[0]["rank_fraction"]), GRID)
    return float(np.max(np.abs(measured - law)))
