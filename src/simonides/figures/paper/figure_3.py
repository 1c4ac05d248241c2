"""Fig. 3: singular values at capacity, one panel per rank fraction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.marks import CURVE, SECOND, grid, part_of
from simonides.figures.style import GREY, THEORY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def draw(tables: Mapping[str, Table]) -> Figure:
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
