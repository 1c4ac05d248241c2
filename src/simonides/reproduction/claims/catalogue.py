"""All claims, with the sweeps they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.reproduction.claims import capacities, equivalence, mechanism, protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from simonides.reproduction.claims.claim import Claim
    from simonides.reproduction.results import Results

_CLAIMS: tuple[tuple[tuple[str, ...], Callable[[Results], Claim]], ...] = (
    (("thresholds",), capacities.capacity_one_half),
    (("thresholds",), capacities.rate_of_convergence),
    (("thresholds",), equivalence.thresholds),
    (("accuracy",), equivalence.curves),
    (("spectra", "regimes"), equivalence.spectra),
    (("regimes",), equivalence.scores),
    (("hebbian",), capacities.hebbian_one_eighth),
    (("hebbian", "thresholds"), capacities.fourfold_gap),
    (("bounded",), capacities.rank_bound),
    (("spectra", "regimes"), mechanism.rank_spectra),
    (("regimes",), mechanism.rivals_standard_normal),
    (("regimes",), mechanism.targets_concentrate),
    (("regimes",), mechanism.targets_broaden),
    (("regimes",), mechanism.raises_targets),
    (("spectra", "regimes"), mechanism.gaussian_equivalence),
    (("accuracy",), mechanism.first_moment),
    (("protocol",), protocol.adam_agrees),
)

SWEEPS = tuple(dict.fromkeys(sweep for needs, _ in _CLAIMS for sweep in needs))
"""The sweeps that the claims need together."""


def claims_of(results: Results, sweeps: Collection[str]) -> list[Claim]:
    """Return the claims that can be checked with these sweeps."""
    return [check(results) for needs, check in _CLAIMS if set(needs) <= set(sweeps)]
