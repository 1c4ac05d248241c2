"""The pseudo-inverse rule: least squares, with or without a ridge."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.problems import checked
from simonides.solvers.solution import Solution, Status

if TYPE_CHECKING:
    from simonides.arrays import Reals
    from simonides.problems.problem import Problem

_LARGEST_RIDGE = 1e12
"""Beyond it the weights are the Hebbian ones to all digits, and soon underflow."""


def pseudo_inverse_weights(problem: Problem, *, ridge: float = 0.0) -> Reals:
    r"""Return the weights that bring W x closest to the target outputs, shape (dim_out, dim_in).

    They minimise :math:`\sum_i |y_i - W x_i|^2 + \mathrm{ridge} \cdot m |W|_F^2`, where :math:`y_i` is the
    target of :math:`x_i` and :math:`m` the mean eigenvalue of :math:`\sum_i x_i x_i^T`, so that ridge has
    no units. Without it they are the minimisers of least norm, also for inputs that depend on each
    other; with a large one they turn into the Hebbian weights, up to scale.

    Outputs are taken as they are, not centred: the rule is what model editors use, with the prior
    on the keys taken as isotropic, and facts with outputs of their own have no common centre. Recall
    itself does not see a shift of all outputs, this rule does; whiten a problem first
    (:mod:`simonides.problems.whitening`) where outputs have a mean far from zero.
    """
    ridge = arguments.real(
        "ridge",
        ridge,
        least=0,
        most=_LARGEST_RIDGE,
        remedy="pass it in units of the inputs' mean eigenvalue; far above 1, use the Hebbian rule",
    )
    inputs = problem.inputs
    left, sizes, directions = np.linalg.svd(inputs, full_matrices=False)
    # Below this, a singular value is the rounding of zero.
    kept = sizes > sizes[0] * max(inputs.shape) * np.finfo(float).eps
    left, sizes, directions = left[:, kept], sizes[kept], directions[kept]
    mean_eigenvalue = float(sizes @ sizes) / problem.dim_in
    gains = sizes / (sizes**2 + ridge * mean_eigenvalue)
    return np.asarray((problem.target_outputs.T @ left * gains) @ directions)


def pseudo_inverse(problem: Problem, *, ridge: float = 0.0) -> Solution:
    """Store facts by least squares.

    Independent inputs, at most as many as their dimension, are mapped onto their targets exactly. Even
    then a fact is recalled only if its output has a larger product with itself than with any rival,
    as is sure for outputs of equal length and likely for Gaussian ones.

    Parameters
    ----------
    problem : Problem
        The facts.
    ridge : float
        Penalty on the weights, in units of the inputs' mean eigenvalue (``pseudo_inverse_weights``).

    Returns
    -------
    Solution
        The weights; ``loss`` is the mean squared error, over facts and output coordinates.

    Raises
    ------
    BadArgumentError
        For a ridge below zero.

    Examples
    --------
    >>> from simonides import OriginalProblem
    >>> pseudo_inverse(OriginalProblem.gaussian(20, 20, seed=0)).recalled
    20
    """
    checked.problem(problem)
    began = time.perf_counter()
    weights = pseudo_inverse_weights(problem, ridge=ridge)
    solution = Solution.of_weights(problem, weights, Status.CONVERGED)
    loss = float(np.mean((problem.images(weights) - problem.target_outputs) ** 2))
    return replace(solution, steps=1, seconds=time.perf_counter() - began, loss=loss)
