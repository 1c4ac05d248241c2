"""Curves of how it is stored, and their pictures: scores, spectra, overlap, Hebbian rule, training."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.curves.curve import Curve
from simonides.curves.table import Table, TableRow, stacked, with_error
from simonides.figures import style
from simonides.figures.marks import panels_by
from simonides.theory import hebbian as rule
from simonides.theory import replica
from simonides.theory.capacity import capacity
from simonides.theory.risk import minimum_of_risk
from simonides.theory.scores import RivalScoreLaw, TargetScoreLaw
from simonides.theory.setting import Setting, facts_at_load
from simonides.theory.setting import load as load_of
from simonides.theory.spectrum import CapacityLaw, InitialLaw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RANK_FRACTIONS = (0.1, 0.25, 0.5, 1.0)  # as in the paper's Figs. 2 and 3

_OVERLAP_SAMPLES, _TRAINED_SAMPLES = 192, 256
"""Any numbers of this order do: bars of two standard errors are drawn, and a curve takes seconds."""

_SEED = 12  # a seed of its own: no two samples of the package share their draws

_MEASURES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "accuracy": ("Recall breaks", "training accuracy", {"ylim": (0, 1.04)}),
    "loss": ("loss sets in", "cross-entropy", {"ylim": (0, None)}),
    "norm": (
        *("weights turn finite", "norm of the weights"),
        {"yscale": "log", "yticks": [2, 5, 10, 20], "yticklabels": ["2", "5", "10", "20"]},
    ),
}
"""Of a trained memory: the title, axis and limits of each in its picture."""


def scores(dim: int) -> Table:
    """Return the laws of target and off-target scores at capacity, and of the Hebbian rule's."""
    facts, setting = capacity(dim).facts, Setting(dim, dim)
    target, rival = TargetScoreLaw(facts), RivalScoreLaw(facts)
    x = np.linspace(-4.5, max(6.0, rule.signal(setting, facts) + 4), 420)
    columns = {
        "score": x,
        "target": target.pdf(x),
        "rival": rival.pdf(x),
        "hebbian_target": rule.target_score_law(setting, facts).pdf(x),
        "hebbian_rival": rule.rival_score_law().pdf(x),
    }
    settings = {
        "dimension": float(dim),
        "facts": facts,
        "extreme_value": math.sqrt(2 * math.log(facts)),
        "target_mean": target.mean,
        "target_deviation": math.sqrt(target.variance),
    }
    return Table("scores", f"Scores at capacity, dimension {dim}", columns, settings)


def spectrum(_dim: int) -> Table:
    """Return singular values at capacity and at initialisation, over the largest."""
    x = np.linspace(0.0, 1.0, 301)
    rows: list[TableRow] = []
    for fraction in _RANK_FRACTIONS:
        final, initial = CapacityLaw(fraction), InitialLaw(fraction)
        top = initial.support[1]
        heights = {"at_capacity": final.pdf(x), "at_initialisation": top * initial.pdf(top * x)}
        rows.append({"rank_fraction": fraction, "singular_value": x, **heights})
    return stacked("spectrum", "Singular values over the largest", rows)


def overlap(dim: int) -> Table:
    """Return overlap and free entropy of solutions at finite size, against facts over capacity."""
    full = capacity(dim, problem="decoupled").facts
    rows = []
    for share in (0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 0.97):
        facts = max(2, int(share * full))
        energy = replica.EnergeticTerm(facts, np.random.default_rng(_SEED), _OVERLAP_SAMPLES)
        entropy = replica.finite_size_free_entropy(facts, dim**2, energy)
        rows.append(
            {
                "facts": facts,
                "share_of_capacity": facts / full,
                **with_error("overlap", entropy.overlap),
                **with_error("free_entropy", entropy.value),
                "overlap_limit": replica.overlap(0.5 * share),
                "free_entropy_limit": replica.free_entropy(0.5 * share),
            }
        )
    return stacked("overlap", f"Overlap of solutions at dimension {dim}", rows, dimension=dim)


