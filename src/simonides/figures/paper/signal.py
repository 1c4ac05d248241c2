"""Signals in transformers: depth, skip, LayerNorm, gradients, trainability, training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simonides.figures import signal
from simonides.figures.paper.marks import BARS, CURVE, SECOND, grid, vertical
from simonides.figures.style import GREY, INK, SERIES, reference_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.curves.table import Table

_EVERY = 5
"""Blocks between two that are drawn with their error."""


def depth(tables: Mapping[str, Table]) -> Figure:
    """Draw the cosine through depth, below and above freezing."""
    return signal.depth(tables["measured"])


def skip(tables: Mapping[str, Table]) -> Figure:
    """Draw the cosine after the last block against the skip."""
    measured, theory = tables["measured"], tables["theory"]
    figure, (axes,) = grid(1, width=5.6, height=3.3)
    axes.plot(theory["skip"], theory["cosine"], label="finite-size theory", **CURVE)
    axes.plot(theory["skip"], theory["cosine_limit"], label="odds, many tokens", **SECOND)
    axes.errorbar(
        measured["skip"], measured["cosine"], 2 * measured["cosine_stderr"],
        label="networks (±2 s.e.)", **{**BARS, "marker": "o", "markersize": 4, "color": INK},
    )  # fmt: skip
    vertical(axes, measured.settings["critical"], r"$\alpha_c$")
    target = measured.settings["target"]
    reference_line(axes, target, f"target {target:g}")
    axes.set(
        title=measured.title,
        xlabel=r"skip strength $\alpha$",
        ylabel="cosine of two tokens",
        ylim=(0, 1.05),
    )
    axes.legend(loc="lower left")
    return figure


def placement(tables: Mapping[str, Table]) -> Figure:
    """Draw the cosine and the norm through depth for each place of the LayerNorm."""
    table = tables["measured"]
    figure = signal.placement(table)
    left, right = figure.axes
    for style, number in zip(SERIES, table.distinct("placement"), strict=True):
        part = table.where("placement", number)
        shown = slice(None, None, _EVERY)
        left.errorbar(
            part["layer"][shown], part["cosine_simulated"][shown],
            2 * part["cosine_simulated_stderr"][shown],
            **{**BARS, "marker": "o", "markersize": 3, "color": style["color"]},
        )  # fmt: skip
        right.plot(
            part["layer"][shown], part["norm_simulated"][shown], "o", markersize=3,
            color=style["color"],
        )  # fmt: skip
    left.plot([], [], "o", markersize=3, color=GREY, label="networks (±2 s.e.)")
    left.legend(loc="center right", bbox_to_anchor=(1.0, 0.72), fontsize=7.5)
    return figure


def gradients(tables: Mapping[str, Table]) -> Figure:
    """Draw the query weights' gradient of one layer against beta."""
    return signal.gradients(tables["measured"])


def trainability(tables: Mapping[str, Table]) -> Figure:
    """Draw the diagram, and the classes of networks as dots."""
    figure = signal.trainability(tables["diagram"])
    (axes,) = figure.axes
    measured = tables["measured"]
    for beta, strength, code in zip(
        measured["beta"], measured["skip"], measured["outcome"], strict=True
    ):
        axes.plot(
            beta, strength, "o", markersize=6, color=signal.CLASSES[int(code)][1],
            markeredgecolor=INK, markeredgewidth=0.9,
        )  # fmt: skip
    axes.plot(
        [],
        [],
        "o",
        color="white",
        markeredgecolor=INK,
        label="networks, in the colour of their class",
    )
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside lower left", fontsize=7.5, frameon=False
    )
    return figure


def training(tables: Mapping[str, Table]) -> Figure:
    """Draw the diagram, and the loss that training came to at some of its points."""
    figure = signal.trainability(tables["diagram"])
    (axes,) = figure.axes
    measured = tables["measured"]
    label = f"models trained, {measured.settings['seeds']:.0f} each: loss on unseen text, in nats"
    axes.plot(measured["beta"], measured["skip"], "o", color=INK, markersize=4, label=label)
    for row in measured.records():
        axes.annotate(
            f"{row['loss']:.2f}", (row["beta"], row["skip"]), xytext=(6, 3),
            textcoords="offset points", fontsize=9, fontweight="bold",
        )  # fmt: skip
    steps, guessing = measured.settings["steps"], float(np.mean(measured["guessing"]))
    axes.set_title(f"Loss after {steps:.0f} steps of training (guessing: {guessing:.2f} nats)")
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside lower left", fontsize=7.5, frameon=False
    )
    return figure
