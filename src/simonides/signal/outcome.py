"""What becomes of a network at initialisation: trainable, or one of the ways to fail."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from simonides import arguments
from simonides.arrays import Integers, Reals, Truths


class Outcome(StrEnum):
    """The class of a network at initialisation: trainable, or the way in which it fails.

    Examples
    --------
    >>> print(Outcome.RANK_COLLAPSE)
    rank collapse
    """

    TRAINABLE = "trainable"
    RANK_COLLAPSE = "rank collapse"
    ENTROPY_COLLAPSE = "entropy collapse"
    EXPLODING = "exploding gradients"
    VANISHING = "vanishing gradients"


OUTCOMES = tuple(Outcome)


@dataclass(frozen=True, slots=True)
class ClassThresholds:
    """Where trainable ends.

    Attention has also collapsed where beta exceeds its critical value at any layer.

    Parameters
    ----------
    cosine_gap : float
        Tokens have collapsed when 1 - cosine at the last layer is below it.
    entropy_fraction : float
        Attention has collapsed when its entropy falls below this fraction of log T; 0 leaves that out.
    gradient_decades : float
        Gradients explode or vanish when their squared norm changes by more powers of ten than this.

    Raises
    ------
    BadArgumentError
        If a threshold is out of range.

    Examples
    --------
    >>> ClassThresholds(gradient_decades=3.0).cosine_gap
    0.01
    """

    cosine_gap: float = 0.01
    entropy_fraction: float = 0.0
    gradient_decades: float = 2.0

    def __post_init__(self) -> None:
        for name, remedy in {
            "cosine_gap": "0.01 is usual",
            "entropy_fraction": "0 leaves it out",
        }.items():
            arguments.real(name, getattr(self, name), least=0, most=1, remedy=remedy)
        remedy = "2 allows a factor of a hundred"
        arguments.positive("gradient_decades", self.gradient_decades, remedy=remedy)


def classes(
    final_gap: Reals,
    frozen: Truths,
    least_entropy: Reals,
    gain: Reals,
    thresholds: ClassThresholds | None,
) -> Integers:
    """Return the position in ``OUTCOMES`` of each network's class.

    ``final_gap`` is 1 - cosine after the last layer, ``frozen`` whether beta exceeds its critical
    value anywhere, ``least_entropy`` over log T, ``gain`` the squared gradient at the first layer
    over that at the last. Collapse comes before gradients, rank before entropy: a network can fail
    in several ways, and the first hides the others.
    """
    limits = ClassThresholds() if thresholds is None else thresholds
    arguments.instance("thresholds", limits, ClassThresholds, "pass one, or leave it out")
    with np.errstate(divide="ignore"):
        # A gradient beyond the largest number has exploded, whatever became of it since.
        decades = np.log10(np.where(np.isfinite(gain), gain, np.inf))
    failures = {
        Outcome.RANK_COLLAPSE: final_gap < limits.cosine_gap,
        Outcome.ENTROPY_COLLAPSE: frozen | (least_entropy < limits.entropy_fraction),
        Outcome.EXPLODING: decades > limits.gradient_decades,
        Outcome.VANISHING: decades < -limits.gradient_decades,
    }
    codes = [OUTCOMES.index(outcome) for outcome in failures]
    trainable = OUTCOMES.index(Outcome.TRAINABLE)
    return np.asarray(np.select(list(failures.values()), codes, trainable), dtype=np.int64)
