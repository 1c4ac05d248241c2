"""A table of attention statistics for one number of tokens, interpolated: for whole diagrams.

Exact values take milliseconds each and a diagram asks for hundreds of thousands. What varies slowly
is tabulated over the logarithm of the score variance v and, for two queries, over τ with
r = 1 - (1 - τ)², and splined:

- log (Y - 1/T)/(1 - Y) and log (log T - H)/H, straight lines at both ends;
- log Y3, log Y4, Y22/Y², log Γ;
- log (Y - O)/(v (1 - r) Γ) and log Γ12/Γ, which vanish at r = 1, so that Y - O keeps its digits
  where tokens have all but collapsed.

Beyond the tabulated variances the ends are continued: at the lower one Y - 1/T and the pair's
logarithms are proportional to v, at the upper one (beta above 6 for orthogonal tokens, where attention
has long frozen) 1 - Y, H and Γ to v^(-1/2). A table takes seconds to compute and is kept in the user's
cache folder, one small file per number of tokens, so that the next process finds it.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path
from scipy.interpolate import CubicSpline, RectBivariateSpline

from simonides.arrays import Reals
from simonides.reading import read_arrays
from simonides.signal.attention.softmax import (
    AttentionStatistics,
    checked_tokens,
    contrast,
    pair_moments,
    row_moments,
)
from simonides.writing import write_arrays

VERSION = 1
"""Part of the file's name: raise it when what is tabulated changes."""

ROWS, PAIRS = (1e-4, 193), (1e-2, 35)
_STEPS = 16
"""Least v and its points for one query and for two, steps in τ: within half a percent, as tested."""

_SHAPES = {"row_values": (ROWS[1], 6), "pair_values": (2, PAIRS[1], _STEPS + 1)}
"""What a file holds: six statistics of a query, two of a pair."""

_MOST_SQUARED_BETA = 40.0
"""Squared beta of orthogonal tokens up to which variances are tabulated."""


@dataclass(frozen=True)
class AttentionTable:
    """Attention statistics at one number of tokens, for arrays of variances and correlations."""

    tokens: float
    row_values: Reals
    pair_values: Reals

    @cached_property
    def _row(self) -> CubicSpline:
        return CubicSpline(grid(self.tokens, *ROWS), self.row_values)

    @cached_property
    def _pair(self) -> list[RectBivariateSpline]:
        grids = grid(self.tokens, *PAIRS), np.linspace(0, 1, _STEPS + 1)
        return [RectBivariateSpline(*grids, values) for values in self.pair_values]

    def __call__(self, variance: Reals, correlation: Reals) -> AttentionStatistics:
        """Return the statistics at each pair of variance and correlation."""
        variance, correlation = np.broadcast_arrays(variance, correlation)
        inside, below, above = _continued(variance, grid(self.tokens, *ROWS))
        x = np.log(inside)
        odds, spread, third, fourth, squared, gradient = np.moveaxis(self._row(x), -1, 0)
        odds = np.exp(odds) * below
        # At the upper end the share of Y - O in Y - 1/T is kept.
        larger = above * (1 + odds) / (1 + odds * above)
        odds = odds * above
        excess = (1 - 1 / self.tokens) * odds / (1 + odds)
        participation = excess + 1 / self.tokens
        gap = 1 - correlation
        step = 1 - np.sqrt(gap)
        in_pairs, low_pairs, _ = _continued(variance, grid(self.tokens, *PAIRS))
        x_pairs = np.log(in_pairs)
        fall, rise = (low_pairs * spline.ev(x_pairs, step) for spline in self._pair)
        lost = larger * below * inside * gap * np.exp(gradient + fall)
        gradient = np.exp(gradient) / above
        return AttentionStatistics(
            even=1 / self.tokens,
            participation=participation,
            excess=excess,
            overlap=participation - lost,
            contrast=lost,
            entropy=math.log(self.tokens) / (1 + np.exp(spread) * below * above),
            third=np.exp(third),
            fourth=np.exp(fourth),
            squared=participation**2 * squared,
            gradient=gradient,
            gradient_overlap=gradient * np.exp(rise),
        )


def _continued(variance: Reals, grid: Reals) -> tuple[Reals, Reals, Reals]:
    """Return variances held inside a grid, and the factors by which both ends are continued."""
    low, high = math.exp(grid[0]), math.exp(grid[-1])
    above = np.sqrt(np.maximum(variance / high, 1.0))
    return np.clip(variance, low, high), np.minimum(variance / low, 1.0), above


def grid(tokens: float, least: float, points: int) -> Reals:
    """Return the logarithms of the variance at which averages are tabulated."""
    most = _MOST_SQUARED_BETA * math.log(tokens)
    return np.linspace(math.log(least), math.log(most), points)


def compute(tokens: float) -> AttentionTable:
    """Return the table for a number of tokens, from exact values."""
    rows = np.array([_row(math.exp(x), tokens) for x in grid(tokens, *ROWS)])
    pairs = np.array(
        [
            [_pair(math.exp(x), 1 - (1 - k / _STEPS) ** 2, tokens) for k in range(_STEPS + 1)]
            for x in grid(tokens, *PAIRS)
        ]
    )
    return AttentionTable(tokens, rows, np.moveaxis(pairs, -1, 0))


def _row(variance: float, tokens: float) -> list[float]:
    row = row_moments(variance, tokens)
    return [
        math.log((row.participation - 1 / tokens) / (1 - row.participation)),
        math.log((math.log(tokens) - row.entropy) / row.entropy),
        math.log(row.third),
        math.log(row.fourth),
        row.squared / row.participation**2,
        math.log(row.gradient),
    ]


def _pair(variance: float, correlation: float, tokens: float) -> list[float]:
    if correlation == 1:
        return [0.0, 0.0]
    row, pair = row_moments(variance, tokens), pair_moments(variance, correlation, tokens)
    slope = variance * (1 - correlation) * row.gradient
    fall = contrast(row, pair, variance, correlation, tokens)
    return [math.log(fall / slope), math.log(pair.gradient_overlap / row.gradient)]


@lru_cache(maxsize=32)
def attention_table(tokens: float) -> AttentionTable:
    """Return the table for a number of tokens: from memory, from the cache folder, or computed."""
    tokens = checked_tokens(tokens)
    path = cache_folder() / f"attention-{VERSION}-{tokens:.17g}.npz"
    table = _read(path, tokens)
    if table is None:
        table = compute(tokens)
        _keep(path, table)
    return table


def _read(path: Path, tokens: float) -> AttentionTable | None:
    """Return a kept table; None if it cannot be read, or is none."""
    try:
        arrays = read_arrays(path)
        values = [arrays[name] for name in _SHAPES]
    except (OSError, KeyError, ValueError):
        return None
    sound = all(
        array.shape == shape and array.dtype == np.float64 and np.isfinite(array).all()
        for array, shape in zip(values, _SHAPES.values(), strict=True)
    )
    return AttentionTable(tokens, *values) if sound else None


def cache_folder() -> Path:
    """Return where tables are kept: ``simonides`` in the user's cache folder."""
    return user_cache_path("simonides", appauthor=False)


def _keep(path: Path, table: AttentionTable) -> None:
    """Write a table whole or not at all; where nothing can be written, say so and go on."""
    try:
        if not path.is_absolute():
            raise FileNotFoundError("there is no home folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        values = {"row_values": table.row_values, "pair_values": table.pair_values}
        write_arrays(path, values, through_link=False)
    except OSError as error:
        warnings.warn(
            f"the attention table was not kept and will be computed again: {error}", stacklevel=3
        )
