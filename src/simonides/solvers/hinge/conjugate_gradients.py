"""Conjugate gradients, in the precision of what they start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals

_LEAST_CURVATURE = 1e-30
"""Relative to the squared residual; less is rounding, and would overflow in single precision."""


def conjugate_gradients(
    operator: Callable[[Reals], Reals], right: Reals, *, forcing: float, longest: int
) -> tuple[Reals, int]:
    """Solve operator(x) = right to a relative residual of ``forcing``; return x and the iterations.

    The operator is positive; where rounding makes it look otherwise the iteration ends with what it
    has.
    """
    answer = np.zeros_like(right)
    left, search = right.copy(), right.copy()
    size = first = float(np.vdot(left, left))
    count = 0
    while count < longest and size > forcing**2 * first:
        bent = operator(search)
        curvature = float(np.vdot(search, bent))
        if not curvature > size * _LEAST_CURVATURE:
            break
        stride = right.dtype.type(size / curvature)
        answer += stride * search
        left -= stride * bent
        shrunk = float(np.vdot(left, left))
        search *= right.dtype.type(shrunk / size)
        search += left
        size = shrunk
        count += 1
    return answer, count
