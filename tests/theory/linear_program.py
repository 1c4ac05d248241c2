"""Half-spaces and the point deepest inside all of them, by linear programming."""

from __future__ import annotations

import numpy as np
from scipy import optimize


def widest(rows):
    """Weights in a box with the largest least product with any row, and that product, by HiGHS."""
    count, size = rows.shape
    optimum = optimize.linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.column_stack((-rows, np.ones(count))),
        b_ub=np.zeros(count),
        bounds=[(-1, 1)] * size + [(0, None)],
        method="highs",
    )
    assert optimum.status == 0, optimum.message
    return optimum.x[:-1], optimum.x[-1]
