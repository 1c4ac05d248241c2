"""What the sweeps of a reproduction found, read for figures and claims."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.estimate import Estimate
from simonides.experiments.expand import predicted
from simonides.experiments.score_laws import SCORE_EDGES
from simonides.experiments.sweep import arrays, rows
from simonides.experiments.task import rank_of
from simonides.reproduction.plans import REGIMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from simonides.arrays import Reals
    from simonides.reproduction.plans import Plan

Row = dict[str, Any]


def folder_of(out: str | Path, sweep: str, place: int) -> Path:
    """Return where the results of one spec of a sweep are kept."""
    return Path(out) / "sweeps" / f"{sweep}-{place + 1}"


@dataclass(frozen=True, eq=False)
class Results:
    """The finished tasks of a plan's sweeps, read when they are first asked for."""

    out: Path
    plan: Plan

    @cached_property
    def _read(self) -> dict[str, list[Row]]:
        return {}

    def rows(self, sweep: str, **columns: Any) -> list[Row]:
        """Return the rows of a sweep in which the named columns have the given values.

        Singular values and counts of scores are columns too.
        """
        if sweep not in self._read:
            self._read[sweep] = [
                row
                for place in range(len(self.plan.sweeps[sweep]))
                for row in _done(folder_of(self.out, sweep, place))
            ]
        return where(self._read[sweep], **columns)


def _done(folder: Path) -> list[Row]:
    beside = {one["id"]: one for one in arrays(folder).to_pylist()}
    found = rows(folder).to_pylist()
    return [{**beside.get(row["id"], {}), **row} for row in found if row["status"] == "done"]


def where(rows: Iterable[Row], **columns: Any) -> list[Row]:
    """Return the rows in which columns have the given values.

    >>> where([{"dim": 25}, {"dim": 50}], dim=50)
    [{'dim': 50}]
    """
    return [row for row in rows if all(row[name] == value for name, value in columns.items())]


def groups(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return the rows by the values of some columns, in the order of these values."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return dict(sorted(found.items()))


def largest_common_dim(rows: Sequence[Row]) -> int:
    """Return the largest dimension at which both problems were measured.

    >>> largest_common_dim([
    ...     {"problem": "original", "dim": 25}, {"problem": "decoupled", "dim": 25},
    ...     {"problem": "original", "dim": 50},
    ... ])
    25
    """
    dims = ({int(row["dim"]) for row in part} for part in groups(rows, "problem").values())
    return max(set.intersection(*dims))


def mean_of(rows: Sequence[Row], column: str) -> Estimate:
    """Return the mean of a column over independent rows."""
    return Estimate.of_mean(np.array([row[column] for row in rows], dtype=np.float64))


def regime_of(row: Mapping[str, Any]) -> float:
    """Return which regime a row is in: facts over the predicted capacity, as the plans have them."""
    share = row["facts"] / predicted(
        row["problem"], row["dim"], rank_of(row["dim"], row["rank_fraction"])
    )
    return min(REGIMES, key=lambda one: abs(one - share))


SCORE_STEP = 0.1
SCORE_GRID: Reals = np.arange(-5.0, 8.0 + SCORE_STEP / 2, SCORE_STEP)
"""Scores, in units of the off-target deviation, at which distributions are compared."""


def score_distribution(row: Mapping[str, Any], kind: str, grid: Reals = SCORE_GRID) -> Reals:
    """Return the distribution function of a row's scores, off-target variance one.

    ``kind`` is ``"target"``, ``"best_rival"`` or ``"rival"``.
    """
    counts = np.asarray(row[f"{kind}_counts"], dtype=np.float64)
    below = np.cumsum(counts)[:-1] / counts.sum()
    return np.asarray(np.interp(grid * row["rival_std"], SCORE_EDGES, below))
