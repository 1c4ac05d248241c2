r"""Volume of the solutions and their overlap (Claim 1, eqs. 6 to 8 and C.23).

The replica method gives the free entropy of the decoupled problem, per parameter,

.. math::
    \Phi = \inf_{q \in [0,1)} \tfrac12 \log(1-q) + \tfrac12 \frac{q}{1-q}
        + \frac{p}{N} f_p(q), \qquad
    f_p(q) = E_g \log \int Du \prod_{j=2}^{p} \Phi_{cdf}\bigl(u + \gamma(g_1 - g_j)\bigr),

with :math:`\gamma^2 = q/(1-q)` and :math:`N = d_{in} d_{out}`. The minimiser :math:`q^*` is the overlap
of two solutions drawn at random. At large :math:`p`, :math:`f_p/\log p \to -1/(1-q)`, which closes
the formula: :math:`q^* = 2\alpha` and :math:`\Phi = \tfrac12\log(1 - 2\alpha)`.
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
from simonides.theory.cone import statistical_dimension
from simonides.theory.projection import squared_distance
from simonides.theory.quadrature import gauss_hermite

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals

_NEWTON_STEPS = 60
"""Nine were needed at gains from 0.1 to 1e5."""

_NEWTON_TOLERANCE = 1e-9
"""Of the mode, which only places the nodes: the integral does not depend on it."""

_INNER_NODES = 48
"""Leave an error of 3e-13; 32 leave 4e-10."""

_BATCHES = 16
"""For the standard error of a slope: enough for it to be known within a fifth."""

_SQUARED_GAINS = (1e-6, 1e8)
"""Overlaps from 1e-6 to 1 - 1e-8, between which the saddle point is sought."""


def overlap(load: float) -> float:
    r"""Return the overlap of two random solutions, :math:`q^* = 2\alpha`, at large dimension (eq. 7).

    Parameters
    ----------
    load : float
        :math:`\alpha = p \log p / d^2`, below one half.

    Returns
    -------
    float
        The overlap.

    Raises
    ------
    ValueError
        At or beyond the critical load 1/2, where there are no solutions.

    Examples
    --------
    >>> overlap(0.25)
    0.5
    """
    return 2 * _load_below_capacity(load)


def free_entropy(load: float) -> float:
    r"""Return :math:`\Phi = \tfrac12 \log(1 - 2\alpha)`, the log volume of solutions per parameter (eq. 7).

    The load is as in :func:`overlap`.

    Examples
    --------
    >>> print(f"{free_entropy(0.25):.4f}")
    -0.3466
    """
    return 0.5 * math.log1p(-2 * _load_below_capacity(load))


@dataclass(frozen=True, slots=True)
class FreeEntropy:
    """Finite-size saddle point: the free entropy and the overlap that attains it."""

    value: Estimate
    overlap: Estimate


class EnergeticTerm:
    """The function :math:`f_p(q)` of eq. (C.23), averaged over a fixed sample of Gaussian vectors.

    The same sample serves every ``q``, so the function is smooth in it. As ``q`` tends to one it
    becomes minus half the squared distance from the retrieval cone over ``1 - q``; that distance,
    whose mean is known exactly, serves as control variate.
    """

    def __init__(self, candidates: int, rng: np.random.Generator, samples: int = 1024) -> None:
        self.candidates = arguments.candidates(candidates)
        samples = arguments.whole("samples", samples, least=32, remedy="ask for about a thousand")
        target = rng.standard_normal(samples)
        rivals = rng.standard_normal((samples, self.candidates - 1))
        self._gaps = target[:, None] - rivals
        self._surprise = squared_distance(target, rivals) - statistical_dimension(self.candidates)

    def __call__(self, q: float) -> Estimate:
        """Return :math:`f_p(q)` with its standard error."""
        q = arguments.real(
            "q", q, least=0, most=1, open_most=True, remedy="an overlap is below one"
        )
        return Estimate.of_mean(self.sampled(q / (1 - q)))

    def sampled(self, squared_gain: float) -> Reals:
        r"""Return one value per Gaussian vector, at :math:`\gamma^2 = q/(1-q)`."""
        if squared_gain == 0:
            return np.full(self._gaps.shape[0], -math.log(self.candidates))
        values = _log_win_probability(math.sqrt(squared_gain) * self._gaps)
        slope = np.cov(values, self._surprise)[0, 1] / np.var(self._surprise, ddof=1)
        return np.asarray(values - slope * self._surprise)


def finite_size_free_entropy(facts: int, parameters: float, energy: EnergeticTerm) -> FreeEntropy:
    """Return the log volume of solutions per parameter and their overlap: the saddle point of eq. (8).

    Parameters
    ----------
    facts : int
        Facts stored.
    parameters : float
        Entries of the matrix.
    energy : EnergeticTerm
        Carries the number of candidates and the sample.

    Returns
    -------
    FreeEntropy
        Both with standard errors, that of the overlap from batches of the sample.

    Raises
    ------
    ValueError
        At or beyond capacity, where the infimum is at ``q = 1``.
    """
    facts = arguments.facts(facts)
    parameters = arguments.positive("parameters", parameters, remedy="pass dim_in * dim_out")
    cost = statistical_dimension(energy.candidates)
    if facts * cost >= parameters:
        raise arguments.refuse(
            "facts",
            facts,
            f"below the capacity, {parameters / cost:.1f}",
            "there are no solutions to average over beyond it",
        )
    weight = facts / parameters

    def functional(squared_gain: float) -> Reals:
        entropic = (squared_gain - math.log1p(squared_gain)) / 2
        return entropic + weight * energy.sampled(squared_gain)

    best = _minimiser(lambda gain: float(functional(gain).mean()))
    slopes = _batch_means((functional(best * 1.02) - functional(best / 1.02)) / (best * 0.0396))
    curvature = _curvature(lambda gain: float(functional(gain).mean()), best)
    gain_error = float(slopes.std(ddof=1)) / math.sqrt(slopes.size) / curvature
    return FreeEntropy(
        value=Estimate.of_mean(functional(best)),
        overlap=Estimate(best / (1 + best), gain_error / (1 + best) ** 2),
    )


def _log_win_probability(shifts: Reals) -> Reals:
    r"""Return :math:`\log \int Du \prod_j \Phi_{cdf}(u + a_j)` for each row of shifts.

    The integrand is log-concave: Newton's method finds its mode, and Gauss-Hermite nodes scaled by
    the curvature there integrate the rest.
    """
    mode, curvature = _mode(shifts)
    nodes, weights = gauss_hermite(_INNER_NODES)
    width = 1 / np.sqrt(curvature)
    logs = np.empty((shifts.shape[0], nodes.size))
    for column, node in enumerate(nodes):
        u = mode + width * node
        logs[:, column] = -u * u / 2 + special.log_ndtr(u[:, None] + shifts).sum(axis=1)
        logs[:, column] += node * node / 2
    return np.asarray(special.logsumexp(logs, b=weights, axis=1) + np.log(width))


def _mode(shifts: Reals) -> tuple[Reals, Reals]:
    """Return the maximum of the log-concave integrand and minus its second derivative there."""
    u = np.maximum(-shifts.min(axis=1), 0.0)
    for _ in range(_NEWTON_STEPS):
        x = u[:, None] + shifts
        # φ/Φ, stable in both tails; its derivative is -m(x + m).
        mills = np.sqrt(2 / np.pi) / special.erfcx(-x / np.sqrt(2))
        slope = mills.sum(axis=1) - u
        curvature = 1 + (mills * (x + mills)).sum(axis=1)
        change = slope / curvature
        u = u + change
        if np.max(np.abs(change)) < _NEWTON_TOLERANCE * (1 + np.max(np.abs(u))):
            return u, curvature
    raise ConvergenceError("the mode of a fact's score integral was not found")


def _minimiser(functional: Callable[[float], float]) -> float:
    from scipy.optimize import minimize_scalar

    minimum = minimize_scalar(
        lambda log: functional(math.exp(log)),
        bounds=(math.log(_SQUARED_GAINS[0]), math.log(_SQUARED_GAINS[1])),
        method="bounded",
        options={"xatol": 1e-5},
    )
    return math.exp(float(minimum.x))


def _curvature(functional: Callable[[float], float], at: float) -> float:
    step = 0.02 * at
    left, middle, right = (functional(at + shift) for shift in (-step, 0.0, step))
    return float((left - 2 * middle + right) / step**2)


def _batch_means(values: Reals) -> Reals:
    return np.asarray([batch.mean() for batch in np.array_split(values, _BATCHES)])


def _load_below_capacity(load: float) -> float:
    return arguments.real(
        "load",
        load,
        least=0,
        most=0.5,
        open_most=True,
        remedy="there are no solutions at or beyond the critical load 1/2",
    )
