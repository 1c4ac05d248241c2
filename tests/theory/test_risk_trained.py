"""Training beyond capacity against weights trained by gradient descent."""

from __future__ import annotations

import math

import numpy as np
import pytest
from agreement import agrees
from scipy import optimize, special

from simonides.theory.losses import CrossEntropy, SquaredHinge
from simonides.theory.risk import minimum_of_risk


def minimise(objective, size):
    optimum = optimize.minimize(
        objective,
        np.zeros(size),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 3000, "maxfun": 4000, "ftol": 1e-11, "gtol": 1e-6, "maxcor": 20},
    )
    assert optimum.success
    return optimum


def summary(weights, scores, loss):
    return np.linalg.norm(weights), np.mean(scores[:, 0] > scores[:, 1:].max(axis=1)), loss


def train_on_features(loss_and_slope, features):
    """Minimise the mean loss when every score has a Gaussian feature vector of its own."""
    facts, candidates, size = features.shape
    flat = features.reshape(-1, size)

    def objective(weights):
        losses, slopes = loss_and_slope((flat @ weights).reshape(facts, candidates))
        return losses.mean(), slopes.ravel() @ flat / facts

    optimum = minimise(objective, size)
    return summary(optimum.x, (flat @ optimum.x).reshape(facts, candidates), optimum.fun)


def train_a_matrix(loss_and_slope, x, y):
    """Minimise the mean loss over matrices, each input having outputs of its own."""
    facts, dim_in = x.shape
    dim_out = y.shape[2]

    def scores_of(flat):
        return np.matmul(y, (x @ flat.reshape(dim_out, dim_in).T)[:, :, None])[:, :, 0]

    def objective(flat):
        losses, slopes = loss_and_slope(scores_of(flat))
        pull = np.matmul(slopes[:, None, :], y)[:, 0, :]
        return losses.mean(), (pull.T @ x).ravel() / facts

    optimum = minimise(objective, dim_out * dim_in)
    return summary(optimum.x, scores_of(optimum.x), optimum.fun)


def cross_entropy_and_slope(scores):
    slope = special.softmax(scores, axis=1)
    slope[:, 0] -= 1
    return special.logsumexp(scores, axis=1) - scores[:, 0], slope


def squared_hinge_and_slope(scores):
    short = np.maximum(1 - scores[:, :1] + scores[:, 1:], 0)
    return (short**2).sum(axis=1) / 2, np.column_stack((-short.sum(axis=1), short))


TRAINED = pytest.mark.parametrize(
    ("loss", "loss_and_slope"),
    [(CrossEntropy(), cross_entropy_and_slope), (SquaredHinge(), squared_hinge_and_slope)],
    ids=["cross-entropy", "squared-hinge"],
)


def mean_and_error(samples):
    return np.mean(samples, axis=0), np.std(samples, axis=0, ddof=1) / math.sqrt(len(samples))


@pytest.mark.slow
@TRAINED
def test_training_on_independent_features(loss, loss_and_slope):
    # the theory's own premise, so 400 weights are already many
    facts, candidates, size, source = 300, 10, 400, np.random.default_rng(40)
    means, errors = mean_and_error(
        [
            train_on_features(loss_and_slope, source.standard_normal((facts, candidates, size)))
            for _ in range(40)
        ]
    )
    state = minimum_of_risk(
        facts, size, candidates=candidates, loss=loss, rng=np.random.default_rng(42), samples=4096
    )
    for name, mean, error in zip(("norm", "accuracy", "loss"), means, errors, strict=True):
        assert agrees(getattr(state, name), mean, stderr=error, relative=0.02), (name, mean)
        assert error < 0.02 * mean, name


@pytest.mark.slow
@TRAINED
def test_training_of_matrices(loss, loss_and_slope):
    dim, facts, source = 20, 130, np.random.default_rng(41)
    (norm, accuracy, value), errors = mean_and_error(
        [
            train_a_matrix(
                loss_and_slope,
                source.standard_normal((facts, dim)),
                source.standard_normal((facts, facts, dim)),
            )
            for _ in range(16)
        ]
    )
    state = minimum_of_risk(facts, dim**2, loss=loss, rng=np.random.default_rng(42), samples=1024)
    # 130 outputs in 20 dimensions are far from independent: the norm is high by about 3/d
    assert agrees(state.norm, norm, stderr=errors[0], relative=4 / dim)
    assert agrees(state.accuracy, accuracy, stderr=errors[1], relative=0.03, absolute=0.02)
    assert agrees(state.loss, value, stderr=errors[2], relative=0.03)


@pytest.mark.slow
@TRAINED
def test_norm_of_matrices_approaches_the_theory_with_the_dimension(loss, loss_and_slope):
    candidates, source = 10, np.random.default_rng(43)
    state = minimum_of_risk(
        300, 400, candidates=candidates, loss=loss, rng=np.random.default_rng(44), samples=4096
    )
    excess = []
    for dim, instances in ((10, 60), (20, 20), (30, 10)):
        facts = 3 * dim**2 // 4
        means, errors = mean_and_error(
            [
                train_a_matrix(
                    loss_and_slope,
                    source.standard_normal((facts, dim)),
                    source.standard_normal((facts, candidates, dim)),
                )
                for _ in range(instances)
            ]
        )
        assert agrees(state.norm, means[0], stderr=errors[0], relative=3 / dim)
        assert agrees(state.accuracy, means[1], stderr=errors[1], relative=0.6 / dim)
        assert agrees(state.loss, means[2], stderr=errors[2], relative=0.3 / dim)
        excess.append(means[0] / state.norm.value - 1)
    assert excess[0] > excess[1] > excess[2]
