r"""Leading corrections to attention statistics at finite width.

Heads of dimension :math:`d_h`: a query's own norm fluctuates, so that its score variance is v times a
chi-square variable over its :math:`d_h` degrees of freedom, which is averaged over. Dimension d: keys
that a query prefers lean its way, so that their average does not cancel. In the norm and the gap of
what attention puts out, by parts,

.. math:: Y \to Y + \frac vd (1 - 5Y + 4Y_3 + 6 Y_{22} - 6 Y_4), \qquad
    O \to O + r \frac vd (1 - Y)^2

for tokens that a LayerNorm has brought to equal norms (their own squares, which would add
:math:`4Y - 10Y_3 + 6Y_4` if norms were free, do not fluctuate).
"""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from simonides.signal.attention.attention import AttentionStatistics

if TYPE_CHECKING:
    from simonides.arrays import Reals
    from simonides.signal.maps.architecture import Architecture
    from simonides.signal.maps.forward import Statistics


def corrected(statistics: Statistics, architecture: Architecture) -> Statistics:
    """Return statistics with both corrections for an architecture's widths."""
    dim, head_dim = architecture.dim, architecture.head_dim

    def at_finite_width(variance: Reals, correlation: Reals) -> AttentionStatistics:
        found = _averaged(statistics, variance, correlation, head_dim)
        own = found.participation
        towards = 1 - 5 * own + 4 * found.third + 6 * (found.squared - found.fourth)
        more = variance / dim * towards
        shared = correlation * variance / dim * np.square(1 - own)
        values = {field.name: getattr(found, field.name) for field in fields(found)}
        values["excess"] = found.excess + more
        values["contrast"] = found.contrast + more - shared
        return AttentionStatistics(**values)

    return at_finite_width


def _averaged(
    statistics: Statistics, variance: Reals, correlation: Reals, head_dim: int
) -> AttentionStatistics:
    factors, weights = _chi_square_rule(head_dim)
    parts = [statistics(variance * factor, correlation) for factor in factors]
    return AttentionStatistics(
        **{
            field.name: sum(
                weight * getattr(part, field.name)
                for weight, part in zip(weights, parts, strict=True)
            )
            for field in fields(AttentionStatistics)
        }
    )


@lru_cache(maxsize=64)
def _chi_square_rule(degrees: int) -> tuple[Reals, Reals]:
    """Return three positive points and weights for a chi-square variable over its degrees."""
    # Gauss-Laguerre from its recurrence: nothing overflows at many degrees.
    order, power = np.arange(3.0), degrees / 2 - 1
    above = np.sqrt(order[1:] * (order[1:] + power))
    points, vectors = np.linalg.eigh(
        np.diag(2 * order + 1 + power) + np.diag(above, 1) + np.diag(above, -1)
    )
    return points * 2 / degrees, vectors[0] ** 2
