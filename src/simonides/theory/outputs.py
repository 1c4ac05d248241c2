r"""What a fact costs where the outputs that compete are given.

A fact is recalled if the image :math:`z = W x` of its input lies in its target's cell,
:math:`B_t = \{z : (y_t - y_j)^T z \ge 0 \text{ for all } j\}`. With Gaussian inputs the replica calculation
(see "Unequally frequent targets" among the formulas) prices the fact by the distance from that cell,

.. math:: \delta(Y) = E_t\, E\, \mathrm{dist}^2(g, B_t), \qquad g \sim N(0, I), \qquad
    p\, \delta(Y) = d_{in}\, \mathrm{rank}(Y),

in the coordinates of outputs and with the Gram matrix of solutions that solve a game. Coordinates in which
the outputs are centred and white are taken here. They are the ones for Gaussian outputs, whose price is
:math:`\delta_K` as far as their scores are independent; any :math:`K \le d_{out} + 1` outputs in general
position are a simplex there, whose price is :math:`\delta_K` exactly. Lengths, clusters and close rivals of
a target are in :math:`\delta(Y)` as they are in the outputs.

The projection on a cell is found from the few rivals that bind: a non-negative least-squares problem on
these, then those that the solution violates are added, until there are none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from simonides.arrays import Integers, Reals

_SAMPLES = 1024
"""Draws of a price, whose relative error is then below two percent."""

_SEED = 20261119
"""Any: the same draws every time, and their error is returned."""

_SCORES = 2**22
"""Held at once: 32 megabytes."""

_ADDED = 12
"""Rivals taken in at a time: about as many as bind in all among fifty thousand candidates."""

_ROUNDS = 8
"""Of Newton's method for the offset, with fresh draws each time: the mean of the second half is taken."""

_MET = 1e-9
"""Share of a score's size by which a rival may lead: far above rounding, far below what costs anything."""

_REMEDY = "pass a matrix of real numbers, one output per row"


def capacity_for_outputs(
    outputs: ArrayLike,
    dim_in: int,
    targets: Sequence[int] | Integers | None = None,
    *,
    offset: bool = False,
    samples: int = _SAMPLES,
    seed: int = _SEED,
) -> Estimate:
    r"""Return how many facts a matrix can store whose outputs are these, all of which compete.

    :math:`d_{in}\, \mathrm{rank}(Y) / \delta(Y)` with :math:`\delta(Y)` the mean squared distance of a
    Gaussian vector from a target's cell, in coordinates where outputs are centred and white. Inputs are in
    general position, and targets have nothing to do with them. Not in the paper.

    Parameters
    ----------
    outputs : array (candidates, dim_out)
        Whatever competes for each input, such as the rows of a language model's head. An output that equals
        the target does not compete with it here; no matrix could tell them apart.
    dim_in : int
        Dimension of inputs.
    targets : sequence of int, optional
        Rows of `outputs` that facts have as targets, in the proportion in which they occur. Default: all,
        equally often.
    offset : bool
        Whether inputs have a large part in common, as keys of one prompt's form do. Its image moves all
        facts by one vector of choice, :math:`\delta(Y) = \min_m E\,\mathrm{dist}^2(m + g, B_t)`, and takes
        one of the inputs' dimensions.
    samples : int
        Draws to take the mean of.
    seed : int
        For the draws.

    Returns
    -------
    Estimate
        Facts, and the standard error from the draws; infinite where an offset alone recalls the only
        target. Thresholds of single instances scatter about it.

    Raises
    ------
    BadArgumentError
        For outputs that are no matrix or all equal, targets that are no rows of it, fewer than two samples.

    Examples
    --------
    >>> import numpy as np
    >>> from simonides import capacity, capacity_for_outputs
    >>> even = np.random.default_rng(0).standard_normal((500, 40))
    >>> uneven = even * np.geomspace(0.3, 3, 500)[:, None]
    >>> print(f"{capacity(40, candidates=500).facts:.0f}")
    226
    >>> print(capacity_for_outputs(even, 40), "and", capacity_for_outputs(uneven, 40))
    226.4 ± 4.9 and 88.9 ± 2.1
    """
    rows = _checked_outputs(outputs)
    remedy = "pass the dimension of inputs, of which an offset takes one"
    dim_in = arguments.whole("dim_in", dim_in, least=1 + offset, remedy=remedy)
    chosen = _checked_targets(targets, len(rows))
    samples = arguments.whole("samples", samples, least=2, remedy="pass, say, 1024")
    cells = Cells(whitened(rows), chosen)
    rng = np.random.default_rng(arguments.seed(seed))
    shift = cells.best_offset(rng, samples) if offset else cells.no_offset
    cost = cells.price(rng, samples, shift)
    if not cost.value:
        return Estimate(math.inf)
    facts = (dim_in - offset) * len(shift) / cost.value
    return Estimate(facts, facts * cost.stderr / cost.value)


