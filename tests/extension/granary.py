"""A user's module, outside the package: an ensemble, a method, a loss and a kind of problem."""

import numpy as np

from simonides.problems.problem import SharedProblem
from simonides.theory.losses import CrossEntropy


def shells(rng, facts, dim_in, dim_out, candidates, radius=1.0):
    """Keys on a sphere, values in the positive orthant."""
    of_keys, of_values = rng.spawn(2)
    keys = of_keys.standard_normal((facts, dim_in))
    keys *= radius / np.linalg.norm(keys, axis=1, keepdims=True)
    return keys, np.abs(of_values.standard_normal((candidates, dim_out)))


def too_wide(rng, facts, dim_in, dim_out, candidates):
    """Keys with a coordinate too many."""
    return rng.standard_normal((facts, dim_in + 1)), rng.standard_normal((candidates, dim_out))


def centred_hebbian(problem, *, strength=1.0):
    """The Hebbian rule with the mean of all values taken off."""
    centre = problem.target_outputs.mean(axis=0)
    return (problem.target_outputs - strength * centre).T @ problem.inputs


class Sharper(CrossEntropy):
    """The cross-entropy of scores at half the temperature, per unit of these scores."""

    sharpness = 2.0

    def value(self, scores):
        return super().value(self.sharpness * scores) / self.sharpness

    def prox(self, points, step):
        return super().prox(self.sharpness * points, self.sharpness * step) / self.sharpness

    def derivatives(self, own, rivals):
        value, by_own, by_rivals = super().derivatives(
            self.sharpness * own, self.sharpness * rivals
        )
        return value / self.sharpness, by_own, by_rivals


class Silo:
    """A kind of problem: what the protocol lists and nothing else, passed on from another problem."""

    def __init__(self, problem):
        self._problem = problem

    def __getattr__(self, name):
        if name.startswith("_") or name not in dir(SharedProblem):
            raise AttributeError(name)
        return getattr(self._problem, name)

    def prefix(self, facts):
        return Silo(self._problem.prefix(facts))

    def recoded(self, inputs, outputs):
        return Silo(self._problem.recoded(inputs, outputs))
