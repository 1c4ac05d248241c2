"""Pictures of how it is stored: scores, spectra, overlap, the Hebbian rule, trained memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simonides.figures.style import GREY, SERIES, THEORY, WIDEST, canvas, reference_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def scores(table: Table) -> Figure:
    """Draw the laws of scores of the best memory at capacity beside the Hebbian rule's."""
    figure, (left, right) = canvas(2)
    x = table["score"]
    left.fill_between(x, table["rival"], color=GREY, alpha=0.35, linewidth=0, label="off-target")
    left.plot(x, table["target"], label="target", **SERIES[0])
    reference_line(left, table.settings["extreme_value"], r"$\sqrt{2 \log p}$", vertical=True)
    left.set(title="Best memory at capacity", xlabel="score", ylabel="density", ylim=(0, None))
    left.legend(loc="upper left")
    right.fill_between(
        x, table["hebbian_rival"], color=GREY, alpha=0.35, linewidth=0, label="off-target"
    )
    right.plot(x, table["hebbian_target"], label="target", **SERIES[1])
    right.set(
        title="Hebbian rule, as many facts",
        xlabel="score",
        ylabel="density",
        ylim=left.get_ylim(),
    )
    right.legend(loc="upper left")
    return figure


def spectrum(table: Table) -> Figure:
    """Draw singular values at capacity and at initialisation, one panel per rank fraction."""
    fractions = table.distinct("rank_fraction")
    figure, panels = canvas(len(fractions), columns=2, height=2.5)
    for axes, fraction in zip(panels, fractions, strict=True):
        part = table.where("rank_fraction", fraction)
        x = part["singular_value"]
        axes.plot(x, part["at_capacity"], label="at capacity", **SERIES[0])
        axes.plot(x, part["at_initialisation"], label="two random layers", **SERIES[1])
        top = 1.25 * np.max(part["at_capacity"])
        axes.set(
            title=rf"$\kappa$ = {fraction:g}",
            xlabel="singular value / largest",
            xlim=(0, 1.02),
            ylim=(0, top),
        )
    for axes in panels[::2]:
        axes.set_ylabel("density")
    panels[0].legend(loc="upper left", fontsize=7.5)
    return figure


def overlap(table: Table) -> Figure:
    """Draw overlap and free entropy against facts over capacity."""
    figure, (left, right) = canvas(2)
    x = table["share_of_capacity"]
    dimension = f"dimension {table.settings['dimension']:g} (±2 s.e.)"
    for axes, name, label in (
        (left, "overlap", "overlap $q^*$ of two solutions"),
        (right, "free_entropy", r"log volume per parameter, $\Phi$"),
    ):
        axes.errorbar(
            x,
            table[name],
            yerr=2 * table[f"{name}_stderr"],
            fmt="o-",
            markersize=4,
            color=THEORY,
            label=dimension,
        )
        axes.plot(
            x, table[f"{name}_limit"], color=GREY, linestyle=(0, (1, 2)), label="large dimension"
        )
        axes.set(xlabel="facts over capacity", ylabel=label, xlim=(0, 1))
        axes.legend()
    left.set(title="Solutions grow alike", ylim=(0, 1))
    right.set(title="and scarce")
    return figure


def hebbian(table: Table) -> Figure:
    """Draw the Hebbian rule's accuracy and its chance to recall everything against the load."""
    figure, (left, right) = canvas(2)
    for style, dimension in zip(SERIES, table.distinct("dimension"), strict=False):
        part = table.where("dimension", dimension)
        label = f"d = {dimension:,.0f}"
        left.plot(part["load"], part["accuracy"], label=label, **style)
        right.plot(part["load"], part["all_recalled"], label=label, **style)
    reference_line(left, table.settings["limit_fraction"], "1/2", vertical=True)
    reference_line(right, table.settings["limit_all"], "1/8", vertical=True)
    left.set(
        title="Fraction of the facts",
        xlabel=r"load $p\,\log p\,/\,d^2$",
        ylabel="expected accuracy",
        ylim=(0, 1.04),
        xlim=(0, 1.2),
    )
    right.set(
        title="All of the facts",
        xlabel=r"load $p\,\log p\,/\,d^2$",
        ylabel="probability that all are recalled",
        ylim=(0, 1.04),
        xlim=(0, 0.3),
    )
    left.legend()
    right.legend()
    return figure


def trained(table: Table) -> Figure:
    """Draw accuracy, loss and norm of the trained memory around capacity."""
    figure, panels = canvas(3, width=WIDEST / 3, height=2.8)
    labels = {
        "accuracy": "training accuracy",
        "loss": "cross-entropy",
        "norm": "norm of the weights",
    }
    for axes, (name, label) in zip(panels, labels.items(), strict=True):
        for style, marker, dimension in zip(
            SERIES, "os", table.distinct("dimension"), strict=False
        ):
            part = table.where("dimension", dimension)
            finite = np.isfinite(part[name])
            axes.errorbar(
                part["share_of_capacity"][finite],
                part[name][finite],
                yerr=2 * part[f"{name}_stderr"][finite],
                marker=marker,
                markersize=3.5,
                label=f"d = {dimension:g}",
                **style,
            )
        reference_line(axes, 1.0, "capacity", vertical=True)
        axes.set(xlabel="facts over capacity", ylabel=label)
    panels[0].set(title="Recall breaks", ylim=(0, 1.04))
    panels[1].set(title="loss sets in", ylim=(0, None))
    panels[2].set(
        title="weights turn finite",
        yscale="log",
        yticks=[2, 5, 10, 20],
        yticklabels=["2", "5", "10", "20"],
    )
    panels[2].minorticks_off()
    panels[0].legend()
    return figure
