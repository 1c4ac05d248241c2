"""What the next step towards the least change is taken with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

_FIRST_STIFFNESS = 1.0
"""Over the square of an input without its common part: constraints pull, and few facts are recalled yet."""

_STIFFER = 2.0
"""Factor of the stiffness from one stage to the next."""

_MOST_STIFFNESS = 1e6
"""In the unit of the first: near capacity multipliers grow by as much, and softer updates gain little."""

_FORCING = (0.03, 3e-4)
"""Residuals of Newton equations: while constraints come and go, and once hardly a fact is lost."""

_SHORT = 0.3
"""A shorter step says that its direction was solved for too loosely."""

_STRICTER, _STRICTEST = 10.0, 1e-9
"""Factor from one residual to the next, down to what double precision leaves."""

_SLOW = 0.8
"""Ratio of the worst constraint to that at the last update above which stiffness grows."""


@dataclass(frozen=True)
class Course:
    """How the search stands: what the next step is taken with.

    ``stiffness`` is in the unit of the first, ``beyond`` the lead asked for above the margin, ``forcing``
    the residual that Newton equations may leave, ``worst`` what the worst constraint lacked when
    multipliers were last updated.
    """

    beyond: float
    stiffness: float = _FIRST_STIFFNESS
    forcing: float = _FORCING[0]
    worst: float = np.inf
    steps: int = 0

    def after(self, size: float, iterations: int, few_lost: bool) -> Course:
        """Return the course after a step of that size: a short one had too rough a direction, or none."""
        factor = 1 / _STRICTER if size < _SHORT or iterations == 0 else _STRICTER
        forcing = float(np.clip(self.forcing * factor, _STRICTEST, _FORCING[few_lost]))
        return replace(self, forcing=forcing, steps=self.steps + 1)

    def stiffer(self, most: float) -> Course:
        """Return a stiffer course, up to a limit."""
        return replace(self, stiffness=max(self.stiffness, min(self.stiffness * _STIFFER, most)))

    def updated(self, worst: float, beyond: float) -> Course:
        """Return the course after an update of multipliers."""
        course = self.stiffer(_MOST_STIFFNESS) if worst > _SLOW * self.worst else self
        return replace(course, worst=worst, beyond=beyond)
