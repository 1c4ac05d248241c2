"""Names for the arrays that pass between rooms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Singles = NDArray[np.float32]
Complexes = NDArray[np.complex128]
Truths = NDArray[np.bool_]
Integers = NDArray[np.int64]
