"""Fig. C.2: singular values at initialisation, one panel per width."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.paper.marks import CURVE, grid, part_of
from simonides.figures.style import GREY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def draw(tables: Mapping[str, Table]) -> Figure:
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
