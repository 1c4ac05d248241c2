"""Which records can be compared: a task that failed leaves its instance out, not the claim."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from simonides.estimate import Estimate
from simonides.reproduction.claims.claim import MissingError
from simonides.reproduction.plans import BOTH, REGIMES
from simonides.reproduction.results import Results, Row, groups, regime_of, where

FEWEST = 2
"""Instances that a standard error takes."""


def whole_instances(
    rows: Iterable[Row], wanted: Collection[tuple[object, ...]], *names: str
) -> list[list[Row]]:
    """Return the rows of each instance that has all wanted values of the named columns.

    A mean over the loads of an instance that lacks some is one over other loads.

    >>> rows = [{"instance": 0, "facts": 5}, {"instance": 0, "facts": 9}, {"instance": 1, "facts": 5}]
    >>> len(whole_instances(rows, {(5,), (9,)}, "facts")), len(whole_instances(rows, {(5,)}, "facts"))
    (1, 2)
    """
    compared = [row for row in rows if tuple(row[name] for name in names) in wanted]
    return [
        part
        for part in groups(compared, "instance").values()
        if {tuple(row[name] for name in names) for row in part} == set(wanted)
    ]


def has_error(estimate: Estimate) -> bool:
    """Return whether an estimate's standard error is known and can be a weight.

    That of a single instance is not, nor is that of two which happen to be equal.
    """
    return math.isfinite(estimate.stderr) and estimate.stderr > 0


def regimes(results: Results) -> dict[float, list[Row]]:
    """Return the rows of both problems by regime, at the largest dimension that has all of them."""
    rows = [row | {"regime": regime_of(row)} for row in results.rows("regimes")]
    parts = groups(rows, "dim", "regime", "problem")
    whole = [
        dim
        for (dim,) in groups(rows, "dim")
        if all((dim, regime, problem) in parts for regime in REGIMES for problem in BOTH)
    ]
    if not whole:
        raise MissingError(
            "scores of both problems below, near and above capacity at one dimension"
        )
    at_largest = where(rows, dim=max(whole))
    return {regime: part for (regime,), part in groups(at_largest, "regime").items()}
