"""Singular values at capacity and at initialisation: Figs. 3 and C.2."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from simonides.curves.table import Table, stacked
from simonides.experiments.task import rank_of
from simonides.figures.marks import CURVE, SECOND, grid, part_of
from simonides.figures.style import GREY, THEORY
from simonides.reproduction.figure import PaperFigure
from simonides.reproduction.plans import FRACTIONS, NEAR
from simonides.reproduction.results import (
    groups,
    largest_common_dim,
    problem_code,
    regime_of,
    where,
)
from simonides.theory.spectrum import CapacityLaw, InitialLaw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from simonides.arrays import Reals
    from simonides.reproduction.results import Results, Row
    from simonides.theory.laws import Law

_BINS: Reals = np.linspace(0.0, 2.4, 25)
"""Edges of the bins of singular values whose mean square is one."""

GRID: Reals = np.linspace(0.0, 3.0, 301)
"""Singular values, mean square one, at which distributions are compared."""

_SEED = 32

_INITIAL_DIM, _INITIAL_DRAWS = 200, 10
"""Of the random layers: two thousand singular values at full rank, two hundred at a tenth of it."""


def near_capacity(results: Results) -> list[Row]:
    """Return the rows at capacity, of every rank and dimension."""
    full = results.rows("regimes")
    return results.rows("spectra") + [row for row in full if regime_of(row) == NEAR]


def _at_capacity(results: Results) -> dict[str, Table]:
    """Return singular values at capacity by rank fraction, and the laws they should follow."""
    near = near_capacity(results)
    parts = groups(where(near, dim=largest_common_dim(near)), "rank_fraction", "problem")
    rows = [
        {
            "rank_fraction": fraction,
            "decoupled": problem_code(problem),
            "dim": float(part[0]["dim"]),
            "instances": float(len(part)),
            **_histogram([unit_values(row) for row in part]),
        }
        for (fraction, problem), part in parts.items()
    ]
    return {
        "measured": stacked("measured", "Singular values at capacity", rows),
        "theory": _laws({"at_capacity": CapacityLaw, "at_initialisation": InitialLaw}),
    }


def _at_initialisation(_results: Results) -> dict[str, Table]:
    """Return singular values of two random layers by width, and the law they should follow."""
    rng = np.random.default_rng(_SEED)
    rows: list[dict[str, float | Reals]] = []
    for fraction in FRACTIONS:
        rank = rank_of(_INITIAL_DIM, fraction) or _INITIAL_DIM
        drawn = []
        for _ in range(_INITIAL_DRAWS):
            product = rng.standard_normal((_INITIAL_DIM, rank)) @ rng.standard_normal(
                (rank, _INITIAL_DIM)
            )
            values = np.linalg.svd(product, compute_uv=False)[:rank]
            drawn.append(values / np.sqrt(np.mean(values**2)))
        rows.append({"rank_fraction": fraction, "dim": float(_INITIAL_DIM), **_histogram(drawn)})
    return {
        "measured": stacked("measured", "Two random layers", rows, dim=_INITIAL_DIM),
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
    rows: list[dict[str, float | Reals]] = []
    for fraction in FRACTIONS:
        heights = {}
        for name, law in laws.items():
            scale = math.sqrt(law(fraction).moment(2))
            heights[name] = scale * law(fraction).pdf(scale * x)
        rows.append({"rank_fraction": fraction, "singular_value": x, **heights})
    return stacked("theory", "Laws of singular values, mean square one", rows)


def _draw_at_capacity(tables: Mapping[str, Table]) -> Figure:
    """Draw histograms of both problems, the law at capacity and that of initialisation."""
    measured, theory = tables["measured"], tables["theory"]
    fractions = sorted(measured.distinct("rank_fraction"))
    figure, panels = grid(len(fractions), height=2.3)
    for axes, fraction in zip(panels, fractions, strict=True):
        original = part_of(measured, rank_fraction=fraction, decoupled=0.0)
        decoupled = part_of(measured, rank_fraction=fraction, decoupled=1.0)
        width = original["singular_value"][1] - original["singular_value"][0]
        axes.bar(
            original["singular_value"], original["density"], width,
            color=GREY, alpha=0.5, label="original",
        )  # fmt: skip
        axes.step(
            decoupled["singular_value"], decoupled["density"],
            where="mid", color=THEORY, linewidth=1.2, label="decoupled",
        )  # fmt: skip
        law = part_of(theory, rank_fraction=fraction)
        axes.plot(law["singular_value"], law["at_capacity"], label="theory, at capacity", **CURVE)
        axes.plot(
            law["singular_value"], law["at_initialisation"], label="two random layers", **SECOND
        )
        axes.set(
            title=rf"$\kappa$ = {fraction:g}, $d$ = {original['dim'][0]:g}",
            xlabel="singular value, mean square 1",
            ylabel="density",
            ylim=(0, 1.35 * max(max(law["at_capacity"]), max(original["density"]))),
        )
    panels[-1].legend(loc="upper right", fontsize=7)
    return figure


def _draw_at_initialisation(tables: Mapping[str, Table]) -> Figure:
    """Draw histograms of drawn products and the law they should follow."""
    measured, theory = tables["measured"], tables["theory"]
    fractions = sorted(measured.distinct("rank_fraction"))
    figure, panels = grid(len(fractions), height=2.2)
    for axes, fraction in zip(panels, fractions, strict=True):
        part = part_of(measured, rank_fraction=fraction)
        law = part_of(theory, rank_fraction=fraction)
        width = part["singular_value"][1] - part["singular_value"][0]
        axes.bar(
            part["singular_value"], part["density"], width, color=GREY, alpha=0.5,
            label=f"drawn, $d$ = {measured.settings['dim']:g}",
        )  # fmt: skip
        axes.plot(law["singular_value"], law["at_initialisation"], label="theory", **CURVE)
        axes.set(
            title=rf"$\kappa$ = {fraction:g}",
            xlabel="singular value, mean square 1",
            ylabel="density",
            ylim=(0, 1.35 * max(part["density"])),
        )
    panels[0].legend(loc="upper right", fontsize=7)
    return figure


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