def hebbian(dim: int) -> Table:
    """Return the Hebbian rule's accuracy and its chance to recall everything, against the load."""
    loads = np.concatenate((np.linspace(0.02, 0.3, 29), np.linspace(0.32, 1.2, 23))).tolist()
    rows = [
        {
            "dimension": size,
            "load": load,
            "facts": facts,
            "accuracy": rule.recall_probability(Setting(size, size), facts),
            "all_recalled": rule.all_recalled_probability(Setting(size, size), facts),
            "rate": rule.rate(load),
        }
        for size in (dim, 10 * dim, 100 * dim)
        for load, facts in ((load, facts_at_load(load, size)) for load in loads)
    ]
    limits = {"limit_all": rule.LOAD_ALL, "limit_fraction": rule.LOAD_FRACTION}
    return stacked("hebbian", "The Hebbian rule", rows, **limits)


def trained(dim: int) -> Table:
    """Return accuracy, loss and norm of the cross-entropy's minimum below and above capacity."""
    rows = []
    shares = (0.8, 0.9, 0.99, 1.01, 1.03, 1.06, 1.1, 1.2, 1.35, 1.6, 2.0)
    for size, share in product((dim, 2 * dim), shares):
        full = capacity(size, problem="decoupled").facts
        facts, rng = round(share * full), np.random.default_rng(_SEED)
        state = minimum_of_risk(facts, size**2, rng=rng, samples=_TRAINED_SAMPLES)
        row = {"dimension": size, "facts": facts, "load": load_of(facts, size)}
        row["share_of_capacity"] = facts / full
        for name in _MEASURES:
            row |= with_error(name, getattr(state, name))
        rows.append(row)
    return stacked("trained", "Cross-entropy trained to its minimum", rows)


def _draw_scores(table: Table) -> Figure:
    """Draw the laws of scores of the best memory at capacity beside the Hebbian rule's."""
    figure, (left, right) = style.canvas(2)
    x = table["score"]
    for axes, prefix, title, series in (
        (left, "", "Best memory at capacity", style.SERIES[0]),
        (right, "hebbian_", "Hebbian rule, as many facts", style.SERIES[1]),
    ):
        rivals = table[f"{prefix}rival"]
        axes.fill_between(x, rivals, color=style.GREY, alpha=0.35, linewidth=0, label="off-target")
        axes.plot(x, table[f"{prefix}target"], label="target", **series)
        style.words(axes, title, "score", "density")
        axes.legend(loc="upper left")
    style.reference_line(left, table.settings["extreme_value"], r"$\sqrt{2 \log p}$", vertical=True)
    left.set_ylim(0, None)
    right.set_ylim(left.get_ylim())
    return figure


def _draw_spectrum(table: Table) -> Figure:
    """Draw singular values at capacity and at initialisation, one panel per rank fraction."""
    figure, panels = panels_by({table.name: table}, "rank_fraction", height=2.5)
    for place, (axes, fraction, parts) in enumerate(panels):
        part = parts[table.name]
        style.plot_columns(
            axes,
            part,
            "singular_value",
            ("at_capacity", "at capacity", style.SERIES[0]),
            ("at_initialisation", "two random layers", style.SERIES[1]),
        )
        density = "" if place % 2 else "density"
        style.words(axes, rf"$\kappa$ = {fraction:g}", "singular value / largest", density)
        axes.set(xlim=(0, 1.02), ylim=(0, 1.25 * np.max(part["at_capacity"])))
    panels[0][0].legend(loc="upper left", fontsize=7.5)
    return figure


def _draw_overlap(table: Table) -> Figure:
    """Draw overlap and free entropy against facts over capacity."""
    figure, (left, right) = style.canvas(2)
    label = f"dimension {table.settings['dimension']:g} (±2 s.e.)"
    for axes, name, title, up in (
        (left, "overlap", "Solutions grow alike", "overlap $q^*$ of two solutions"),
        (right, "free_entropy", "and scarce", r"log volume per parameter, $\Phi$"),
    ):
        axes.errorbar(
            table["share_of_capacity"], table[name], 2 * table[f"{name}_stderr"],
            fmt="o-", markersize=4, color=style.THEORY, label=label,
        )  # fmt: skip
        limit = (f"{name}_limit", "large dimension", style.FADED)
        style.plot_columns(axes, table, "share_of_capacity", limit)
        style.words(axes, title, "facts over capacity", up, xlim=(0, 1))
        axes.legend()
    left.set_ylim(0, 1)
    return figure


