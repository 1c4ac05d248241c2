"""Pictures of the guides, drawn from results and nothing else."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

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

_MARKS = ("o", "s", "^", "D", "v")
_RULES = {"Hebbian": SERIES[1], "pseudo-inverse": SERIES[3], "pseudo-inverse, whitened": SERIES[2]}
_LABELS = {
    "true": "Each city's own country",
    "shuffled": "The countries shuffled",
    "drawn evenly": "Any country, all equally likely",
}


def tokens(rows: list[dict[str, Any]], lengths: dict[str, Any]) -> Figure:
    """Draw how long tokens are, and how many facts fit over theory's number."""
    with house_style():
        figure, (left, right) = canvas(2, width=5.2, height=3.4)
        left.stairs(
            lengths["tokens"], lengths["edges"], fill=True, color=GREY, alpha=0.6, label="tokens"
        )
        left.stairs(lengths["gaussian"], lengths["edges"], color=THEORY, label="Gaussian")
        left.set(title=f"Lengths in {lengths['dim']} directions", xlabel="length", ylabel="density")
        left.legend(loc="upper left")
        kinds = list(dict.fromkeys(row["outputs"] for row in rows))
        colours = (INK, HEBBIAN, THEORY, GREY, ACCENT)
        for place, (kind, mark, colour) in enumerate(zip(kinds, _MARKS, colours, strict=True)):
            mine = [row for row in rows if row["outputs"] == kind]
            right.errorbar(
                [row["dim"] * (1 + 0.03 * (place - 2)) for row in mine],
                [row["mean"] / row["theory"] for row in mine],
                yerr=[2 * row["stderr"] / row["theory"] for row in mine],
                fmt=mark,
                markersize=5,
                color=colour,
                label=kind,
            )
        known = [row for row in rows if row["theory_lengths"] and row["outputs"] == "tokens"]
        right.plot(
            [row["dim"] for row in known],
            [row["theory_lengths"] / row["theory"] for row in known],
            color=GREY,
            linestyle="--",
            linewidth=1.2,
            label="theory, tokens' lengths",
        )
        right.axhline(1.0, color=GREY, linewidth=1.0, label="theory, equal lengths")
        dims = sorted({row["dim"] for row in rows})
        right.set_xscale("log")
        right.set_xticks(dims, [str(dim) for dim in dims], minor=False)
        right.set_xticks([], minor=True)
        right.set(title="Facts that fit (±2 s.e.)", xlabel="dimension", ylabel="over theory")
        right.set_xlim(dims[0] / 1.25, dims[-1] * 1.25)
        right.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7.5)
        return figure


def cities(
    rules: list[dict[str, Any]], decisions: list[dict[str, Any]], expected: dict[str, float | None]
) -> Figure:
    """Draw cities recalled against cities asked for, by labels."""
    with house_style():
        figure, panels = canvas(3, width=3.7, height=3.6)
        for axes, (labels, title) in zip(panels, _LABELS.items(), strict=True):
            for rule, style in _RULES.items():
                mine = [row for row in rules if (row["labels"], row["method"]) == (labels, rule)]
                axes.plot(
                    [row["asked"] for row in mine],
                    [max(row["recalled"], 1) for row in mine],
                    label=rule,
                    **style,
                )
            tried = [row for row in decisions if row["labels"] == labels]
            stored = [row["asked"] for row in tried if row["verdict"] == "storable"]
            refused = [row["asked"] for row in tried if row["verdict"] == "not-storable"]
            axes.plot([500, max(stored)], [500, max(stored)], color=THEORY)
            axes.plot(stored, stored, "o", color=THEORY, markersize=5, label="optimal: all stored")
            axes.plot(
                refused, refused, "x", color=INK, markersize=7, label="proved: no map stores all"
            )
            predicted = expected[labels]
            if predicted is not None:
                reference_line(axes, predicted, "theory", vertical=True)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set(title=title, xlabel="cities asked for", ylim=(2, 40_000))
        panels[0].set_ylabel("cities recalled")
        panels[1].legend(loc="lower right", fontsize=7)
        return figure


def layers(rows: list[dict[str, Any]], facts: int) -> Figure:
    """Draw what an adapter of each shape could hold against its rank."""
    with house_style():
        figure, (axes,) = canvas(width=5.6, height=3.5)
        ranks = np.array([row["rank"] for row in rows])
        axes.plot(ranks, [row["all"] for row in rows], label="all matrices", **SERIES[0])
        for style, shape in zip(SERIES[1:], shapes(rows), strict=False):
            axes.plot(ranks, [row[shape] for row in rows], label=f"one of {shape}", **style)
        reference_line(axes, facts, f"{facts:,} facts", at_left=True)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(ranks, [str(rank) for rank in ranks])
        axes.set(title="What adapters could hold", xlabel="rank", ylabel="facts, upper bound")
        axes.legend(loc="lower right")
        return figure


_RUIN = 30
"""Times the perplexity of before up to which it is drawn: beyond, nothing is said that makes sense."""


