"""Whether an estimate is what it should be, up to its standard error."""

from __future__ import annotations

import math


def agrees(estimate, value, *, stderr=0.0, relative=0.0, absolute=0.0):
    """Within four standard errors of both sides and a stated finite-size term."""
    noise = 4 * math.hypot(estimate.stderr, stderr)
    return abs(estimate.value - value) < noise + relative * abs(value) + absolute
