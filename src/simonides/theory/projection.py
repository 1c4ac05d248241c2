r"""Exact projections of score vectors onto the sets that recall a fact.

These are the sampling counterpart of :mod:`simonides.theory.cone`: no quadrature, no approximation,
one sorted pass per vector.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals

_MOST_STEPS, _SETTLED = 60, 1e-12
"""Of Newton's method, which ends where no rival changes sides: seldom more than ten steps."""

_SHALLOWEST = 1e-18
"""Depth below the rounding error of scores of order one: whatever is lower lowers nothing."""


def raised_level(
    target: Reals, rivals: Reals, *, margin: float = 0.0, weight: float = 1.0
) -> Reals:
    r"""Return the level to which the target rises against its rivals.

    It solves :math:`t - a_1 = w \sum_j (a_j + c - t)_+`, row by row. For any set of rivals the
    same equation without the positive part has a smaller solution, so the answer is the largest
    solution over the sets of the highest rivals. Weight one projects onto the retrieval cone.

    ``target`` has shape (rows,), ``rivals`` (rows, K - 1), the result (rows,).

    >>> raised_level(np.array([0.0]), np.array([[1.0, -5.0]]))
    array([0.5])
    """
    highest_first = -np.sort(-rivals, axis=1) + margin
    active = np.arange(1, rivals.shape[1] + 1)
    sums = target[:, None] + weight * np.cumsum(highest_first, axis=1)
    return np.asarray(np.maximum(target, np.max(sums / (1 + weight * active), axis=1)))


def squared_distance(target: Reals, rivals: Reals, *, margin: float = 0.0) -> Reals:
    """Return the squared distance of each score vector from the retrieval cone."""
    level = raised_level(target, rivals, margin=margin)
    lowered = np.maximum(rivals + margin - level[:, None], 0.0)
    return np.asarray((target - level) ** 2 + np.einsum("ij,ij->i", lowered, lowered))


def scaled_distance(target: Reals, rivals: Reals, ratios: Reals) -> Reals:
    r"""Return :math:`\min_t\, (a_1 - t)^2 + \sum_j (a_j - \rho_j t)_+^2` of each row.

    ``ratios`` are the positive :math:`\rho_j`; where all are one this is ``squared_distance``.

    >>> scaled_distance(np.array([0.0]), np.array([[1.0, -5.0]]), np.array([[2.0, 1.0]]))
    array([0.2])
    """
    level, own = target[:, None], target[:, None]
    # The slope is increasing and concave in the level, so Newton's steps settle from below.
    for _ in range(_MOST_STEPS):
        over = np.maximum(rivals - ratios * level, 0)
        slope = level - own - (ratios * over).sum(axis=1, keepdims=True)
        step = slope / (1 + (ratios**2 * (over > 0)).sum(axis=1, keepdims=True))
        level = level - step
        if np.abs(step).max() < _SETTLED * max(1.0, np.abs(level).max()):
            break
    over = np.maximum(rivals - ratios * level, 0)
    return np.asarray((level - own)[:, 0] ** 2 + (over**2).sum(axis=1))


def tail_squared_distance(
    target: Reals, rivals: Reals, count: float, *, complete: bool = True
) -> Reals:
    r"""Return the squared distance from the set where the target beats its top rivals on average.

    The set is :math:`\{z : z_1 \ge \text{mean of the top } k \text{ of } z_2 \ldots z_K\}`, with
    fractional :math:`k` = ``count`` allowed. Its projection raises the target by :math:`\lambda`
    and lowers rival :math:`j` by :math:`u_j = \min((a_j - \theta)_+, h)` with :math:`h = \lambda/k`
    and :math:`\sum_j u_j = \lambda`. Given :math:`\theta`, the step is the smallest of
    :math:`\sum_{j > i} (a_j - \theta)_+ / (k - i)` over :math:`i < k`; :math:`\theta` is then found by
    bisection of a monotone function.

    ``rivals`` has shape (rows, n), each row in descending order. With ``complete=False`` the rows
    hold only the highest of all rivals, and one whose projection reaches further gives ``nan``.
    """
    size = rivals.shape[1]
    count = arguments.real(
        "count", count, least=1, most=size, remedy="average between one rival and all of them"
    )
    violated = target < top_mean(rivals, count)
    if count == size:
        gap = np.maximum(rivals.mean(axis=1) - target, 0.0)
        return np.asarray(gap**2 / (1 + 1 / size))
    # θ lies below the last rival that must be lowered, by a depth that may be tiny if the count is
    # close to a whole number: so the depth is bisected, on a logarithmic scale.
    ceiling = rivals[:, int(np.ceil(count)) - 1]
    below = rivals - ceiling[:, None]
    gap = target - ceiling
    deepest = -below[:, -1]
    unreached = _excess(gap, below, count, deepest)[0] < 0
    if complete:
        while unreached.any():
            deepest = np.where(unreached, 2 * deepest + 1, deepest)
            unreached = _excess(gap, below, count, deepest)[0] < 0
    solvable = np.flatnonzero(violated & ~unreached)
    depth = deepest.copy()
    if solvable.size:
        depth[solvable] = np.exp(_log_depth(gap, below, count, deepest, solvable))
    _, rise, lowered = _excess(gap, below, count, depth)
    distance = rise**2 + np.einsum("ij,ij->i", lowered, lowered)
    return np.where(violated, np.where(unreached, np.nan, distance), 0.0)


def _log_depth(gap: Reals, below: Reals, count: float, deepest: Reals, rows: Integers) -> Reals:
    """Return the logarithm of the depth at which the raised target meets the lowered tail."""
    from scipy.optimize import elementwise

    def surplus(log_depth: Reals, row: Reals) -> Reals:
        chosen = row.astype(np.int64)
        return _excess(gap[chosen], below[chosen], count, np.exp(log_depth))[0]

    lowest = np.full(rows.size, math.log(_SHALLOWEST))
    # A lead that is met even at the lowest depth is met by lowering nothing but rounding error.
    met = surplus(lowest, rows.astype(np.float64)) >= 0
    highest = np.log(np.maximum(deepest[rows], _SHALLOWEST))
    highest = np.where(met, lowest, highest)
    root = elementwise.find_root(surplus, (lowest, highest), args=(rows.astype(np.float64),))
    return np.where(met, lowest, root.x)


def top_mean(rivals: Reals, count: float) -> Reals:
    """Return the mean of the first ``count`` entries of each row, the last one in part."""
    whole = int(count)
    top = rivals[:, :whole].sum(axis=1)
    if whole < rivals.shape[1]:
        top = top + (count - whole) * rivals[:, whole]
    return np.asarray(top / count)


def _excess(gap: Reals, below: Reals, count: float, depth: Reals) -> tuple[Reals, Reals, Reals]:
    """Return by how much the raised target exceeds the lowered tail, the rise, and the lowering.

    Scores are relative to the ceiling of θ, which lies ``depth`` below it.
    """
    above = np.maximum(below + depth[:, None], 0.0)
    clipped = np.arange(int(np.ceil(count)))
    head, tail = above[:, : clipped.size], above[:, clipped.size :]
    remaining = np.cumsum(head[:, ::-1], axis=1)[:, ::-1] + tail.sum(axis=1, keepdims=True)
    step = np.min(remaining / (count - clipped), axis=1)
    rise = count * step
    lowered = np.minimum(above, step[:, None])
    tail_mean = (above - lowered).sum(axis=1) / count - depth
    return gap + rise - tail_mean, rise, lowered
