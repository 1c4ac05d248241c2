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


def run() -> list[dict[str, Any]]:
    """Fit the memory and three classifiers to the same labels."""
    rows = []
    for name, (seen, labels, unseen, answers) in _data().items():
        for model, make in MODELS.items():
            pipeline = make_pipeline(StandardScaler(), make())
            with warnings.catch_warnings():
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
    centres = rng.standard_normal((50, 100))
    places = rng.integers(50, size=4000)
    spread = centres[places] + _SPREAD * rng.standard_normal((4000, 100))
    digits = load_digits()
    parts = train_test_split(digits.data, digits.target, test_size=0.5, random_state=0)
    keys, values = rng.standard_normal((1400, 50)), rng.integers(100, size=1400)
    return {
        "arbitrary labels: 50 dimensions, 100 classes": (keys[:700], values[:700], None, None),
        "arbitrary labels, beyond capacity": (keys, values, None, None),
        "overlapping clusters: 100 dimensions, 50 classes": (
            spread[:2000],
            places[:2000],
            spread[2000:],
            places[2000:],
        ),
        "handwritten digits: 64 dimensions, 10 classes": (parts[0], parts[2], parts[1], parts[3]),
    }
