"""How time grows with the dimension, and how close the hot loops come to the matrix-product peak."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contest import enter, near
from simonides import OriginalProblem
from simonides.solvers.curvature import Curvature
from simonides.solvers.hinge import Hinge, Task
from simonides.solvers.start import scaled
from simonides.threads import crew


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
            logs = np.log([[row["dim"], row["seconds"]] for row in large])
            exponent = float(np.polyfit(*logs.T, 1)[0])
            for row in large:
                row["exponent"] = exponent
    return rows


def loops() -> list[dict[str, Any]]:
    """Time the two hot loops on one thread in single precision, against a large square product."""
    rows = []
    square = np.random.default_rng(0).standard_normal((2000, 2000), dtype=np.float32)
    with crew(1):
        peak = 2 * len(square) ** 3 / _best(lambda: square @ square)
    for dim in (100, 200, 400):
        problem = OriginalProblem.gaussian(near(dim, 0.9), dim, seed=1)
        with crew(1) as each:
            task = Task(problem, each)
            hinge = Hinge.at(task, scaled(task))
            curvature = Curvature(hinge, np.float32)
            direction = hinge.gradient.astype(np.float32)
            facts, pairs = problem.facts, len(hinge.residuals)
            work = {
                "scan": (2 * facts**2 * dim, lambda: problem.scan(hinge.images, 1.0)),  # noqa: B023
                "curvature": (
                    4 * facts * dim**2 + 4 * pairs * dim,
                    lambda: curvature(direction),  # noqa: B023
                ),
            }
            for name, (operations, call) in work.items():
                rate = operations / _best(call)
                rows.append(
                    {
                        "loop": name,
                        "dim": dim,
                        "facts": facts,
                        "pairs": pairs,
                        "gigaflops": rate / 1e9,
                        "of_peak": rate / peak,
                    }
                )
    return rows


def _best(call: Callable[[], Any], repeats: int = 5) -> float:
    """Return the shortest time of several calls."""
    call()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)
