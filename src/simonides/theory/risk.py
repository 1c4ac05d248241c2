r"""Beyond capacity: what training to the minimum of a convex loss achieves.

For the decoupled problem with N weights and p facts, the scores at the minimum of
:math:`\sum_i \ell(z_i)` are distributed as :math:`z = \mathrm{prox}_{\tau\ell}(r g)` with Gaussian
:math:`g`, and the two numbers solve

.. math:: E\,|z - r g|^2 = r^2 \frac{N}{p}, \qquad E[g \cdot (r g - z)] = r \frac{N}{p}.

:math:`r` is the Frobenius norm of the weights. Training accuracy is the probability that the target
scores highest, training loss the mean of :math:`\ell(z)`. Below capacity the cross-entropy has no
minimum: r grows without bound and the loss tends to zero. The paper has no theory here; these are
the curves of its Figs. 1, 2 and A.1 above the threshold.

At capacity the loss vanishes continuously but very slowly, with two candidates as one over the root of
12.6 + log r: it is still 0.24 at a relative distance of 6e-4 from capacity and 0.19 at 5e-8. How far small
trained matrices are from theory depends on the load: close to capacity they recall more, and their norm is
larger (`make bench BENCHMARKS=risk`).

Expectations are averages over a fixed sample of Gaussian vectors, spread evenly where it matters; standard
errors propagate the noise of as many independent ones to what is computed from their solution. They
are upper bounds: from seed to seed accuracies scatter by a third of that or less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from simonides import arguments
from simonides.estimate import Estimate
from simonides.failures import ConvergenceError
from simonides.theory.cone import RetrievalCone, statistical_dimension
from simonides.theory.hebbian import failure_probability
from simonides.theory.losses import CrossEntropy, Loss
from simonides.theory.projection import raised_level, squared_distance

if TYPE_CHECKING:
    from simonides.arrays import Reals

_NEWTON_STEPS = 60
"""Eight were needed for both losses, from just above capacity to fifteen times as many facts."""

_NEWTON_DIFFERENCE = 1e-4
"""In the logarithms: large against the proximal map's error of 1e-11, small against their curvature."""

_LONGEST_STEP = 1.5
"""In the logarithms: a factor of 4.5 at most, lest the first steps leave where the equations are smooth."""

_TOLERANCE = 1e-7
"""Relative error of both equations, far below their sampling error."""

_DIFFERENCE = 0.02
"""For slopes of the accuracy too, a count of samples, which moves in steps: so no smaller."""

_HIGHEST = 12
"""Rivals that are spread evenly: with four the errors near capacity are up to twice as large."""

_LEAST_UNIFORM = 1e-12
"""Below any spacing of samples; zero has no logarithm."""

_FEWEST_SAMPLES = 64
"""A few times the controls that they are regressed on, or standard errors mean nothing."""


@dataclass(frozen=True)
class TrainedState:
    """A memory trained to the minimum of a convex loss, in theory.

    ``norm`` is r and ``step`` is τ; both infinite where the loss can be driven to zero.
    """

    loss_function: Loss
    candidates: int
    norm: Estimate
    step: Estimate
    accuracy: Estimate
    loss: Estimate

    def sample_scores(self, rows: int, rng: np.random.Generator) -> Reals:
        """Draw score vectors of facts at the minimum, target first; shape (rows, candidates).

        Raises ``ValueError`` below capacity, where scores grow without bound.
        """
        rows = arguments.whole("rows", rows, remedy="ask for some score vectors")
        if not math.isfinite(self.norm.value):
            raise arguments.refuse(
                "norm",
                self.norm.value,
                "finite",
                "scores have no law below capacity; see scores.py",
            )
        gaussian = rng.standard_normal((rows, self.candidates))
        return self.loss_function.prox(self.norm.value * gaussian, self.step.value)


