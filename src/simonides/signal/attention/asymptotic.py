r"""Attention statistics in the limit of many tokens: the Random Energy Model.

At variance :math:`v = b^2 \log T` the softmax freezes at :math:`b = \sqrt 2`. With
:math:`m = \sqrt2 / b`,

.. math:: Y = 1 - m, \quad Y_3 = \tfrac12 (1-m)(2-m), \quad Y_{22} = \tfrac13 (1-m)(3-2m), \quad
    \Gamma = \tfrac13 m (1-m), \quad O = 0

above, all zero below, where :math:`H = (1 - b^2/2) \log T`. Corrections are of order 1/log T: near and
below freezing these are not to be trusted at any number of tokens in use.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from simonides.signal.attention.attention import AttentionStatistics, checked_tokens

if TYPE_CHECKING:
    from simonides.arrays import Reals
    from simonides.signal.maps.forward import Statistics


def asymptotic_statistics(tokens: float) -> Statistics:
    """Return the limit's statistics as a function of variance and correlation.

    Two queries overlap only where they are one: O is Y at correlation 1, and 0 at any other.
    """
    log_tokens = math.log(checked_tokens(tokens))

    def statistics(variance: Reals, correlation: Reals) -> AttentionStatistics:
        variance, correlation = np.broadcast_arrays(variance, correlation)
        squared_beta = variance / log_tokens
        # At zero variance nothing is frozen; any m of at least one says so.
        m = np.minimum(np.sqrt(2 / np.maximum(squared_beta, 1e-300)), 1.0)
        frozen = 1 - m
        nothing = np.zeros_like(frozen)
        # Y4 from the moments of a Poisson-Dirichlet law: (1-m)(2-m)(3-m)/6.
        return AttentionStatistics(
            even=0.0,
            participation=frozen,
            excess=frozen,
            overlap=np.where(correlation == 1, frozen, nothing),
            contrast=np.where(correlation == 1, nothing, frozen),
            entropy=log_tokens * np.maximum(1 - squared_beta / 2, 0.0),
            third=frozen * (2 - m) / 2,
            fourth=frozen * (2 - m) * (3 - m) / 6,
            squared=frozen * (3 - 2 * m) / 3,
            gradient=m * frozen / 3,
            gradient_overlap=np.where(correlation == 1, m * frozen / 3, nothing),
        )

    return statistics
