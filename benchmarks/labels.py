"""Labels: what is memorised, what is recalled of rows never seen, and how long it takes."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from simonides import AssociativeMemory

MODELS: dict[str, Callable[[], Any]] = {
    "`AssociativeMemory`": lambda: AssociativeMemory(),
    "`LogisticRegression`": lambda: LogisticRegression(max_iter=1000),
    "`LogisticRegression(C=1e6)`": lambda: LogisticRegression(C=1e6, max_iter=1000),
    "`RidgeClassifier`": lambda: RidgeClassifier(),
    "`NearestCentroid`": lambda: NearestCentroid(),
}

_SPREAD = 2.5
"""Deviation of rows about their class's centre, whose entries have deviation one: classes overlap."""

_WIDE_SPREAD = 5.0
"""The same in 384 dimensions, where the same deviation would keep classes apart."""


def run() -> list[dict[str, Any]]:
    """Fit the memory and three classifiers to the same labels."""
    rows = []
    for name, (seen, labels, unseen, answers) in _data().items():
        for model, make in MODELS.items():
            pipeline = make_pipeline(StandardScaler(), make())
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what is not stored, or has not converged
                start = time.perf_counter()
                pipeline.fit(seen, labels)
                seconds = time.perf_counter() - start
            rows.append(
                {
                    "data": name,
                    "facts": len(seen),
                    "model": model,
                    "accuracy": pipeline.score(seen, labels),
                    "held_out": None if unseen is None else pipeline.score(unseen, answers),
                    "seconds": seconds,
                }
            )
    return rows


def _data() -> dict[str, tuple[Any, ...]]:
    """Return rows and labels to store, and others to try."""
    rng = np.random.default_rng(0)
    small = _clusters(rng, facts=2000, dim=100, classes=50, spread=_SPREAD)
    digits = load_digits()
    parts = train_test_split(digits.data, digits.target, test_size=0.5, random_state=0)
    keys, values = rng.standard_normal((1400, 50)), rng.integers(100, size=1400)
    return {
        "arbitrary labels: 50 dimensions, 100 classes": (keys[:700], values[:700], None, None),
        "arbitrary labels, beyond capacity": (keys, values, None, None),
        "overlapping clusters: 100 dimensions, 50 classes": small,
        "overlapping clusters: 384 dimensions, 500 classes": _clusters(
            rng, facts=20_000, dim=384, classes=500, spread=_WIDE_SPREAD
        ),
        "handwritten digits: 64 dimensions, 10 classes": (parts[0], parts[2], parts[1], parts[3]),
    }


def _clusters(
    rng: np.random.Generator, *, facts: int, dim: int, classes: int, spread: float
) -> tuple[Any, ...]:
    """Return rows about the centres of their classes, and as many others."""
    centres = rng.standard_normal((classes, dim))
    places = rng.integers(classes, size=2 * facts)
    rows = centres[places] + spread * rng.standard_normal((2 * facts, dim))
    return rows[:facts], places[:facts], rows[facts:], places[facts:]
