"""A table of numbers with a name: what figures draw and commands print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simonides import arguments
from simonides.arrays import Reals
from simonides.estimate import Estimate

TableRow = Mapping[str, float | Reals]


@dataclass(frozen=True)
class Table:
    """Columns of equal length, and the settings they were computed for.

    ``columns`` maps a column's name to its values; a column named ``x_stderr`` holds the standard
    errors of column ``x``.
    """

    name: str
    title: str
    columns: Mapping[str, Reals]
    settings: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lengths = {name: len(values) for name, values in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise arguments.refuse("columns", lengths, "of equal length", "pad or split the table")

    def __getitem__(self, column: str) -> Reals:
        return self.columns[column]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), np.empty(0)))

    def where(self, column: str, value: float) -> Table:
        """Return the rows in which a column has the given value."""
        rows = self.columns[column] == value
        columns = {name: values[rows] for name, values in self.columns.items()}
        return Table(self.name, self.title, columns, self.settings)

    def distinct(self, column: str) -> list[float]:
        """Return the values that a column takes, in order of first appearance."""
        return list(dict.fromkeys(float(value) for value in self.columns[column]))

    def records(self) -> list[dict[str, float]]:
        """Return the rows as dictionaries."""
        names = list(self.columns)
        rows = zip(*self.columns.values(), strict=True)
        return [dict(zip(names, map(float, row), strict=True)) for row in rows]


def stacked(name: str, title: str, rows: Sequence[TableRow], **settings: float) -> Table:
    """Return a table from rows that all have the same keys.

    A row may hold arrays of one length: it stands for as many rows, with its numbers repeated in each.

    >>> stacked("t", "Two heights", [{"dim": 5.0, "height": np.array([0.1, 0.2])}])["dim"].tolist()
    [5.0, 5.0]
    """
    lengths = [max(np.size(value) for value in row.values()) for row in rows]
    columns = {
        key: np.concatenate(
            [np.full(size, row[key], dtype=float) for row, size in zip(rows, lengths, strict=True)]
        )
        for key in (rows[0] if rows else {})
    }
    return Table(name, title, columns, settings)


def columns_of(source: Any, *names: str) -> dict[str, float]:
    """Return the columns of a row that are attributes of one thing.

    >>> columns_of(Estimate(0.5, 0.1), "value")
    {'value': 0.5}
    """
    return {name: getattr(source, name) for name in names}


def with_error(name: str, estimate: Estimate, unit: float = 1.0) -> dict[str, float]:
    """Return the two columns of an estimate in a row, over a unit.

    >>> with_error("load", Estimate(0.5, 0.1))
    {'load': 0.5, 'load_stderr': 0.1}
    """
    return {name: estimate.value / unit, f"{name}_stderr": estimate.stderr / unit}


def estimate_in(row: Mapping[str, float], name: str) -> Estimate:
    """Return the estimate of two columns of a row, as ``with_error`` wrote them.

    >>> print(estimate_in({"load": 0.5, "load_stderr": 0.1}, "load"))
    0.50 ± 0.10
    """
    return Estimate(row[name], row[f"{name}_stderr"])