def minimum_of_risk(
    facts: int,
    parameters: float,
    *,
    candidates: int | None = None,
    loss: Loss | None = None,
    rng: np.random.Generator,
    samples: int = 1024,
) -> TrainedState:
    """Return what training the decoupled problem to the minimum of a loss achieves.

    Below capacity a loss that vanishes on recall is driven to zero: the state is perfect recall, and no
    finite norm is singled out. Not in the paper; its Figs. 1, 2 and A.1 show such curves.

    Parameters
    ----------
    facts : int
        Facts p that are trained.
    parameters : float
        Weights N, `dim_in * dim_out`.
    candidates : int, optional
        Outputs that compete for each input. Default: as many as facts.
    loss : Loss, optional
        Any convex loss with ``value``, ``prox`` and ``vanishes``. Default: the cross-entropy.
    rng : numpy.random.Generator
        Source of the Gaussian vectors.
    samples : int
        How many are drawn.

    Returns
    -------
    TrainedState
        Norm, accuracy and loss with standard errors.

    Raises
    ------
    ConvergenceError
        If the equations do not settle.

    Examples
    --------
    >>> state = minimum_of_risk(60, 100, rng=np.random.default_rng(0), samples=256)
    >>> print(f"{state.accuracy.value:.2f}")
    0.19
    """
    facts = arguments.facts(facts)
    parameters = arguments.positive("parameters", parameters, remedy="pass dim_in * dim_out")
    candidates = arguments.candidates(facts if candidates is None else candidates)
    samples = arguments.whole(
        "samples", samples, least=_FEWEST_SAMPLES, remedy="ask for about a thousand"
    )
    function = CrossEntropy() if loss is None else loss
    if function.vanishes and facts * statistical_dimension(candidates) <= parameters:
        unbounded = Estimate(math.inf)
        return TrainedState(
            function, candidates, unbounded, unbounded, Estimate(1.0), Estimate(0.0)
        )
    equations = _Equations(function, _Sample.draw(candidates, samples, rng), parameters / facts)
    norm, step, accuracy, mean_loss = equations.estimates(equations.solve())
    return TrainedState(function, candidates, norm, step, accuracy, mean_loss)


@dataclass(frozen=True)
class _Sample:
    """Gaussian vectors, weighted so that quantities of known mean have exactly that mean.

    Weighted means are then regression estimates with these quantities as control variates: the
    target, its square, and the level and squared distance of the projection onto the retrieval cone,
    to which the trained scores tend at capacity.
    """

    vectors: Reals
    weights: Reals
    controls: Reals

    @classmethod
    def draw(cls, candidates: int, samples: int, rng: np.random.Generator) -> _Sample:
        """Draw vectors and weigh them."""
        vectors = _even_gaussians(candidates, samples, rng)
        target, rivals = vectors[:, 0], vectors[:, 1:]
        cone = RetrievalCone(float(candidates))
        controls = np.column_stack(
            (
                target,
                target**2 - 1,
                raised_level(target, rivals) - cone.mean_level,
                squared_distance(target, rivals) - cone.statistical_dimension,
            )
        )
        centred = controls - controls.mean(axis=0)
        tilt = np.linalg.solve(centred.T @ centred, controls.mean(axis=0))
        return cls(vectors, 1 / samples - centred @ tilt, centred)

    def stderr(self, columns: Reals) -> Reals:
        """Return the standard errors of the weighted means of columns."""
        centred = columns - columns.mean(axis=0)
        fit, *_ = np.linalg.lstsq(self.controls, centred, rcond=None)
        left = centred - self.controls @ fit
        freedom = columns.shape[0] - self.controls.shape[1] - 1
        return np.asarray(np.sqrt((left**2).sum(axis=0) / freedom / columns.shape[0]))


