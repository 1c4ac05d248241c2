"""Pictures of a memory: its diagnosis, and recall under noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.figures import style
from simonides.figures.style import ACCENT, GREY, HEBBIAN, INK, SERIES, THEORY, words
from simonides.memory.diagnosis import Diagnosis
from simonides.memory.noise import NoisyRecall

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def diagnosis(memory: Diagnosis) -> Figure:
    """Draw scores, leads, singular values and load."""
    with style.house_style():
        figure, panels = style.canvas(4, columns=2, height=2.9)
        for draw, axes in zip((_scores, _leads, _spectrum, _load), panels, strict=True):
            draw(axes, memory)
        return figure


def noisy_recall(curve: NoisyRecall) -> Figure:
    """Draw accuracy against noise: measured, predicted, and between its bounds."""
    with style.house_style():
        figure, (axes,) = style.canvas(width=5.6)
        band: dict[str, Any] = {"color": GREY, "alpha": 0.25, "linewidth": 0, "label": "bounds"}
        axes.fill_between(curve.noise, curve.lower, curve.upper, **band)
        axes.plot(curve.noise, curve.predicted, label="predicted from the leads", **SERIES[0])
        axes.errorbar(
            curve.noise, curve.accuracy, 2 * curve.accuracy_stderr, fmt="o", markersize=4.5,
            color=INK, label="measured (±2 s.e.)",
        )  # fmt: skip
        words(axes, "Recall under noise", "noise per input coordinate", "fraction recalled")
        axes.set_ylim(0, 1.04)
        axes.legend()
        return figure


def _scores(axes: Axes, memory: Diagnosis) -> None:
    densities = memory.rival_density, memory.target_density
    looks = (GREY, "rivals"), (ACCENT, "targets")
    for density, (colour, label) in zip(densities, looks, strict=True):
        axes.fill_between(memory.score, density, color=colour, alpha=0.4, linewidth=0, label=label)
    axes.plot(memory.score, memory.rival_density_theory, color=INK, linewidth=1, linestyle=":")
    axes.plot(memory.score, memory.target_density_theory, label="theory, full", **SERIES[0])
    seen = memory.score[np.sum(densities, axis=0) > 1e-4]
    low, high = (seen.min(), seen.max()) if seen.size else (-4, 4)
    words(axes, "Scores", "score", "density", xlim=(low, high), ylim=(0, None))
    axes.legend(loc="upper left", fontsize=7.5)


def _leads(axes: Axes, memory: Diagnosis) -> None:
    bins = max(10, min(60, len(memory.leads) // 10))
    edges = np.histogram_bin_edges(memory.leads, bins).tolist()
    failed = memory.leads <= max(memory.margin, 0.0)
    parts, names = [memory.leads[~failed], memory.leads[failed]], ["stored", "failed"]
    axes.hist(parts, bins=edges, stacked=True, color=[ACCENT, HEBBIAN], label=names)
    style.reference_line(axes, memory.margin, "margin", vertical=True)
    words(axes, "Leads", "lead over the best rival", "facts", yscale="log")
    axes.set_ylim(top=2 * axes.get_ylim()[1])  # room for the margin's name
    axes.legend(loc="best", fontsize=7.5)


def _spectrum(axes: Axes, memory: Diagnosis) -> None:
    number = 1 + np.arange(len(memory.singular_values))
    axes.plot(number, memory.singular_values, ".", markersize=4, color=ACCENT, label="this memory")
    axes.plot(number, memory.singular_values_theory, label="theory, full", **SERIES[0])
    words(axes, "Singular values", "number", "over root mean square", ylim=(0, None))
    axes.legend(loc="upper right", fontsize=7.5)


def _load(axes: Axes, memory: Diagnosis) -> None:
    bars = {
        "asked": (memory.facts, GREY),
        "stored": (memory.stored, ACCENT),
        "capacity": (memory.capacity.facts, THEORY),
        "Hebbian": (memory.capacity.facts_hebbian, HEBBIAN),
    }
    for place, (value, colour) in enumerate(bars.values()):
        axes.barh(-place, value, color=colour, height=0.6)
        axes.annotate(
            f"{value:,.0f}", (value, -place), xytext=(3, 0), textcoords="offset points", va="center"
        )
    words(axes, f"{memory.fullness:.0%} of capacity", "facts", "")
    axes.set_yticks([-place for place in range(len(bars))], list(bars))
    axes.set_xlim(0, 1.25 * max(value for value, _ in bars.values()))
    axes.grid(visible=False, axis="y")
