"""Signals in transformers: depth, skip, LayerNorm, gradients, trainability, training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simonides.figures.marks import BARS, CURVE, SECOND, grid, vertical
from simonides.figures.style import GREY, INK, SERIES, reference_line
from simonides.signal.paper import curve_pictures as signal

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
    names = left.get_legend_handles_labels()[1]
    handles = []
    for style, mark, number, name in zip(
        SERIES, signal.MARKS, table.distinct("placement"), names, strict=True
    ):
        part = table.where("placement", number)
        shown = slice(None, None, _EVERY)
        dots = {"marker": mark, "markersize": 3.4, "color": style["color"]}
        left.errorbar(
            part["layer"][shown], part["cosine_simulated"][shown],
            2 * part["cosine_simulated_stderr"][shown], **{**BARS, **dots},
        )  # fmt: skip
        right.plot(part["layer"][shown], part["norm_simulated"][shown], **dots, linestyle="none")
        handles += left.plot([], [], **{**dots, **style}, label=name)
    handles += left.plot([], [], color=GREY, label="lines: theory")
    handles += left.plot([], [], "o", markersize=3.4, color=GREY, label="marks: networks (±2 s.e.)")
    left.legend().remove()  # that of the lines alone
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=7.5)
    return figure


def gradients(tables: Mapping[str, Table]) -> Figure:
    """Draw the query weights' gradient of one layer against beta."""
    return signal.gradients(tables["measured"])


def trainability(tables: Mapping[str, Table]) -> Figure:
    """Draw the diagram, and the classes of networks as marks."""
    figure = signal.trainability(tables["diagram"])
    (axes,) = figure.axes
    measured = tables["measured"]
    for code in sorted(measured.distinct("outcome")):
        part, (name, colour) = measured.where("outcome", code), signal.CLASSES[int(code)]
        axes.plot(
            part["beta"], part["skip"], signal.SHAPES[int(code)], markersize=6.5, color=colour,
            markeredgecolor=INK, markeredgewidth=1.0, label=f"networks: {name}",
        )  # fmt: skip
    _name_below(figure)
    return figure


def training(tables: Mapping[str, Table]) -> Figure:
    """Draw the diagram, and the loss that training came to at some of its points."""
    from matplotlib.patheffects import Normal, Stroke

    figure = signal.trainability(tables["diagram"])
    (axes,) = figure.axes
    measured = tables["measured"]
    label = f"models trained, {measured.settings['seeds']:.0f} each: loss on unseen text, in nats"
    axes.plot(measured["beta"], measured["skip"], "o", color=INK, markersize=4, label=label)
    for row in measured.records():
        axes.annotate(
            f"{row['loss']:.2f}", (row["beta"], row["skip"]), xytext=(6, 3),
            textcoords="offset points", fontsize=9, fontweight="bold",
            path_effects=[Stroke(linewidth=2.5, foreground="white"), Normal()],
        )  # fmt: skip
    steps, guessing = measured.settings["steps"], float(np.mean(measured["guessing"]))
    axes.set_title(f"Loss after {steps:.0f} steps of training (guessing: {guessing:.2f} nats)")
    _name_below(figure)
    return figure


def _name_below(figure: Figure) -> None:
    """Name the marks under a diagram, whose fields are named beside it."""
    marks = figure.axes[0].get_legend_handles_labels()
    figure.legend(*marks, loc="outside lower left", ncols=3, fontsize=7.5)
