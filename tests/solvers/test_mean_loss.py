"""Losses of one's own, averaged over facts: slopes against differences, and training on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from simonides.failures import BadArgumentError
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.solvers.training.gradient import gradient
from simonides.solvers.training.mean_loss import MeanLoss, loss_named
from simonides.solvers.training.softmax import MeanCrossEntropy
from simonides.theory.losses import CrossEntropy, SquaredHinge

PROBLEMS = {
    "original": OriginalProblem.gaussian(9, 4, 3, seed=0),
    "shared": OriginalProblem.gaussian(12, 4, 3, candidates=5, seed=0),
    "decoupled": DecoupledProblem.gaussian(9, 4, 3, seed=0),
}


@pytest.mark.parametrize("kind", sorted(PROBLEMS))
@pytest.mark.parametrize(
    "loss", [CrossEntropy(), SquaredHinge()], ids=lambda loss: type(loss).__name__
)
def test_the_gradient_is_that_of_the_loss(kind, loss):
    problem = PROBLEMS[kind]
    function = MeanLoss(problem, loss)
    rng = np.random.default_rng(1)
    weights, direction = rng.standard_normal((2, 3, 4))
    step = 1e-6
    ahead, behind = (function.at(weights + sign * step * direction).loss for sign in (1, -1))
    slope = float(np.vdot(function.at(weights).gradient, direction))
    assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-6)


@pytest.mark.parametrize("kind", sorted(PROBLEMS))
def test_it_agrees_with_the_pass_made_for_the_cross_entropy(kind):
    problem = PROBLEMS[kind]
    weights = np.random.default_rng(1).standard_normal((3, 4))
    general, special = (
        function.at(weights)
        for function in (MeanLoss(problem, CrossEntropy()), MeanCrossEntropy(problem))
    )
    assert general.loss == pytest.approx(special.loss, rel=1e-6)
    np.testing.assert_allclose(general.gradient, special.gradient, rtol=1e-5, atol=1e-7)
    assert general.recalled == special.recalled
    assert general.pull == pytest.approx(special.pull, rel=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_training_on_the_squared_hinge_stores_what_fits(dtype):
    problem = OriginalProblem.gaussian(40, 12, seed=0)
    solution = gradient(problem, loss="squared_hinge", dtype=dtype, max_steps=2000, threads=1)
    assert solution.recalled == 40
    assert solution.loss == pytest.approx(
        MeanLoss(problem, SquaredHinge()).at(solution.weights).loss
    )


@dataclass(frozen=True)
class Untrainable:
    """A loss that theory takes and training does not."""

    vanishes: ClassVar[bool] = True

    def value(self, scores):
        return scores.sum(axis=1)

    def prox(self, points, step):
        return points - step


@pytest.mark.parametrize("loss", [Untrainable(), "no_loss", "math:sqrt2", 3])
def test_what_cannot_be_trained_is_refused(loss):
    with pytest.raises(BadArgumentError):
        loss_named(loss)
