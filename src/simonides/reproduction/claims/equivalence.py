"""Claims that the original and the decoupled problem are one: thresholds, curves, spectra, scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simonides.estimate import Estimate
from simonides.experiments.expand import predicted
from simonides.reproduction.capacities import difference
from simonides.reproduction.claims.claim import Claim, Verdict, graded, is_near
from simonides.reproduction.claims.statistics import (
    chance_of_zero,
    distance,
    permutation_p,
    smallest_p,
)
from simonides.reproduction.plans import BOTH
from simonides.reproduction.results import groups, largest_common_dim, regime_of, score_distribution
from simonides.reproduction.spectra import measured_distribution, near_capacity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from simonides.arrays import Reals
    from simonides.reproduction.results import Results, Row

_LEVEL = 0.01
"""Chance of calling equal things different."""

_SMALL = 0.05
"""Relative difference of capacities of the size of the terms in 1/d that both leave out at d = 20."""

_ACCURACY_SLACK, _ACCURACY_SMALL = 0.005, 0.05
"""Less than a mark's height in Fig. 1; less than what a load 5% higher costs beyond capacity."""

_SMALL_DISTANCE = 0.1
"""Of distribution functions: a third of that between the laws at capacity and at initialisation."""

_CRITERION = (
    "agrees: distances below 0.1, a third of that between the laws at capacity and at initialisation, and "
    "smallest p times their number at least 0.01, the chance of calling equal laws different, with "
    "instances enough for p to be lower; disagrees: a distance of 0.1 or more whose p is lower, or as low "
    "as so few instances allow; in part: otherwise"
)


def thresholds(results: Results) -> Claim:
    """Check that the two thresholds are indistinguishable."""
    table = difference(results)["measured"].records()
    excesses = {row["dim"]: Estimate(row["excess"], row["excess_stderr"]) for row in table}
    words = ", ".join(f"{one.scaled(100)}% at d = {dim:g}" for dim, one in excesses.items())
    chance = chance_of_zero([*excesses.values()])
    return Claim(
        "equal-thresholds",
        "Original and decoupled problem have the same capacity; measured transitions are "
        "indistinguishable at all dimensions tested (Section 3.1)",
        "no difference",
        f"the original's is larger by {words}; p = {chance:.1g} for no difference",
        verdict_on_differences([*excesses.values()]),
        "sweeps/thresholds, Figure difference",
        "agrees: p at least 0.01, the chance of calling equal capacities different; in part: at the "
        "largest d they differ by less than 5%, terms of order 1/d at d = 20",
    )


def verdict_on_differences(excesses: Sequence[Estimate]) -> Verdict:
    """Return the verdict on differences ordered by dimension: none, small at the largest, or large."""
    return graded(chance_of_zero(excesses) >= _LEVEL, abs(excesses[-1].value) < _SMALL)


def curves(results: Results) -> Claim:
    """Check that accuracy beyond capacity is the same."""
    words, differences = [], []
    for (dim,), part in groups(results.rows("accuracy"), "dim").items():
        both = [[row for row in part if row["problem"] == problem] for problem in BOTH]
        shared = set.intersection(*({row["facts"] for row in one} for one in both))
        means = [_beyond([row for row in one if row["facts"] in shared]) for one in both]
        if min(len(one) for one in means) < 2:
            continue
        original, decoupled = (Estimate.of_mean(np.array(one)) for one in means)
        gap = Estimate(
            original.value - decoupled.value, float(np.hypot(original.stderr, decoupled.stderr))
        )
        differences.append(gap)
        words.append(f"{gap} at d = {dim}")
    return Claim(
        "equal-curves",
        "The whole curves of accuracy against the load match, not just the transition "
        "(Section 3.1, Fig. 1)",
        "no difference",
        "original minus decoupled accuracy, mean over loads 1.02 to 1.5 times capacity: "
        + ", ".join(words),
        graded(
            all(is_near(gap, 0.0, _ACCURACY_SLACK) for gap in differences),
            all(is_near(gap, 0.0, _ACCURACY_SMALL) for gap in differences),
        ),
        "sweeps/accuracy, Figure 1",
        "agrees: within 3 standard errors and 0.005, less than a mark's height in the figure; in part: "
        "0.05, what a load higher by a few percent costs",
    )


def spectra(results: Results) -> Claim:
    """Check that singular values at capacity have the same law."""
    near = near_capacity(results)
    dim = largest_common_dim(near)
    parts = {
        f"κ = {fraction:g}": part
        for (at, fraction), part in groups(near, "dim", "rank_fraction").items()
        if at == dim
    }
    words, verdict = compared(parts, measured_distribution)
    return Claim(
        "equal-spectra",
        "Singular values at capacity match between the two problems (Section 3.2, Fig. 3)",
        "same law",
        f"d = {dim}, largest difference of distribution functions, instances exchanged for p: {words}",
        verdict,
        "sweeps/spectra, sweeps/regimes, Figure 3",
        _CRITERION,
    )


def scores(results: Results) -> Claim:
    """Check that target scores have the same law."""
    found = results.rows("regimes")
    dim = largest_common_dim(found)
    parts: dict[str, list[Row]] = {}
    for row in found:
        if row["dim"] == dim:
            parts.setdefault(f"{regime_of(row):g} of capacity", []).append(row)
    words, verdict = compared(parts, lambda row: score_distribution(row, "target"))
    return Claim(
        "equal-scores",
        "Target scores have the same law in the two problems (Section 3.3, Fig. 4)",
        "same law",
        f"d = {dim}, largest difference of distribution functions, instances exchanged for p: {words}",
        verdict,
        "sweeps/regimes, Figure 4",
        _CRITERION,
    )


def compared(parts: dict[str, list[Row]], law: Callable[[Row], Reals]) -> tuple[str, Verdict]:
    """Return in words how far apart the laws of the two problems are in each part, and the verdict.

    Laws are told apart if p is below the level shared among the parts; with few instances p cannot be, and
    the verdict is not that they agree.
    """
    words, decidable, told, close, possible = [], [], [], [], []
    level = _LEVEL / len(parts)
    for name, part in parts.items():
        one, other = (
            np.array([law(row) for row in part if row["problem"] == problem]) for problem in BOTH
        )
        chance, apart = permutation_p(one, other), distance(one, other)
        least = smallest_p(len(one), len(other))
        decidable.append(least < level)
        told.append(chance < level)
        possible.append(apart < _SMALL_DISTANCE or chance > max(level, least) * (1 + 1e-9))
        words.append(f"{name}: {apart:.3f} (p = {chance:.2g}, {len(one)} and {len(other)})")
        close.append(apart < _SMALL_DISTANCE)
    verdict = graded(all(decidable) and all(close) and not any(told), all(possible))
    if not all(decidable) and verdict is not Verdict.DISAGREES:
        words.append("too few instances to tell")
    return "; ".join(words), verdict


def _beyond(rows: list[Row]) -> list[float]:
    """Return each instance's mean accuracy beyond capacity."""
    kept = [
        row
        for row in rows
        if 1.02 < row["facts"] / predicted(row["problem"], row["dim"], None) < 1.5
    ]
    return [
        float(np.mean([row["accuracy"] for row in part]))
        for part in groups(kept, "instance").values()
    ]
