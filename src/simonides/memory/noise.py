r"""Recall under noise on the inputs: measured, and as the leads predict it.

An input :math:`x_i + \sigma g` with standard Gaussian :math:`g` changes the lead :math:`m_{ij}` of target
:math:`i` over rival :math:`j` to

.. math:: m_{ij} + \sigma g^T v_{ij} , \qquad v_{ij} = W^T (y_i - y_j) ,

so each lead is Gaussian with deviation :math:`\sigma |v_{ij}|`. The fact is recalled if all leads stay
positive. With :math:`\Phi` the Gaussian distribution function that has probability

* at most :math:`\min_j \Phi(m_{ij} / \sigma |v_{ij}|)`, what the worst rival leaves;
* at least :math:`1 - \sum_j \Phi(-m_{ij} / \sigma |v_{ij}|)`, by the union bound;
* about :math:`E_z \prod_j \Phi((u_j + c_j z) / \sqrt{1 - c_j^2})` with
  :math:`u_j = m_{ij} / \sigma |v_{ij}|`, where one Gaussian :math:`z` stands for all noise that leads
  share and :math:`c_j^2` is the mean correlation of lead :math:`j` with the others, which count by their
  own chances :math:`\Phi(-u_k)` to win.

The bounds are exact for given weights. The estimate never leaves them, and with one rival it is theirs.
With two it is exact up to the quadrature's error, unless noise that lowers one lead raises the other: a
negative mean correlation is taken as none.
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

_NODES = 32
"""Of the quadrature over the noise that leads share: right to 0.002 where they share the most."""

_MOST_SHARED = 0.97
"""Of a lead's deviation. With more the integrand is too steep for the nodes; correlations end at 0.94."""

_LEAST_SPAN = 1e-150
"""Deviation of a lead that no noise changes, as of the target over itself: what it divides stays finite."""

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
        What the leads predict, with one common cause for all correlations between them; between the bounds.
    lower, upper : array
        Bounds that hold for these weights: the union bound, and what the worst rival leaves.
    facts, trials : int
        How many facts were looked at, and how often noise was drawn.

    Examples
    --------
    >>> from simonides import AssociativeMemory
    >>> X, Y = np.random.default_rng(0).standard_normal((2, 60, 20))
    >>> recall = AssociativeMemory().fit(X, Y).recall_under_noise([0, 0.1])
    >>> float(recall.accuracy[0]), bool(recall.lower[1] <= recall.predicted[1] <= recall.upper[1])
    (1.0, True)
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
    totals = np.zeros(3)
    for rows in row_blocks(len(inputs), 8 * _NODES * len(scorer.outputs)):
        own = targets[rows]
        scores = scorer.scores(inputs[rows])
        # A target is no rival of its own: struck out, it leaves a lead that no noise takes away.
        leads = struck_out(scores, own)[:, None] - scores
        totals += np.sum(_chances(leads, pulled, own, level), axis=1)
    lower, predicted, upper = totals / len(inputs)
    return hits / (trials * len(inputs)), lower, predicted, upper


def _chances(leads: Reals, pulled: Reals, targets: Integers, level: float) -> Reals:
    """Return lower bound, estimate and upper bound of each fact's probability, shape (3, facts)."""
    if level == 0:
        recalled = np.asarray(leads.min(axis=1) > 0, dtype=np.float64)
        return np.array([recalled, recalled, recalled])
    squares = np.einsum("ij,ij->i", pulled, pulled)
    products = pulled[targets] @ pulled.T
    variances = np.maximum(squares[targets][:, None] + squares - 2 * products, 0.0)
    spans = np.maximum(np.sqrt(variances), _LEAST_SPAN)
    ratios = leads / np.maximum(level * spans, np.finfo(float).tiny)
    upper = special.ndtr(ratios.min(axis=1))
    lower = np.clip(1 - special.ndtr(-ratios).sum(axis=1), 0.0, upper)
    shared = _shared(ratios, spans, pulled, targets)
    left = np.sqrt(1 - shared**2)
    places, weights = special.roots_hermitenorm(_NODES)
    estimate = np.zeros(len(leads))
    for place, weight in zip(places, weights / weights.sum(), strict=True):
        estimate += weight * special.ndtr((ratios + place * shared) / left).prod(axis=1)
    return np.array([lower, np.clip(estimate, lower, upper), upper])


def _shared(ratios: Reals, spans: Reals, pulled: Reals, targets: Integers) -> Reals:
    """Return the root of each lead's mean correlation with the others, weighted by their chances to win."""
    chances = special.log_ndtr(-ratios)
    weights = np.exp(chances - chances.max(axis=1, keepdims=True))
    pull = weights / spans
    mean = pull.sum(axis=1)[:, None] * pulled[targets] - pull @ pulled
    along = np.einsum("ij,ij->i", mean, pulled[targets])[:, None] - mean @ pulled.T
    # Sums over the other leads: of their weights, and of their correlations with this one.
    rest = weights.sum(axis=1, keepdims=True) - weights
    common = np.clip(along / spans - weights, 0.0, rest)
    shared = np.sqrt(common / np.maximum(rest, np.finfo(float).tiny))
    return np.asarray(np.minimum(shared, _MOST_SHARED))