def _even_gaussians(candidates: int, samples: int, rng: np.random.Generator) -> Reals:
    """Return Gaussian vectors whose target and highest rivals are spread evenly over the samples.

    These are what the scores at the minimum depend on. Highest first: with a uniform u each, the highest
    of n has the rank u^(1/n), the others are n - 1 below it. With more candidates the same seed draws the
    same and some more, so that curves are smooth along the load.
    """
    from scipy.stats import qmc

    highest = min(_HIGHEST, candidates - 1)
    # Of a power of two points each half, quarter, ... of every coordinate holds as many as the others.
    points = qmc.Sobol(highest + 1, seed=rng).random_base2((samples - 1).bit_length())[:samples].T
    left = candidates - 1 - np.arange(highest)
    log_ranks = np.cumsum(np.log(np.maximum(points[1:], _LEAST_UNIFORM)) / left[:, None], axis=0)
    others = rng.random((candidates - 1 - highest, samples))
    log_ranks = np.vstack((log_ranks, log_ranks[-1] + np.log(np.maximum(others, _LEAST_UNIFORM))))
    target = special.ndtri(np.clip(points[0], _LEAST_UNIFORM, 1 - _LEAST_UNIFORM))
    return np.ascontiguousarray(np.vstack((target, -special.ndtri(-np.expm1(log_ranks)))).T)


@dataclass(frozen=True)
class _Equations:
    """The two equations for (log r, log τ), averaged over a sample of Gaussian vectors."""

    loss: Loss
    sample: _Sample
    weights_per_fact: float

    def solve(self) -> Reals:
        """Return the point that solves both equations, by Newton's method with bounded steps.

        Both sides are close to powers of r and τ, so the equations are taken in logarithms.
        """
        point = np.zeros(2)
        for _ in range(_NEWTON_STEPS):
            excess = self._log_excess(point)
            if np.max(np.abs(excess)) < _TOLERANCE:
                return point
            slopes = np.column_stack(
                [
                    (self._log_excess(point + move) - excess) / _NEWTON_DIFFERENCE
                    for move in _NEWTON_DIFFERENCE * np.eye(2)
                ]
            )
            step = np.linalg.solve(slopes, -excess)
            point = point + step * min(1.0, _LONGEST_STEP / float(np.max(np.abs(step))))
        raise ConvergenceError(
            f"no minimum of the risk found at {self.weights_per_fact:.4g} weights per fact; "
            "ask for more samples, or a load closer to what is trained in practice"
        )

    def estimates(self, point: Reals) -> list[Estimate]:
        """Return r, τ, accuracy and loss with standard errors by linear error propagation."""
        rows = self._evaluate(point)
        weights = self.sample.weights
        slopes = np.column_stack(
            [
                weights
                @ (self._evaluate(point + move) - self._evaluate(point - move))
                / (2 * _DIFFERENCE)
                for move in _DIFFERENCE * np.eye(2)
            ]
        )
        moved = -rows[:, :2] @ np.linalg.inv(slopes[:2]).T
        scale = np.exp(point)
        influence = np.column_stack((scale * moved, rows[:, 2:] + moved @ slopes[2:].T))
        values = (*scale, *(weights @ rows[:, 2:]))
        errors = self.sample.stderr(influence)
        return [Estimate(float(v), float(e)) for v, e in zip(values, errors, strict=True)]

    def _log_excess(self, point: Reals) -> Reals:
        sides = self.sample.weights @ self._evaluate(point)[:, :2]
        return np.log(np.maximum(sides, 1e-300) / self.weights_per_fact)

    def _evaluate(self, point: Reals) -> Reals:
        """Return, per sample: both equations' left sides, whether the target wins, and the loss."""
        r, tau = np.exp(point)
        vectors = self.sample.vectors
        scores = self.loss.prox(r * vectors, float(tau))
        shift = r * vectors - scores
        return np.column_stack(
            (
                np.einsum("ij,ij->i", shift, shift) / r**2,
                np.einsum("ij,ij->i", vectors, shift) / r,
                self._recalled(scores, float(tau / r)),
                self.loss.value(scores),
            )
        )

    def _recalled(self, scores: Reals, lift: float) -> Reals:
        r"""Return whether each target wins; for the cross-entropy the chance, which needs no sample.

        There tied scores move alike, so that the target wins exactly if :math:`r g_1 + \tau` does.
        """
        if (
            type(self.loss) is CrossEntropy
        ):  # one that is made of it need not move scores as it does
            return np.full(len(scores), 1 - failure_probability(lift, scores.shape[1]))
        return np.asarray(scores[:, 0] > scores[:, 1:].max(axis=1), dtype=np.float64)
