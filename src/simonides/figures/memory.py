"""Pictures of a memory: its diagnosis, and recall under noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simonides.figures.style import (
    ACCENT,
    GREY,
    HEBBIAN,
    INK,
    SERIES,
    THEORY,
    canvas,
    house_style,
    reference_line,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simonides.memory.diagnosis import Diagnosis
    from simonides.memory.noise import NoisyRecall


def diagnosis(memory: Diagnosis) -> Figure:
    """Draw scores, leads, singular values and load."""
    with house_style():
        figure, (scores, leads, spectrum, load) = canvas(4, columns=2, height=2.9)
        _scores(scores, memory)
        _leads(leads, memory)
        _spectrum(spectrum, memory)
        _load(load, memory)
        return figure


def noisy_recall(curve: NoisyRecall) -> Figure:
    """Draw accuracy against noise: measured, predicted, and between its bounds."""
    with house_style():
        figure, (axes,) = canvas(width=5.6)
        axes.fill_between(
            curve.noise,
            curve.lower,
            curve.upper,
            color=GREY,
            alpha=0.25,
            linewidth=0,
            label="bounds",
        )
        axes.plot(curve.noise, curve.predicted, label="predicted from the leads", **SERIES[0])
        axes.errorbar(
            curve.noise,
            curve.accuracy,
            yerr=2 * curve.accuracy_stderr,
            fmt="o",
            markersize=4.5,
            color=INK,
            label="measured (±2 s.e.)",
        )
        axes.set(
            title="Recall under noise",
            xlabel="noise per input coordinate",
            ylabel="fraction recalled",
            ylim=(0, 1.04),
        )
        axes.legend()
        return figure


def _scores(axes: Axes, memory: Diagnosis) -> None:
    axes.fill_between(
        memory.score, memory.rival_density, color=GREY, alpha=0.4, linewidth=0, label="rivals"
    )
    axes.fill_between(
        memory.score, memory.target_density, color=ACCENT, alpha=0.4, linewidth=0, label="targets"
    )
    axes.plot(memory.score, memory.rival_density_theory, color=INK, linewidth=1, linestyle=":")
    axes.plot(memory.score, memory.target_density_theory, label="theory, full", **SERIES[0])
    seen = memory.target_density + memory.rival_density > 1e-4
    low, high = (memory.score[seen].min(), memory.score[seen].max()) if seen.any() else (-4, 4)
    axes.set(title="Scores", xlabel="score", ylabel="density", xlim=(low, high), ylim=(0, None))
    axes.legend(loc="upper left", fontsize=7.5)


def _leads(axes: Axes, memory: Diagnosis) -> None:
    bins = max(10, min(60, len(memory.leads) // 10))
    edges = np.histogram_bin_edges(memory.leads, bins)
    failed = memory.leads <= max(memory.margin, 0.0)
    axes.hist(
        [memory.leads[~failed], memory.leads[failed]],
        bins=edges.tolist(),
        stacked=True,
        color=[ACCENT, HEBBIAN],
        label=["stored", "failed"],
    )
    reference_line(axes, memory.margin, "margin", vertical=True)
    axes.set(title="Leads", xlabel="lead over the best rival", ylabel="facts")
    axes.set_yscale("log")
    axes.set_ylim(top=2 * axes.get_ylim()[1])  # room for the margin's name
    axes.legend(loc="best", fontsize=7.5)


def _spectrum(axes: Axes, memory: Diagnosis) -> None:
    number = 1 + np.arange(len(memory.singular_values))
    axes.plot(number, memory.singular_values, ".", markersize=4, color=ACCENT, label="this memory")
    axes.plot(number, memory.singular_values_theory, label="theory, full", **SERIES[0])
    axes.set(
        title="Singular values", xlabel="number", ylabel="over root mean square", ylim=(0, None)
    )
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
    axes.set(
        title=f"{memory.fullness:.0%} of capacity",
        xlabel="facts",
        ylabel="",
        yticks=[-place for place in range(len(bars))],
        yticklabels=list(bars),
        xlim=(0, 1.25 * max(value for value, _ in bars.values())),
    )
    axes.grid(visible=False, axis="y")