def model(rows: list[dict[str, Any]]) -> Figure:
    """Draw what is recalled, and what becomes of other text, against the number of facts."""
    with house_style():
        figure, (recall, text) = canvas(2, width=4.1, height=3.3)
        methods = list(dict.fromkeys(row["method"] for row in rows if row["facts"]))
        for style, method in zip(SERIES, methods, strict=False):
            chosen = [row for row in rows if row["method"] == method]
            facts = [row["facts"] for row in chosen]
            shares = [row["stored"] / row["facts"] for row in chosen]
            recall.plot(facts, shares, "o", label=method, **style)
            text.plot(facts, [row["perplexity"] for row in chosen], "o", label=method, **style)
        before = next(row["perplexity"] for row in rows if not row["facts"])
        reference_line(text, before, "before", at_left=True)
        for axes in (recall, text):
            axes.set_xscale("log")
            axes.set_xlabel("facts stored in the last layer")
        recall.set(
            title="Recalled by the model, run", ylabel="share of the facts", ylim=(-0.02, 1.05)
        )
        text.set(
            title="Other text",
            ylabel="perplexity",
            yscale="log",
            ylim=(0.8 * before, _RUIN * before),
        )
        recall.legend(loc="center left")
        return figure


def keys(rows: list[dict[str, Any]]) -> Figure:
    """Draw thresholds over Gaussian theory and over the prediction for their case, by size."""
    with house_style():
        figure, panels = canvas(2, width=4.4, height=3.4)
        sizes = list(dict.fromkeys((row["dim_in"], row["dim_out"]) for row in rows))
        cases = list(dict.fromkeys(row["case"] for row in rows))
        colours = (THEORY, ACCENT, INK, HEBBIAN, GREY, GREY)
        for axes, over in zip(panels, ("over_theory", "over"), strict=True):
            for place, case in enumerate(cases):
                mine = [row for row in rows if row["case"] == case]
                shift = 0.12 * (place - (len(cases) - 1) / 2)
                axes.errorbar(
                    [sizes.index((row["dim_in"], row["dim_out"])) + shift for row in mine],
                    [row[over].value for row in mine],
                    yerr=[2 * row[over].stderr if row["instances"] > 1 else 0 for row in mine],
                    fmt=(*_MARKS, "x")[place],
                    markersize=5,
                    color=colours[place],
                    label=case,
                )
            axes.axhline(1.0, color=GREY, linewidth=1.0)
            axes.axhspan(0.9, 1.1, color=GREY, alpha=0.12, linewidth=0)
            axes.set_xticks(range(len(sizes)), [f"{a} to {b}" for a, b in sizes])
            axes.set(xlim=(-0.6, len(sizes) - 0.4), ylim=(0.7, 1.3), xlabel="keys to head")
        panels[0].set(title="Over theory of Gaussian vectors", ylabel="measured (±2 s.e.)")
        panels[1].set(title="Over the prediction for the case")
        panels[0].legend(loc="upper left", fontsize=7, ncols=2)
        return figure


def training(cells: list[dict[str, Any]]) -> Figure:
    """Draw what training reaches of the bound against the rank."""
    with house_style():
        figure, (axes,) = canvas(width=5.6, height=3.5)
        adapters = [cell for cell in cells if cell["rank"]]
        kinds = dict.fromkeys((cell["learner"], cell["keys"]) for cell in adapters)
        for style, kind in zip(SERIES, kinds, strict=False):
            chosen = [cell for cell in adapters if (cell["learner"], cell["keys"]) == kind]
            axes.errorbar(
                [cell["rank"] for cell in chosen],
                [cell["efficiency"] for cell in chosen],
                yerr=[2 * (cell["efficiency_stderr"] or 0.0) for cell in chosen],
                marker="o",
                label=f"{kind[0]}, keys {kind[1]}",
                **style,
            )
        ranks = sorted({cell["rank"] for cell in adapters})
        reference_line(axes, 1.0, "bound", at_left=True)
        axes.set_xscale("log", base=2)
        axes.set_xticks(ranks, [f"{rank}" for rank in ranks])
        axes.set(title="Facts learnt to 99%", xlabel="rank", ylabel="over the bound (±2 s.e.)")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7.5)
        return figure


_EDITORS = (*SERIES, *SERIES, *SERIES)
"""Colours come again: marks tell methods apart."""


def editors(means: list[dict[str, Any]]) -> Figure:
    """Draw what is understood, and what becomes of other text, against the number of facts."""
    with house_style():
        figure, (understood, text) = canvas(2, width=4.4, height=3.5)
        methods = list(dict.fromkeys(mean["method"] for mean in means if mean["facts"]))
        marks = "os^DvPX*<"
        for style, mark, method in zip(_EDITORS, marks, methods, strict=False):
            chosen = [mean for mean in means if mean["method"] == method]
            facts = [mean["facts"] for mean in chosen]
            for axes, share in ((understood, "paraphrase"), (text, "perplexity")):
                heights = [mean[share] for mean in chosen]
                axes.plot(facts, heights, label=method, marker=mark, markersize=5, **style)
        before = next(mean["perplexity"] for mean in means if not mean["facts"])
        reference_line(text, before, "before", at_left=True)
        for axes in (understood, text):
            axes.set(xscale="log", xlabel="facts")
        understood.set(
            title="Understood in other words", ylabel="share of wordings", ylim=(-0.02, 1.05)
        )
        limits = (0.8 * before, _RUIN * before)
        text.set(title="Other text", ylabel="perplexity", yscale="log", ylim=limits)
        text.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7.5)
        return figure


def shapes(rows: list[dict[str, Any]]) -> list[str]:
    """Return the shapes, but for those that are another's the other way round and hold as many."""
    names: dict[float, str] = {}
    for shape, facts in rows[-1].items():  # at rank one all hold two
        if shape not in ("rank", "all"):
            names.setdefault(facts, shape)
    return list(names.values())
