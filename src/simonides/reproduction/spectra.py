"""Singular values at capacity and at initialisation: Figs. 3 and C.2."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from simonides.arrays import Reals
from simonides.curves.table import Table, TableRow, stacked
from simonides.experiments.task import rank_of
from simonides.figures.marks import CURVE, SECOND, bars_of, panels_by
from simonides.figures.style import THEORY, plot_columns, words
from simonides.reproduction.figure import PaperFigure
from simonides.reproduction.plans import FRACTIONS, NEAR
from simonides.reproduction.results import (
    Results,
    Row,
    largest_common_dim,
    regime_of,
    summarised,
    where,
)
from simonides.theory.laws import Law
from simonides.theory.spectrum import CapacityLaw, InitialLaw

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BINS: Reals = np.linspace(0.0, 2.4, 25)
"""Edges of the bins of singular values whose mean square is one."""

GRID: Reals = np.linspace(0.0, 3.0, 301)
"""Singular values, mean square one, at which distributions are compared."""

_SEED = 32  # a seed of its own: no two samples of the package share their draws

_INITIAL_DIM, _INITIAL_DRAWS = 200, 10
"""Of the random layers: two thousand singular values at full rank, two hundred at a tenth of it."""


def near_capacity(results: Results) -> list[Row]:
    """Return the rows at capacity, of every rank and dimension."""
    full = results.rows("regimes")
    return results.rows("spectra") + [row for row in full if regime_of(row) == NEAR]


def _at_capacity(results: Results) -> dict[str, Table]:
    """Return singular values at capacity by rank fraction, and the laws they should follow."""
    near = near_capacity(results)
    at_largest = where(near, dim=largest_common_dim(near))

    def measured(part: list[Row]) -> dict[str, float | Reals]:
        return {"instances": len(part), **_histogram(list(map(unit_values, part)))}

    shared = ("rank_fraction", "problem", "dim")
    return {
        "measured": summarised(
            "measured", "Singular values at capacity", at_largest, *shared, of=measured
        ),
        "theory": _laws({"at_capacity": CapacityLaw, "at_initialisation": InitialLaw}),
    }


def _at_initialisation(_results: Results) -> dict[str, Table]:
    """Return singular values of two random layers by width, and the law they should follow."""
    rng, dim = np.random.default_rng(_SEED), _INITIAL_DIM
    rows: list[TableRow] = []
    for fraction in FRACTIONS:
        rank = rank_of(dim, fraction) or dim
        drawn = []
        for _ in range(_INITIAL_DRAWS):
            product = rng.standard_normal((dim, rank)) @ rng.standard_normal((rank, dim))
            values = np.linalg.svd(product, compute_uv=False)[:rank]
            drawn.append(values / np.sqrt(np.mean(values**2)))
        rows.append({"rank_fraction": fraction, "dim": dim, **_histogram(drawn)})
    return {
        "measured": stacked("measured", "Two random layers", rows, dim=dim),
        "theory": _laws({"at_initialisation": InitialLaw}),
    }


def unit_values(row: Row) -> Reals:
    """Return a row's non-zero singular values, scaled to a mean square of one."""
    return np.asarray(row["singular_values"])[: row["rank"]] * math.sqrt(row["rank"] / row["dim"])


def measured_distribution(row: Row) -> Reals:
    """Return the distribution function of a row's non-zero singular values on ``GRID``."""
    values = np.sort(unit_values(row))
    return np.asarray(np.searchsorted(values, GRID, side="right") / values.size)


def unit_distribution(law: Law, grid: Reals) -> Reals:
    """Return the distribution function of a law scaled to a mean square of one."""
    return law.cdf(grid * math.sqrt(law.moment(2)))


def _histogram(values: Sequence[Reals]) -> dict[str, Reals]:
    counts, _ = np.histogram(np.concatenate(values), _BINS)
    width = _BINS[1] - _BINS[0]
    total = sum(part.size for part in values)
    return {"singular_value": _BINS[:-1] + width / 2, "density": counts / (total * width)}


def _laws(laws: dict[str, type[CapacityLaw] | type[InitialLaw]]) -> Table:
    x = np.linspace(0.01, _BINS[-1], 240)
    rows = []
    for fraction in FRACTIONS:
        row = {"rank_fraction": np.array(fraction), "singular_value": x}
        for name, law in laws.items():
            scale = math.sqrt(law(fraction).moment(2))
            row[name] = scale * law(fraction).pdf(scale * x)
        rows.append(row)
    return stacked("theory", "Laws of singular values, mean square one", rows)


def _draw_at_capacity(tables: Mapping[str, Table]) -> Figure:
    """Draw histograms of both problems, the law at capacity and that of initialisation."""
    figure, panels = panels_by(tables, "rank_fraction", height=2.3)
    for axes, fraction, parts in panels:
        original, decoupled = (parts["measured"].where("decoupled", code) for code in (0.0, 1.0))
        bars_of(axes, original, "singular_value", "original")
        axes.step(
            decoupled["singular_value"], decoupled["density"],
            where="mid", color=THEORY, linewidth=1.2, label="decoupled",
        )  # fmt: skip
        plot_columns(
            axes,
            parts["theory"],
            "singular_value",
            ("at_capacity", "theory, at capacity", CURVE),
            ("at_initialisation", "two random layers", SECOND),
        )
        title = rf"$\kappa$ = {fraction:g}, $d$ = {original['dim'][0]:g}"
        highest = max(max(parts["theory"]["at_capacity"]), max(original["density"]))
        _words(axes, title, highest)
    panels[-1][0].legend(loc="upper right", fontsize=7)
    return figure


def _draw_at_initialisation(tables: Mapping[str, Table]) -> Figure:
    """Draw histograms of drawn products and the law they should follow."""
    figure, panels = panels_by(tables, "rank_fraction", height=2.2)
    for axes, fraction, parts in panels:
        part, law = parts["measured"], ("at_initialisation", "theory", CURVE)
        bars_of(axes, part, "singular_value", f"drawn, $d$ = {part['dim'][0]:g}")
        plot_columns(axes, parts["theory"], "singular_value", law)
        _words(axes, rf"$\kappa$ = {fraction:g}", max(part["density"]))
    panels[0][0].legend(loc="upper right", fontsize=7)
    return figure


def _words(axes: Axes, title: str, highest: float) -> None:
    words(axes, title, "singular value, mean square 1", "density", ylim=(0, 1.35 * highest))


AT_CAPACITY = PaperFigure(
    "3",
    "Singular values at capacity",
    "Non-zero singular values of trained matrices just below capacity, scaled to a mean square of "
    "one, against the quarter circle truncated from below (eq. 10) and the law of two random "
    "layers (eq. C.70).",
    needs=("spectra", "regimes"),
    tables=_at_capacity,
    picture=_draw_at_capacity,
)

AT_INITIALISATION = PaperFigure(
    "C.2",
    "Singular values at initialisation",
    "Products of two random layers of width κd, scaled to a mean square of one, against the free "
    "product of two Marchenko–Pastur laws.",
    needs=(),
    tables=_at_initialisation,
    picture=_draw_at_initialisation,
)
