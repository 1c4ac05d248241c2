"""How time grows with the dimension, and how close the hot loops come to the matrix-product peak."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contest import enter, near
from simonides import OriginalProblem
from simonides.solvers.hinge.curvature import Curvature
from simonides.solvers.hinge.hinge import Hinge, HingeProblem
from simonides.solvers.hinge.initial_weights import scaled
from simonides.threads import available_threads, crew


def growth() -> list[dict[str, Any]]:
    """Decide at nine tenths of the predicted facts, and just beyond them."""
    dims = (25, 35, 50, 70, 100, 140, 200, 280, 400)
    rows = [enter("simonides", dim, near(dim, side)) for side in (0.9, 1.05) for dim in dims]
    for row, side in zip(rows, np.repeat((0.9, 1.05), len(dims)), strict=True):
        row["side"] = float(side)
    for side in (0.9, 1.05):
        large = [
            row for row in rows if row["side"] == side and row["dim"] >= 100 and row["seconds"]
        ]
        if len(large) > 1:
            dims_seen, seconds = (np.log([row[key] for row in large]) for key in ("dim", "seconds"))
            exponent = float(np.polyfit(dims_seen, seconds, 1)[0])
            for row in large:
                row["exponent"] = exponent
    return rows


def loops() -> list[dict[str, Any]]:
    """Time the two hot loops in single precision, against a large square product on as many threads."""
    square = np.random.default_rng(0).standard_normal((2000, 2000), dtype=np.float32)
    with crew(1):
        peak = 2 * len(square) ** 3 / _best(lambda: square @ square)
    return [
        {**row, "of_peak": row["gigaflops"] * 1e9 / (peak * row["threads"])}
        for dim in (100, 200, 400)
        for threads in sorted({1, available_threads()})
        for row in _rates(OriginalProblem.gaussian(near(dim, 0.9), dim, seed=1), threads)
    ]


def _rates(problem: OriginalProblem, threads: int) -> list[dict[str, Any]]:
    """Return the operations per second of both loops at the start of a solve."""
    facts, dim = problem.facts, problem.dim_in
    with crew(threads) as each:
        task = HingeProblem(problem, each)
        hinge = Hinge.at(task, scaled(task))
        curvature, pairs = Curvature(hinge, np.float32), len(hinge.residuals)
        direction: Any = hinge.gradient.astype(np.float32)
        seconds = {"scan": _best(lambda: problem.scan(hinge.images, 1.0, each))}
        seconds["curvature"] = _best(lambda: curvature(direction))
    operations = {"scan": 2 * facts**2 * dim, "curvature": 4 * facts * dim**2 + 4 * pairs * dim}
    return [
        {
            "loop": loop,
            "dim": dim,
            "facts": facts,
            "pairs": pairs,
            "threads": threads,
            "gigaflops": operations[loop] / seconds[loop] / 1e9,
        }
        for loop in seconds
    ]


def _best(call: Callable[[], Any], repeats: int = 5) -> float:
    """Return the shortest time of several calls."""
    call()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)