def _draw_hebbian(table: Table) -> Figure:
    """Draw the Hebbian rule's accuracy and its chance to recall everything against the load."""
    figure, panels = style.canvas(2)
    fraction, whole = (table.settings[name] for name in ("limit_fraction", "limit_all"))
    for axes, column, title, up, widest, limit, label in (
        (panels[0], "accuracy", "Fraction of the facts", "expected accuracy", 1.2, fraction, "1/2"),
        (panels[1], "all_recalled", "All of the facts", "probability that all are recalled", 0.3,
         whole, "1/8"),
    ):  # fmt: skip
        for series, dimension in zip(style.SERIES, table.distinct("dimension"), strict=False):
            part = table.where("dimension", dimension)
            axes.plot(part["load"], part[column], label=f"d = {dimension:,.0f}", **series)
        style.words(axes, title, style.LOAD_LABEL, up, ylim=(0, 1.04), xlim=(0, widest))
        style.reference_line(axes, limit, label, vertical=True)
        axes.legend()
    return figure


def _draw_trained(table: Table) -> Figure:
    """Draw accuracy, loss and norm of the trained memory around capacity."""
    figure, panels = style.canvas(3, width=style.WIDEST / 3, height=2.8)
    for axes, (name, (title, up, limits)) in zip(panels, _MEASURES.items(), strict=True):
        for series, marker, dimension in zip(
            style.SERIES, "os", table.distinct("dimension"), strict=False
        ):
            part = table.where("dimension", dimension)
            finite = np.isfinite(part[name])
            axes.errorbar(
                part["share_of_capacity"][finite], part[name][finite],
                2 * part[f"{name}_stderr"][finite],
                marker=marker, markersize=3.5, label=f"d = {dimension:g}", **series,
            )  # fmt: skip
        style.reference_line(axes, 1.0, "capacity", vertical=True)
        style.words(axes, title, "facts over capacity", up, **limits)
    panels[2].minorticks_off()
    panels[0].legend()
    return figure


CURVES = (
    Curve(
        "scores",
        "How does the best memory score?",
        "The best memory lifts every target just above the level its rivals reach, and leaves the "
        "rivals alone; the Hebbian rule lets the targets fluctuate as much as the rivals do. The "
        "extreme value √(2 log p) is where the lifted level tends, slowly, as facts grow.",
        scores,
        _draw_scores,
        most_dim=10**6,
    ),
    Curve(
        "spectrum",
        "What do the weights look like at capacity?",
        "At capacity the singular values follow a quarter circle cut off from below: a memory under "
        "a rank bound spreads its strength evenly, unlike the two random layers it was trained from.",
        spectrum,
        _draw_spectrum,
    ),
    Curve(
        "overlap",
        "How much freedom is left below capacity?",
        "Two random solutions grow alike as facts are added, and the volume of solutions shrinks; "
        "both end at capacity. Dots are the finite-size saddle point, dotted lines the closed form "
        "q = 2α, Φ = ½ log(1 − 2α) of the limit.",
        overlap,
        _draw_overlap,
        dim=25,
        most_dim=60,
    ),
    Curve(
        "hebbian",
        "How far does the Hebbian rule get?",
        "The same rule, two criteria. In the limit the fraction of facts recalled falls below one at a "
        "load of 1/2 and the chance that all are recalled drops at 1/8; at finite size the first "
        "happens much earlier, and slowly. Crosstalk with the "
        "rivals' own facts, which the leading order leaves out, is included.",
        hebbian,
        _draw_hebbian,
        most_dim=10**6,
    ),
    Curve(
        "trained",
        "What does training reach beyond capacity?",
        "Beyond capacity a memory trained to the minimum of its cross-entropy recalls fewer and "
        "fewer facts. Below, the loss falls to zero and the weights grow without end.",
        trained,
        _draw_trained,
        dim=25,
        most_dim=60,
    ),
)
