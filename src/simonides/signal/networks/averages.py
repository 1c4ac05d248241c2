"""The class of networks that were run, from what was measured in them and nothing else.

Theory calls attention frozen where beta exceeds its critical value. Networks show entropies instead: the
entropy of a row falls with the variance of its scores, so the same edge is the entropy that T Gaussian
scores have at the critical variance, 2 log T.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.signal.attention.attention import row_moments
from simonides.signal.outcome import OUTCOMES, Outcome, Thresholds, classes

if TYPE_CHECKING:
    from simonides.signal.networks.simulation import Simulation


def freezing_entropy(tokens: float) -> float:
    """Return the mean entropy of attention over that many tokens at the critical variance.

    >>> round(freezing_entropy(512), 6)
    2.433886
    """
    return row_moments(2 * math.log(tokens), tokens).entropy


def observed(run: Simulation, thresholds: Thresholds | None = None) -> Outcome:
    """Return the class of simulated networks; ``simulate`` must have sent gradients back."""
    if not np.any(run.mean.gradient):
        raise arguments.refuse(
            "run", "no gradients", "with gradients", "call simulate with backward=True"
        )
    tokens = run.architecture.tokens
    least = np.asarray(run.mean.entropy.min())
    found = classes(
        final_gap=np.asarray(1 - run.mean.cosine[-1]),
        frozen=least < freezing_entropy(tokens),
        least_entropy=least / math.log(tokens),
        gain=np.asarray(run.mean.gradient[0] / run.mean.gradient[-1]),
        thresholds=thresholds or Thresholds(),
    )
    return OUTCOMES[int(found)]