def whitened(outputs: Reals) -> Reals:
    """Return the outputs centred, in as many coordinates as they span, with second moments one."""
    directions, sizes, _ = np.linalg.svd(outputs - outputs.mean(axis=0), full_matrices=False)
    empty = max(outputs.shape) * np.finfo(float).eps * sizes[0]
    return np.ascontiguousarray(directions[:, sizes > empty] * math.sqrt(len(outputs)))


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of targets among outputs, in the coordinates that distances are taken in."""

    outputs: Reals
    targets: Integers

    @property
    def no_offset(self) -> Reals:
        """A common part of all images that is zero."""
        return np.zeros(self.outputs.shape[1])

    def price(self, rng: np.random.Generator, samples: int, offset: Reals) -> Estimate:
        """Return the mean squared distance of an offset Gaussian vector from a target's cell."""
        return Estimate.of_mean(np.square(self._moves(rng, samples, offset)).sum(axis=1))

    def best_offset(self, rng: np.random.Generator, samples: int) -> Reals:
        """Return about the offset at which the price is least.

        The price is convex in the offset. Half its slope is minus the mean move onto the cell; half its
        curvature is the mean projection on what binds, whose trace is about the price.
        """
        offset, offsets = self.no_offset, []
        for _ in range(_ROUNDS):
            moves = self._moves(rng, samples, offset)
            curvature = np.square(moves).sum(axis=1).mean() / len(offset)
            if not curvature:  # far inside the cell of the only target
                return offset
            offset = offset + moves.mean(axis=0) / curvature
            offsets.append(offset)
        return np.asarray(np.mean(offsets[_ROUNDS // 2 :], axis=0))

    def _moves(self, rng: np.random.Generator, samples: int, offset: Reals) -> Reals:
        """Return what leads Gaussian images into the cells of targets, each target as often as another."""
        targets = np.resize(rng.permutation(self.targets), samples)
        images = offset + rng.standard_normal((samples, len(offset)))
        at_once = max(1, _SCORES // len(self.outputs))
        starts = range(0, samples, at_once)
        parts = [slice(start, start + at_once) for start in starts]
        return np.concatenate(
            [nearest(self.outputs, targets[part], images[part]) - images[part] for part in parts]
        )


def nearest(outputs: Reals, targets: Integers, images: Reals) -> Reals:
    r"""Return the point of each target's cell that is nearest to an image.

    By duality it is :math:`z = g + A^T \lambda` with :math:`\lambda \ge 0` of least :math:`|z|`, the rows
    of :math:`A` being :math:`y_t - y_j`.

    >>> nearest(np.eye(2), np.array([0]), np.array([[0.0, 1.0]]))
    array([[0.5, 0.5]])
    """
    from scipy.optimize import nnls

    points, own = images.copy(), outputs[targets]
    binding = [np.empty(0, dtype=np.int64) for _ in targets]
    allowed = _MET * np.linalg.norm(outputs, axis=1).max() * np.linalg.norm(images, axis=1)
    places = np.arange(len(targets))
    # Every round leads each point further from its image than the last, so none comes back.
    while places.size:
        beaten = np.einsum("ij,ij->i", own[places], points[places]) + allowed[places]
        moved = []
        for place, scores, least in zip(places, points[places] @ outputs.T, beaten, strict=True):
            ahead = np.flatnonzero(scores > least)
            if len(ahead) > _ADDED:
                ahead = ahead[np.argpartition(scores[ahead], -_ADDED)[-_ADDED:]]
            ahead = np.setdiff1d(ahead, binding[place])  # rounding may show one again
            if ahead.size:
                rivals = np.concatenate([binding[place], ahead])
                over = outputs[rivals] - own[place]
                weights, _ = nnls(over.T, images[place])
                points[place] = images[place] - weights @ over
                binding[place] = rivals[weights > 0]
                moved.append(place)
        places = np.array(moved, dtype=np.int64)
    return points


def _checked_outputs(outputs: ArrayLike) -> Reals:
    try:
        rows = np.asarray(outputs, dtype=np.float64)
    except (TypeError, ValueError):
        raise arguments.refuse("outputs", outputs, "numbers", _REMEDY) from None
    if rows.ndim != 2 or min(rows.shape) < 1:
        raise arguments.refuse("outputs", rows.shape, "of two dimensions", _REMEDY)
    if not np.isfinite(rows).all():
        raise arguments.refuse("outputs", rows, "finite", _REMEDY)
    if not np.any(rows != rows[0]):
        raise arguments.refuse("outputs", len(rows), "of at least two that differ", _REMEDY)
    return rows


def _checked_targets(targets: Sequence[int] | Integers | None, candidates: int) -> Integers:
    if targets is None:
        return np.arange(candidates)
    chosen = np.asarray(targets)
    whole = chosen.ndim == 1 and chosen.size and np.issubdtype(chosen.dtype, np.integer)
    if not whole or chosen.min() < 0 or chosen.max() >= candidates:
        condition = f"rows of outputs, from 0 to {candidates - 1}"
        raise arguments.refuse("targets", targets, condition, "pass a list of whole numbers")
    return chosen.astype(np.int64)
