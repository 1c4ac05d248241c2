"""Recall under noise on the inputs: measured, predicted, and within which bounds."""

from typing import Any

import numpy as np

from simonides import AssociativeMemory
from simonides.arrays import Reals
from simonides.estimate import Estimate

CASES = (
    ("random", 60, 40, 0, 1.0),
    ("around 3 centres, a fifth as wide", 60, 30, 3, 0.2),
    ("around 1 centre, a tenth as wide", 40, 30, 1, 0.1),
    ("two", 2, 10, 0, 1.0),
)
"""Outputs: how they are drawn, their number and dimension, centres, and width about these."""

_LEVELS = 0.5, 1.0
_FACTS = 60
_SEEDS, _TRIALS = 8, 200
"""Memories, and draws of the noise for each: errors below one percent."""


def run() -> list[dict[str, Any]]:
    """Return one row for each kind of outputs and level of noise."""
    return [row for case in CASES for row in _rows(*case)]


def _rows(name: str, outputs: int, dim: int, centres: int, width: float) -> list[dict[str, Any]]:
    curves = []
    for seed in range(_SEEDS):
        rng = np.random.default_rng([outputs, dim, seed])
        # A memory of two outputs in ten dimensions holds twenty facts.
        facts = min(_FACTS, outputs if outputs > 2 else dim)
        targets = np.arange(facts) % outputs
        values = _outputs(outputs, dim, centres, width, rng)
        memory = AssociativeMemory(random_state=seed)
        memory.fit(rng.standard_normal((facts, dim)), outputs=values, targets=targets)
        curves.append(memory.recall_under_noise(list(_LEVELS), trials=_TRIALS))
    return [
        {
            "outputs": f"{outputs} {name}" if outputs > 2 else name,
            "dim": dim,
            "noise": level,
            "under_noise": str(Estimate.of_mean(np.array([curve.accuracy[k] for curve in curves]))),
            **{
                key: f"{np.mean([getattr(curve, key)[k] for curve in curves]):.3f}"
                for key in ("predicted", "lower", "upper")
            },
        }
        for k, level in enumerate(_LEVELS)
    ]


def _outputs(number: int, dim: int, centres: int, width: float, rng: np.random.Generator) -> Reals:
    around = rng.standard_normal((number, dim))
    if not centres:
        return around
    return rng.standard_normal((centres, dim))[np.arange(number) % centres] + width * around
