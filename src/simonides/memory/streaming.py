r"""The two rules in one pass over inputs that need not fit in memory.

Hebbian weights are a sum over facts. Least squares need :math:`\sum_i y_i x_i^T` and the second moments of
the inputs, which are kept as the triangular factor of all rows seen: that resolves directions which
the moments themselves, being squares, would round away.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from simonides.memory.scoring import Scorer
from simonides.problems import checked
from simonides.problems.scan import row_blocks
from simonides.solvers.solution import Progress, Solution, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals
    from simonides.memory.facts import Facts


def streamed(
    facts: Facts, outputs: Reals, method: str, watch: Callable[[Progress], None] | None = None
) -> Solution:
    """Return the weights of a rule, reading the inputs a block at a time; ``outputs`` as scored.

    ``watch`` is told after every block how many facts are still to be read.
    """
    began = time.perf_counter()
    inputs, targets = facts.inputs, facts.targets
    dim_in, dim_out = inputs.shape[1], outputs.shape[1]
    pulled = np.zeros((dim_out, dim_in))
    triangle = np.zeros((0, dim_in))
    blocks = row_blocks(len(inputs), 8 * (dim_in + dim_out), least=min(dim_in, len(inputs)))
    for step, rows in enumerate(blocks):
        part = checked.matrix("inputs", inputs[rows])
        pulled += outputs[targets[rows]].T @ part
        if method == "pseudo_inverse":
            triangle = np.asarray(np.linalg.qr(np.vstack((triangle, part)), mode="r"))
        if watch is not None:
            watch(Progress(step, np.nan, len(inputs) - rows.stop, time.perf_counter() - began))
    weights = pulled / len(inputs)
    if method == "pseudo_inverse":
        _, sizes, directions = np.linalg.svd(triangle, full_matrices=False)
        kept = sizes > sizes[0] * max(inputs.shape) * np.finfo(float).eps
        directions = directions[kept]
        weights = (pulled @ directions.T / sizes[kept] ** 2) @ directions
    leads = Scorer(weights, None, outputs).leads(inputs, targets)
    recalled = int(np.count_nonzero(leads > 0))
    return Solution(
        weights=weights,
        status=Status.STORED if recalled == len(inputs) else Status.STOPPED,
        recalled=recalled,
        smallest_gap=float(leads.min()),
        steps=1,
        seconds=time.perf_counter() - began,
    )
