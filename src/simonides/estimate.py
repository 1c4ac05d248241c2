"""A number and how far it may be off."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simonides import arguments
from simonides.arrays import Reals


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its standard error.

    Parameters
    ----------
    value : float
        The value.
    stderr : float
        Its standard error: zero for what was not sampled, infinite for a single sample.

    Examples
    --------
    >>> print(Estimate(1.25, 0.03))
    1.250 ± 0.030
    >>> print(Estimate(0.5))
    0.5
    """

    value: float
    stderr: float = 0.0

    @classmethod
    def of_mean(cls, samples: Reals) -> Estimate:
        """Return the mean of independent samples, with the standard error of that mean."""
        if samples.size == 0:
            raise arguments.refuse("samples", samples.size, "at least one", "draw some")
        if samples.size < 2:
            return cls(float(np.mean(samples)), math.inf)
        return cls(
            float(np.mean(samples)), float(np.std(samples, ddof=1) / math.sqrt(samples.size))
        )

    def scaled(self, factor: float) -> Estimate:
        """Return ``factor`` times this estimate."""
        return Estimate(factor * self.value, abs(factor) * self.stderr)

    def __str__(self) -> str:
        if self.stderr == 0:
            return f"{self.value:.6g}"
        if not math.isfinite(self.stderr):
            return f"{self.value:.3g} ± ?"
        places = max(0, 1 - math.floor(math.log10(self.stderr)))
        return f"{self.value:.{places}f} ± {self.stderr:.{places}f}"
