"""Facts to store in tests."""

import numpy as np

from simonides import AssociativeMemory


def gaussian(facts, dim, seed=0):
    """Return inputs and targets, one of its own for each input."""
    return np.random.default_rng(seed).standard_normal((2, facts, dim))


def shared(facts, dim, outputs, seed=0):
    """Return inputs, outputs and which output belongs to each input."""
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((facts, dim)),
        rng.standard_normal((outputs, dim)),
        rng.integers(outputs, size=facts),
    )


def fitted(facts=20, dim=12, seed=0, **options):
    """Return a memory and what it stores."""
    X, Y = gaussian(facts, dim, seed)
    return AssociativeMemory(**options).fit(X, Y), X, Y
