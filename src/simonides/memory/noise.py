r"""Recall under noise on the inputs: measured, and as the leads predict it.

An input :math:`x_i + \sigma g` with standard Gaussian :math:`g` changes the lead :math:`m_{ij}` of target
:math:`i` over rival :math:`j` to

.. math:: m_{ij} + \sigma g^T v_{ij} , \qquad v_{ij} = W^T (y_i - y_j) ,

so each lead is Gaussian with deviation :math:`\sigma |v_{ij}|`. The fact is recalled if all leads stay
positive. With :math:`\Phi` the Gaussian distribution function that has probability

* at most :math:`\min_j \Phi(m_{ij} / \sigma |v_{ij}|)`, what the worst rival leaves;
* at least :math:`1 - \sum_j \Phi(-m_{ij} / \sigma |v_{ij}|)`, by the union bound;
* about :math:`E_z \prod_j \Phi((m_{ij} / \sigma + z p_j) / r_j)`, where :math:`z` is the noise along
  :math:`a = W^T y_i`, which all leads share, :math:`p_j = |a| - a^T b_j / |a|` with
  :math:`b_j = W^T y_j`, and :math:`r_j^2 = |b_j|^2 - (a^T b_j)^2 / |a|^2` what is left of rival
  :math:`j`, taken as independent of what is left of the others.

The bounds are exact for given weights; the estimate leaves out the correlations between rivals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from simonides import arguments
from simonides.problems.scan import row_blocks
from simonides.problems.scores import struck_out

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals
    from simonides.memory.scoring import Scorer

_NODES = 24
"""Of the quadrature over the noise that all leads share; with one rival it is right to 1e-4."""

_TINY = 1e-12
"""Share of a rival's square below which nothing of it is left: the rounding of the difference, and more."""

_LEVELS = 9
"""Enough for a smooth curve."""


@dataclass(frozen=True, eq=False)
class NoisyRecall:
    """Fraction of facts recalled against noise on the inputs; arrays have a value for each level.

    Attributes
    ----------
    noise : array
        Standard deviation of the noise on each coordinate.
    accuracy, accuracy_stderr : array
        Measured fraction and its standard error, which counts trials and facts as independent and is at
        least the true one.
    predicted : array
        What the leads predict; it leaves out correlations between rivals.
    lower, upper : array
        Bounds that hold for these weights: the union bound, and what the worst rival leaves.
    facts, trials : int
        How many facts were looked at, and how often noise was drawn.
    """

    noise: Reals
    accuracy: Reals
    accuracy_stderr: Reals
    predicted: Reals
    lower: Reals
    upper: Reals
    facts: int
    trials: int


def noisy_recall(
    scorer: Scorer,
    inputs: Reals,
    targets: Integers,
    noise: object = None,
    *,
    trials: int = 20,
    most_facts: int = 256,
    rng: np.random.Generator,
) -> NoisyRecall:
    """Return recall under noise at several levels, of at most ``most_facts`` facts spread over all.

    Levels default to nine from zero to the root mean square of an input's coordinate.
    """
    trials = arguments.whole("trials", trials, remedy="pass how often to draw the noise")
    most_facts = arguments.whole("most_facts", most_facts, remedy="pass how many facts to look at")
    spread = np.unique(np.linspace(0, len(inputs) - 1, min(most_facts, len(inputs))).astype(int))
    inputs, targets = np.asarray(inputs[spread], dtype=np.float64), targets[spread]
    levels = _levels(noise, inputs)
    rows = [_at(scorer, inputs, targets, level, trials, rng) for level in levels]
    accuracy, lower, predicted, upper = np.array(rows).T
    stderr = np.sqrt(accuracy * (1 - accuracy) / (trials * len(inputs)))
    return NoisyRecall(
        levels, accuracy, stderr, predicted, lower, upper, facts=len(inputs), trials=trials
    )


def _levels(noise: object, inputs: Reals) -> Reals:
    if noise is None:
        return np.linspace(0, float(np.sqrt(np.mean(inputs**2))), _LEVELS)
    levels = np.atleast_1d(np.asarray(noise))
    if levels.dtype.kind not in "fiu" or levels.ndim != 1 or not levels.size:
        raise arguments.refuse("noise", noise, "a list of numbers", "pass standard deviations")
    for level in levels:
        arguments.real("noise", float(level), least=0, remedy="pass standard deviations")
    return levels.astype(np.float64)


def _at(
    scorer: Scorer,
    inputs: Reals,
    targets: Integers,
    level: float,
    trials: int,
    rng: np.random.Generator,
) -> tuple[float, float, float, float]:
    hits = 0
    for _ in range(trials):
        noisy = inputs + level * rng.standard_normal(inputs.shape)
        hits += int(np.count_nonzero(scorer.best(noisy) == targets))
    pulled = scorer.outputs @ scorer.weights
    squares = np.einsum("ij,ij->i", pulled, pulled)
    totals = np.zeros(3)
    for rows in row_blocks(len(inputs), 8 * _NODES * len(scorer.outputs)):
        own = targets[rows]
        products = pulled[own] @ pulled.T
        scores = scorer.scores(inputs[rows])
        # A target is no rival of its own: struck out, it leaves a lead that no noise takes away.
        leads = struck_out(scores, own)[:, None] - scores
        totals += np.sum(_chances(leads, products, squares[own], squares, level), axis=1)
    lower, predicted, upper = totals / len(inputs)
    return hits / (trials * len(inputs)), lower, predicted, upper


def _chances(leads: Reals, products: Reals, own: Reals, theirs: Reals, level: float) -> Reals:
    """Return lower bound, estimate and upper bound of each fact's probability, shape (3, facts)."""
    if level == 0:
        recalled = np.asarray(leads.min(axis=1) > 0, dtype=np.float64)
        return np.array([recalled, recalled, recalled])
    spans = np.sqrt(np.maximum(own[:, None] + theirs - 2 * products, 0.0))
    ratios = leads / np.maximum(level * spans, np.finfo(float).tiny)
    upper = special.ndtr(ratios.min(axis=1))
    lower = np.maximum(0.0, 1 - special.ndtr(-ratios).sum(axis=1))
    length = np.sqrt(np.maximum(own, np.finfo(float).tiny))[:, None]
    shared = length - products / length
    left = np.sqrt(np.maximum(theirs - (products / length) ** 2, _TINY * theirs + _TINY**2))
    places, weights = special.roots_hermitenorm(_NODES)
    estimate = np.zeros(len(leads))
    for place, weight in zip(places, weights / weights.sum(), strict=True):
        estimate += weight * special.ndtr((leads / level + place * shared) / left).prod(axis=1)
    return np.array([lower, estimate, upper])
