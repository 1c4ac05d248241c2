r"""How many outputs can be targets at all: those that are vertices of the outputs' hull.

An output that lies between others never scores highest, whatever the matrix. Output 1 of K is a vertex if
some direction w has :math:`w^T y_1 > w^T y_j` for all rivals: if the random subspace of its scores, of
dimension :math:`d_{out}`, meets the retrieval cone. By the conic Crofton formula that is a matter of how
many rivals :math:`n` the projection on the cone lowers,

.. math:: P(\text{no vertex}) = 2\,[P(n = d_{out} + 1) + P(n = d_{out} + 3) + \ldots],

and the law of n is a coefficient of the transform in :mod:`simonides.theory.exceedance`,

.. math:: P(n) = (n + 1) \int ds\, \frac{1}{2\pi i}
    \int e^{zs + z^2/2} \binom{K-1}{n} I^n\, (1 - Q)^{K-1-n}\, dz .
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from simonides.theory.cone import RetrievalCone, statistical_dimension
from simonides.theory.quadrature import gauss_legendre

if TYPE_CHECKING:
    from simonides.theory.setting import Setting

_NEGLIGIBLE = 1e-9
"""Of the sum so far: terms fall faster than those of a Poisson law once they fall."""

_POISSON = 1.5
"""Times the price, the mean of a Poisson law whose tail is above that of lowered rivals (see the tests)."""

_NODES = 8
"""Of a mean over numbers of facts: H grows as a power of them, about the sixth, below the nodes' degree."""

EVEN_ODDS = math.log(2)
"""Mean of rare events of which there is none with even odds."""

_ENDS = 2.0
"""Outputs that score highest under some matrix of rank one: the two ends of its direction."""


@lru_cache(maxsize=4096)
def hidden_share(candidates: float, dim_out: int) -> float:
    """Return the probability that one of so many Gaussian outputs is no vertex of their hull.

    Examples
    --------
    >>> print(f"{hidden_share(3, 1):.6f} {hidden_share(5, 4):.0f}")  # three points on a line; a simplex
    0.333333 0
    """
    most = float(candidates) - 1
    if most <= dim_out:
        return 0.0
    cone = RetrievalCone(candidates)
    levels, weights = gauss_legendre(*cone.level_range)
    rivals = cone.rivals(most, levels)
    share = rivals.relative_tail / most
    total = 0.0
    for n in range(dim_out + 1, math.floor(most) + 1, 2):
        chosen = np.log(most - np.arange(n)).sum() - special.gammaln(n + 1)  # of the rivals
        others = (most - n) * np.log1p(-share) if n < most else 0.0
        density = rivals.integral(np.exp(chosen + n * np.log(share) + others))
        term = 2 * (n + 1) * float(weights @ density)
        total += term
        if term <= _NEGLIGIBLE * total and n > cone.statistical_dimension:
            break
    return min(max(total, 0.0), 1.0)


def most_targets(setting: Setting, facts: float) -> float:
    """Return how many facts can be stored for the sake of their targets, if not as many as given.

    With even odds all their targets are vertices; each fact has a target of its own until none is left.
    """
    candidates = setting.competing(facts)
    if setting.tail_fraction is not None:
        return math.inf
    ends = setting.problem == "original" and setting.binding_rank == 1
    if ends and min(facts, candidates) > _ENDS:
        return _ENDS
    if hidden_targets(setting, facts) <= EVEN_ODDS:
        return math.inf
    if setting.candidates is not None:
        return EVEN_ODDS / hidden_share(candidates, setting.dim_out)
    from scipy.optimize import brentq

    fewest = setting.dim_out + 1.0  # a simplex
    return float(
        brentq(lambda most: hidden_targets(setting, most) - EVEN_ODDS, fewest, facts, rtol=1e-6)
    )


def lost_to_hidden(setting: Setting, facts: float) -> float:
    """Return which share of so many facts does not fit on average, as a target is hidden before.

    The first hidden target ends it; hidden ones are rare events, so that there is none among n facts with
    the probability :math:`e^{-H(n)}`, H being their mean number.
    """
    if hidden_targets(setting, facts) == 0 or setting.tail_fraction is not None:
        return 0.0
    numbers, weights = gauss_legendre(0.0, facts, _NODES)
    without = np.exp([-hidden_targets(setting, float(number)) for number in numbers])
    return 1 - float(weights @ without) / facts


def placed_facts(setting: Setting) -> float:
    """Return how many facts two directions hold, whatever their price: none without a rank bound.

    Independent inputs and outputs can be sent anywhere, so also to the corners of one polygon, on which
    each output is the furthest in its own direction. The margins are tiny, but they are there.
    """
    plain = setting.margin == 0 and setting.tail_fraction is None and setting.problem == "original"
    if setting.rank is None or not plain or setting.binding_rank < 2:
        return 0.0
    independent = setting.dim_out + 1  # corners of a simplex
    if setting.candidates is None:
        return float(min(setting.dim_in, independent))
    return float(setting.dim_in) if setting.candidates <= independent else 0.0


def hidden_targets(setting: Setting, facts: float) -> float:
    """Return the mean number of facts whose target is no vertex."""
    candidates = setting.competing(facts)
    distinct = min(facts, candidates)
    price = statistical_dimension(candidates)
    if 2 * distinct * special.pdtrc(setting.dim_out, _POISSON * price) < EVEN_ODDS / 2:
        return 0.0
    return distinct * hidden_share(candidates, setting.dim_out)
