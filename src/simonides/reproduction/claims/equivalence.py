"""Claims that the original and the decoupled problem are one: thresholds, curves, spectra, scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import numpy as np
from scipy import stats

from simonides.arrays import Reals
from simonides.curves.table import estimate_in
from simonides.estimate import Estimate
from simonides.reproduction.claims.claim import (
    Agreement,
    Finding,
    MissingError,
    graded,
    is_near,
    stated,
    undecided,
    worst,
)
from simonides.reproduction.claims.complete import FEWEST, has_error, regimes, whole_instances
from simonides.reproduction.claims.criteria import CRITERIA
from simonides.reproduction.plans import BOTH
from simonides.reproduction.results import (
    Results,
    Row,
    groups,
    score_distribution,
    share_of_capacity,
    where,
)
from simonides.reproduction.spectra import measured_distribution, near_capacity
from simonides.reproduction.statistics import (
    chance_of_zero,
    distance,
    mean,
    permutation_p,
    smallest_p,
)
from simonides.reproduction.thresholds import DIFFERENCES

_COMPARED = "largest difference of distribution functions, instances exchanged for p"


@stated(
    "equal-thresholds",
    "Original and decoupled problem have the same capacity; measured transitions are "
    "indistinguishable at all dimensions tested (Section 3.1)",
    "no difference",
    data="sweeps/thresholds, Figure difference",
)
def thresholds(results: Results) -> Finding:
    """Check that the two thresholds are indistinguishable."""
    rows = results.tables(DIFFERENCES)["measured"].records()
    measured = {row["dim"]: estimate_in(row, "excess") for row in rows}
    excesses = {dim: excess for dim, excess in measured.items() if has_error(excess)}
    if not excesses:
        raise MissingError(
            f"thresholds of both problems at one dimension, {FEWEST} instances or more of each"
        )
    words = ", ".join(
        f"{_signed(excess.scaled(100))}% at d = {dim:g}" for dim, excess in excesses.items()
    )
    chance = chance_of_zero([*excesses.values()])
    words = f"original minus decoupled, over decoupled: {words}; p = {chance:.1g} for no difference"
    verdict = verdict_on_differences([*excesses.values()])
    if verdict is Agreement.UNDECIDED:
        return undecided(
            "instances enough to show a difference within the tolerance, or beyond", words
        )
    return Finding(words, verdict)


def verdict_on_differences(excesses: Sequence[Estimate]) -> Agreement:
    """Return the verdict on differences ordered by dimension, by two one-sided tests of each."""
    criterion = CRITERIA["equal-thresholds"]
    sigmas = float(stats.norm.isf(criterion["level"]))
    within = [
        abs(excess.value) + sigmas * excess.stderr < criterion["tolerance"] for excess in excesses
    ]
    if all(within) and chance_of_zero(excesses) >= criterion["told"]:
        return Agreement.AGREES
    if within[-1]:
        return Agreement.IN_PART
    beyond = abs(excesses[-1].value) - sigmas * excesses[-1].stderr > criterion["tolerance"]
    return Agreement.DISAGREES if beyond else Agreement.UNDECIDED


@stated(
    "equal-curves",
    "The whole curves of accuracy against the load match, not just the transition "
    "(Section 3.1, Fig. 1)",
    "no difference",
    data="sweeps/accuracy, Figure 1",
)
def curves(results: Results) -> Finding:
    """Check that accuracy beyond capacity is the same."""
    words, differences = [], []
    for (dim,), part in groups(results.rows("accuracy"), "dim").items():
        beyond = [row for row in part if 1.02 < share_of_capacity(row) < 1.5]
        both = [where(beyond, problem=problem) for problem in BOTH]
        shared = set.intersection(*({(row["facts"],) for row in rows} for rows in both))
        means = [_mean_accuracies(rows, shared) for rows in both]
        if min(map(len, means)) < FEWEST:
            continue
        original, decoupled = map(mean, means)
        gap = Estimate(
            original.value - decoupled.value, float(np.hypot(original.stderr, decoupled.stderr))
        )
        differences.append(gap)
        words.append(f"{_signed(gap)} at d = {dim}")
    if not differences:
        raise MissingError(
            "accuracies of both problems at the same loads beyond capacity, all of them for "
            f"{FEWEST} instances or more of each"
        )
    slacks = CRITERIA["equal-curves"].limits.values()
    return Finding(
        "original minus decoupled accuracy, mean over loads 1.02 to 1.5 times capacity: "
        + ", ".join(words),
        graded(*(all(is_near(gap, 0.0, slack) for gap in differences) for slack in slacks)),
    )


@stated(
    "equal-spectra",
    "Singular values at capacity match between the two problems (Section 3.2, Fig. 3)",
    "same law",
    data="sweeps/spectra, sweeps/regimes, Figure 3",
)
def spectra(results: Results) -> Finding:
    """Check that singular values at capacity have the same law."""
    by_rank = groups(near_capacity(results), "rank_fraction")
    if not by_rank:
        raise MissingError("singular values at capacity")
    parts = {}
    for (fraction,), rows in by_rank.items():
        dim, part = _most_telling(rows, len(by_rank))
        parts[f"κ = {fraction:g}, d = {dim}"] = part
    finding = compared(parts, measured_distribution)
    return Finding(f"{_COMPARED}: {finding.words}", finding.verdict)


def _most_telling(rows: list[Row], parts: int) -> tuple[int, list[Row]]:
    """Return the largest dimension whose instances can tell laws apart in one of so many parts.

    Where there is none, it is the one whose instances come nearest to that.
    """
    dims = {dim: part for (dim,), part in groups(rows, "dim").items()}
    least = {dim: smallest_p(*_counts(part)) for dim, part in dims.items()}
    told = [dim for dim, p in least.items() if p < CRITERIA["equal-spectra"]["level"] / parts]
    dim = max(told) if told else min(least, key=lambda dim: (least[dim], -dim))
    return dim, dims[dim]


def _counts(part: list[Row]) -> list[int]:
    return [len(where(part, problem=problem)) for problem in BOTH]


@stated(
    "equal-scores",
    "Target and off-target scores have the same laws in the two problems (Section 3.3, Fig. 4)",
    "same laws",
    data="sweeps/regimes, Figure 4",
)
def scores(results: Results) -> Finding:
    """Check that scores have the same law, targets and the others."""
    by_regime = regimes(results)
    dim = next(iter(by_regime.values()))[0]["dim"]
    parts = {f"{regime:g} of capacity": part for regime, part in by_regime.items()}
    targets, rivals = (
        compared(parts, partial(score_distribution, kind=kind)) for kind in ("target", "rival")
    )
    return Finding(
        f"d = {dim}, {_COMPARED}: targets, {targets.words}. Off target, {rivals.words}",
        worst([targets.verdict, rivals.verdict]),
    )


def compared(parts: Mapping[str, list[Row]], law: Callable[[Row], Reals]) -> Finding:
    """Return how far apart the laws of the two problems are in each part, and the verdict.

    Laws are told apart if p is below the level shared among the parts. With few instances p cannot be: such
    parts neither agree nor disagree, and where there are no others nothing is decided.
    """
    words, told, close, unsure = [], [], [], []
    criterion = CRITERIA["equal-spectra"]
    level = criterion["level"] / len(parts)
    for name, part in parts.items():
        original, decoupled = (
            np.array([law(row) for row in where(part, problem=problem)]) for problem in BOTH
        )
        counts = f"{len(original)} and {len(decoupled)}"
        if smallest_p(len(original), len(decoupled)) >= level:
            unsure.append(name)
        if not (len(original) and len(decoupled)):
            words.append(f"{name}: nothing to compare ({counts})")
            continue
        chance, apart = permutation_p(original, decoupled), distance(original, decoupled)
        told.append(chance < level)
        close.append(apart < criterion["far"])
        words.append(f"{name}: {apart:.3f} (p = {chance:.2g}, {counts})")
    if len(unsure) == len(parts):
        return undecided("instances enough for p to tell", "; ".join(words))
    if unsure:
        words.append(f"too few instances to tell: {', '.join(unsure)}")
    apart_for_sure = any(a and not b for a, b in zip(told, close, strict=True))
    verdict = graded(not unsure and all(close) and not any(told), not apart_for_sure)
    return Finding("; ".join(words), verdict)


def _mean_accuracies(rows: list[Row], facts: Collection[tuple[object, ...]]) -> list[float]:
    """Return the mean accuracy of each instance that has all these numbers of facts."""
    return [
        float(np.mean([row["accuracy"] for row in part]))
        for part in whole_instances(rows, facts, "facts")
    ]


def _signed(estimate: Estimate) -> str:
    return f"+{estimate}" if estimate.value >= 0 else str(estimate)
