"""Singular values under a rank bound: what their distance from eq. 10 depends on."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from simonides.experiments import sweep
from simonides.experiments.spec import Spec, read_spec
from simonides.reproduction.results import groups
from simonides.reproduction.spectra import GRID, measured_distribution, unit_distribution
from simonides.theory.spectrum import CapacityLaw

WAYS_SPEC = Path("examples/spectra.toml")
WAYS = {
    ("cross-entropy", "{}"): "stored",
    ("cross-entropy", '{"until_stored": false}'): "converged",
    ("gradient", "{}"): "adam",
    ("low-rank", "{}"): "search",
}
LOADS = {0.8: "load_080", 0.98: "load_098", 1.2: "load_120", 1.6: "load_160"}
_NEAR = 1
_INSTANCES, _SEED = 4, 2026
_COMMON = {
    "relative_loads": tuple(LOADS),
    "rank_fractions": (0.1, 0.25, 0.5),
    "instances": _INSTANCES,
    "seed": _SEED,
    "solvers": ({"name": "cross-entropy", "least_gain": 1e-4},),
}
_REPEATS = 20

Row = dict[str, Any]


def by_way() -> list[Row]:
    """Store the same facts in four ways, near capacity, six instances each."""
    return [
        {
            "dim": dim,
            "rank": part[0]["rank"],
            "facts": part[0]["facts"],
            **{
                WAYS[way]: _distance(rows)
                for way, rows in groups(part, "solver", "options").items()
            },
        }
        for (dim, _), part in groups(_measured(read_spec(WAYS_SPEC)), "dim", "rank").items()
    ]


def by_load() -> list[Row]:
    """Minimise the cross-entropy below, at and beyond capacity, four instances each."""
    specs = (
        Spec.of({"problem": ("original", "decoupled"), "dims": (50, 100), **_COMMON}),
        Spec.of({"problem": "original", "dims": (200,), **_COMMON}),
    )
    measured = [row for spec in specs for row in _measured(spec)]
    return [
        {
            "dim": dim,
            "rank": rank,
            "problem": problem,
            **_by_facts(part),
        }
        for (dim, rank, problem), part in groups(measured, "dim", "rank", "problem").items()
    ]


def _by_facts(rows: list[Row]) -> Row:
    """Return distances by load, and of matrices that store nothing: a Gaussian one and a Hebbian one.

    A Gaussian matrix has the quarter circle as its limit, and so has a sum of many random facts: their
    distances say how near the limit a matrix of this size can be.
    """
    parts = groups(rows, "facts")
    (facts,) = list(parts)[_NEAR]
    dim, rank, fraction = (rows[0][name] for name in ("dim", "rank", "rank_fraction"))
    rng = np.random.default_rng(_SEED)

    def gaussian() -> Any:
        return rng.standard_normal((dim, dim))

    def hebbian() -> Any:
        return rng.standard_normal((dim, facts)) @ rng.standard_normal((facts, dim))

    return {
        "facts": facts,
        **dict(zip(LOADS.values(), map(_distance, parts.values()), strict=True)),
        **{
            draw.__name__: float(
                np.mean(
                    [
                        _distance([_leading(draw(), rank, fraction) for _ in range(_INSTANCES)])
                        for _ in range(_REPEATS)
                    ]
                )
            )
            for draw in (hebbian, gaussian)
        },
    }


def _leading(matrix: Any, rank: int, fraction: float) -> Row:
    """Return a matrix's leading singular values as a row of the records would hold them."""
    values = np.linalg.svd(matrix, compute_uv=False)[:rank]
    values *= np.sqrt(len(matrix)) / np.linalg.norm(values)
    return {
        "dim": len(matrix), "rank": rank, "rank_fraction": fraction, "singular_values": values
    }  # fmt: skip


def _measured(spec: Spec) -> list[Row]:
    with TemporaryDirectory() as folder:
        sweep.run(spec, folder)
        values = {one["id"]: one["singular_values"] for one in sweep.arrays(folder).to_pylist()}
        rows = sweep.rows(folder).to_pylist()
    return [{**row, "singular_values": values[row["id"]]} for row in rows]


def _distance(rows: list[Row]) -> float:
    measured = np.mean([measured_distribution(row) for row in rows], axis=0)
    law = unit_distribution(CapacityLaw(rows[0]["rank_fraction"]), GRID)
    return float(np.max(np.abs(measured - law)))
