"""The first moment of the solutions' volume (Section 5.1 and Appendix B), by drawing everything."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from simonides.estimate import Estimate

_DIM = 4
_FACTS = (2, 3, 4)
_BATCH = 20_000
_SEED = 42


@cache
def volumes(draws: int) -> dict[int, tuple[Estimate, Estimate]]:
    """Return the chance that a random matrix solves a random problem: original, decoupled, by facts."""
    rng = np.random.default_rng(_SEED)
    return {
        facts: (
            _chance(rng, facts, draws, shared=True),
            _chance(rng, facts, draws, shared=False),
        )
        for facts in _FACTS
    }


def _chance(rng: np.random.Generator, facts: int, draws: int, *, shared: bool) -> Estimate:
    solved = 0
    for start in range(0, draws, _BATCH):
        size = min(_BATCH, draws - start)
        weights = rng.standard_normal((size, _DIM, _DIM))
        images = rng.standard_normal((size, facts, _DIM)) @ weights
        if shared:
            scores = images @ rng.standard_normal((size, _DIM, facts))
            best = scores.argmax(axis=2)
            solved += int(np.sum(np.all(best == np.arange(facts), axis=1)))
        else:
            outputs = rng.standard_normal((size, facts, facts, _DIM))
            scores = np.einsum("nid,nijd->nij", images, outputs)
            solved += int(np.sum(np.all(scores.argmax(axis=2) == 0, axis=1)))
    share = solved / draws
    return Estimate(share, math.sqrt(share * (1 - share) / draws))
