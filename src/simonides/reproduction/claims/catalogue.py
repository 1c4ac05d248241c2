"""All claims of the paper on storage, in its order."""

from __future__ import annotations

from collections.abc import Collection

from simonides.reproduction.claims import capacities, equivalence, mechanism, protocol
from simonides.reproduction.claims.claim import PaperClaim
from simonides.reproduction.results import Results

CHECKS = (
    capacities.capacity_one_half,
    capacities.rate_of_convergence,
    equivalence.thresholds,
    equivalence.curves,
    equivalence.spectra,
    equivalence.scores,
    capacities.hebbian_one_eighth,
    capacities.fourfold_gap,
    capacities.rank_bound,
    *mechanism.RANK_SPECTRA,
    mechanism.rivals_standard_normal,
    mechanism.targets_concentrate,
    mechanism.targets_broaden,
    mechanism.raises_targets,
    mechanism.gaussian_equivalence,
    mechanism.first_moment,
    protocol.adam_agrees,
)

SWEEPS = tuple(dict.fromkeys(sweep for check in CHECKS for sweep in check.needs))
"""The sweeps that the claims need together."""


def claims_of(results: Results, sweeps: Collection[str]) -> list[PaperClaim]:
    """Return the claims that can be checked with these sweeps."""
    return [check(results) for check in CHECKS if set(check.needs) <= set(sweeps)]
