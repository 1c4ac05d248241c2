"""The Hebbian rule: simulated accuracy against theory, with and without finite-size crosstalk."""

import math
from typing import Any, Literal

import numpy as np

from simonides.theory.hebbian import failure_probability, recall_probability
from simonides.theory.setting import Setting

_INSTANCES = 24


def run() -> list[dict[str, Any]]:
    """Return one row per shape and kind of outputs."""
    rng = np.random.default_rng(2)
    rows = []
    for dim_in, dim_out, facts in ((25, 25, 60), (50, 50, 150), (100, 100, 300), (30, 100, 300)):
        samples = np.array([_recalled(dim_in, dim_out, facts, rng) for _ in range(_INSTANCES)])
        leading = 1 - failure_probability(math.sqrt(dim_in * dim_out / facts), facts)
        kinds: tuple[Literal["original", "decoupled"], ...] = ("original", "decoupled")
        for problem, measured in zip(kinds, samples.T, strict=True):
            rows.append(
                {
                    "dim_in": dim_in,
                    "dim_out": dim_out,
                    "facts": facts,
                    "problem": problem,
                    "simulated": float(measured.mean()),
                    "stderr": float(measured.std(ddof=1)) / math.sqrt(_INSTANCES),
                    "theory": recall_probability(Setting(dim_in, dim_out, problem=problem), facts),
                    "leading_order": leading,
                }
            )
    return rows


def _recalled(
    dim_in: int, dim_out: int, facts: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the recalled fraction of one instance against shared and against fresh rivals."""
    inputs = rng.standard_normal((facts, dim_in))
    outputs = rng.standard_normal((facts, dim_out))
    images = inputs @ (inputs.T @ outputs)
    targets = np.einsum("ij,ij->i", images, outputs)
    shared = np.mean((images @ outputs.T).argmax(axis=1) == np.arange(facts))
    fresh = [(rng.standard_normal((facts - 1, dim_out)) @ image).max() for image in images]
    return float(shared), float(np.mean(targets > fresh))
