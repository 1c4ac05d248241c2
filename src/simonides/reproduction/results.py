"""What the sweeps of a reproduction left, read for figures and claims, and what was made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.arrays import Reals
from simonides.curves.table import Table, TableRow, stacked
from simonides.estimate import Estimate
from simonides.experiments.expand import predicted
from simonides.experiments.score_laws import SCORE_EDGES
from simonides.experiments.sweep import Tally, arrays, rows
from simonides.experiments.task import rank_of
from simonides.reproduction.plans import BOTH, REGIMES, ReproductionPlan
from simonides.reproduction.statistics import mean

if TYPE_CHECKING:
    from simonides.reproduction.claims.claim import PaperClaim
    from simonides.reproduction.figure import PaperFigure

Row = dict[str, Any]


def folder_of(out: str | Path, sweep: str, place: int) -> Path:
    """Return where the results of one spec of a sweep are kept."""
    return Path(out) / "sweeps" / f"{sweep}-{place + 1}"


@dataclass(frozen=True, eq=False)
class Results:
    """What a plan's sweeps left in a folder: their rows, and tables of figures made from these.

    Rows are read, and tables computed, when they are first asked for.
    """

    out: Path
    plan: ReproductionPlan
    _rows: dict[str, list[Row]] = field(default_factory=dict, repr=False)
    _tables: dict[str, Mapping[str, Table]] = field(default_factory=dict, repr=False)

    def rows(self, sweep: str, **columns: Any) -> list[Row]:
        """Return the rows of a sweep in which the named columns have the given values.

        Singular values and counts of scores are columns too.
        """
        if sweep not in self._rows:
            self._rows[sweep] = [
                row
                for place in range(len(self.plan.sweeps[sweep]))
                for row in _done(folder_of(self.out, sweep, place))
            ]
        return where(self._rows[sweep], **columns)

    def tables(self, figure: PaperFigure) -> Mapping[str, Table]:
        """Return a figure's tables, by name: what its picture and the claims about it read."""
        if figure.name not in self._tables:
            self._tables[figure.name] = figure.tables(self)
        return self._tables[figure.name]


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What was measured, drawn and checked.

    ``tables`` are those of the figures and ``curves`` those of theory, by name. ``tallies`` are those of
    the sweeps by their folders' names, ``task_seconds`` the seconds of their tasks added up, whenever these
    were run; ``seconds`` is the time each part took now. ``left_out`` are the names of figures that a time
    limit came before. ``report`` is what the page is called, without an
    ending, and ``page`` where it was written.
    """

    plan: ReproductionPlan
    figures: Sequence[PaperFigure]
    tables: Mapping[str, Mapping[str, Table]]
    claims: Sequence[PaperClaim]
    curves: Mapping[str, Table] = field(default_factory=dict)
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    task_seconds: Mapping[str, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    report: str = "report"
    page: Path | None = None


def _done(folder: Path) -> list[Row]:
    beside = {row["id"]: row for row in arrays(folder).to_pylist()}
    return [
        {**beside.get(row["id"], {}), **row}
        for row in rows(folder).to_pylist()
        if row["status"] == "done"
    ]


def where(rows: Iterable[Row], **columns: Any) -> list[Row]:
    """Return the rows in which columns have the given values.

    >>> where([{"dim": 25}, {"dim": 50}], dim=50)
    [{'dim': 50}]
    """
    return [row for row in rows if all(row[name] == value for name, value in columns.items())]


def groups(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return the rows by the values of some columns, in the order of these values."""
    parts: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        parts.setdefault(tuple(row[name] for name in names), []).append(row)
    return dict(sorted(parts.items()))


def summarised(
    name: str,
    title: str,
    rows: Iterable[Row],
    *names: str,
    of: Callable[[list[Row]], TableRow],
) -> Table:
    """Return a table with a row for each group of rows: the named columns, and what is made of it.

    For ``problem`` there is the column ``decoupled``.
    """

    def column(name: str, value: Any) -> tuple[str, Any]:
        return ("decoupled", problem_code(value)) if name == "problem" else (name, value)

    parts = groups(rows, *names).values()
    return stacked(
        name,
        title,
        [{**dict(column(key, part[0][key]) for key in names), **of(part)} for part in parts],
    )


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
    return mean(row[column] for row in rows)


def problem_code(problem: str) -> float:
    """Return what the column ``decoupled`` holds for a problem.

    >>> problem_code("original"), problem_code("decoupled")
    (0.0, 1.0)
    """
    return float(BOTH.index(problem))


def share_of_capacity(row: Mapping[str, Any]) -> float:
    """Return a row's facts over the predicted capacity of its problem, dimension and rank."""
    rank = rank_of(row["dim"], row["rank_fraction"])
    return float(row["facts"] / predicted(row["problem"], row["dim"], rank))


def regime_of(row: Mapping[str, Any]) -> float:
    """Return which regime a row is in: facts over the predicted capacity, as the plans have them."""
    return min(REGIMES, key=lambda regime: abs(regime - share_of_capacity(row)))


SCORE_STEP = 0.1
"""Of histograms: twice the width of the bins that were counted, SCORE_EDGES, in all units met."""

SCORE_GRID: Reals = np.arange(-5.0, 8.0 + SCORE_STEP / 2, SCORE_STEP)
"""Scores, in units of the off-target deviation, at which distributions are compared."""


def score_distribution(row: Mapping[str, Any], kind: str, grid: Reals = SCORE_GRID) -> Reals:
    """Return the distribution function of a row's scores, off-target variance one.

    ``kind`` is ``"target"``, ``"best_rival"`` or ``"rival"``.
    """
    counts = np.asarray(row[f"{kind}_counts"], dtype=np.float64)
    below = np.cumsum(counts)[:-1] / counts.sum()
    return np.asarray(np.interp(grid * row["rival_std"], SCORE_EDGES, below))
