"""Where solvers start: the Hebbian weights, at a scale where a few pairs per parameter are active."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special
from scipy.optimize import brentq

from simonides.solvers.hinge.hinge import Hinge

if TYPE_CHECKING:
    from simonides.arrays import Reals
    from simonides.solvers.hinge.hinge import HingeProblem

_PAIRS_PER_PARAMETER = 0.5
"""Active pairs at the start: near capacity the end has about one for each parameter."""

_LEAST_REACH, _LARGEST_REACH = 0.5, 40.0
"""Margins to start from, in typical deviations of off-target scores: no Gaussian reaches further."""

_LEAST_DEVIATION = 1e-6
"""Of the typical one: facts whose image vanishes must not divide by zero."""


def scaled(task: HingeProblem, weights: Reals | None = None) -> Reals:
    """Return weights (Hebbian if none are given) scaled for a margin of one to make sense.

    At unit target scores half of all pairs would be active, which is slow and does not fit in
    memory. How many are is estimated by taking each fact's off-target scores as Gaussian. The margin
    is never less than half their typical deviation: so many pairs shape the first steps well.
    """
    problem = task.problem
    if weights is None or not weights.any():
        weights = problem.target_outputs.T @ task.inputs
        if not weights.any() and problem.impossible_pair() is None:
            weights = -Hinge.at(task, weights).gradient  # downhill from zero instead
        if not weights.any():
            return np.asarray(weights)
    weights = weights / np.abs(weights).max()
    targets, images = problem.target_outputs, task.images(weights)
    size = np.sqrt(np.mean(targets**2))
    if size == 0:
        return np.asarray(weights / np.abs(images).max())
    spans = np.sqrt(np.sum(targets**2, axis=1) + targets.shape[1] * size**2)
    leads = np.einsum("ij,ij->i", images, targets) / spans
    deviations = np.linalg.norm(images, axis=1) * size / spans
    typical = float(np.median(deviations))
    if typical == 0:
        return np.asarray(weights)
    deviations = np.maximum(deviations, _LEAST_DEVIATION * typical)
    wanted = _PAIRS_PER_PARAMETER * weights.size / problem.facts

    def surplus(reach: float) -> float:
        active = special.ndtr((reach - leads) / deviations)
        return (problem.candidates - 1) * float(np.mean(active)) - wanted

    low, high = _LEAST_REACH * typical, _LARGEST_REACH * typical
    if surplus(low) >= 0:
        return np.asarray(weights / low)
    if surplus(high) <= 0:
        return np.asarray(weights / high)
    return np.asarray(weights / brentq(surplus, low, high, rtol=1e-3))
