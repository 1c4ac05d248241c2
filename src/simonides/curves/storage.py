"""Curves of what fits, and their pictures: price, capacity, rank, margin and listwise retrieval."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from simonides.curves.curve import Curve
from simonides.curves.table import Table, stacked, with_error
from simonides.figures.style import FADED, INK, SERIES, THEORY, canvas, reference_line
from simonides.theory.capacity import capacity, capacity_of
from simonides.theory.cone import statistical_dimension
from simonides.theory.hebbian import LOAD_ALL
from simonides.theory.requirements import largest_margin
from simonides.theory.setting import Setting
from simonides.theory.spectrum import critical_load
from simonides.theory.tail import TailCone, tail_statistical_dimension

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARGINS = (0.0, 1.0, 2.0)
_DIMENSIONS = (25, 50, 100, 200, 400, 1024, 4096, 16384, 65536, 262144, 1_000_000)
"""From the smallest that is measured to far beyond those of models."""

_TAIL_SAMPLES = 512
"""Any number from some hundreds does: bars of two standard errors are drawn."""

_SEED = 11


def price(_dim: int) -> Table:
    """Return what a fact costs against the number of candidates, at several margins."""
    rows = [
        {
            "candidates": float(k),
            "margin": margin,
            "price": statistical_dimension(k, margin),
            "leading_order": Setting(1, 1, margin=margin).asymptotic_price(k),
        }
        for margin in _MARGINS
        for k in np.round(np.logspace(np.log10(2), 12, 45))
    ]
    return stacked("price", "What one fact costs, in parameters", rows)


def load(_dim: int) -> Table:
    """Return the load at capacity against the dimension: best memory and Hebbian rule."""
    rows = []
    for dim in _DIMENSIONS:
        answer = capacity(dim)
        rows.append(
            {
                "dimension": float(dim),
                "facts": answer.facts,
                "load": answer.load,
                "facts_asymptotic": answer.facts_asymptotic,
                "facts_hebbian": answer.facts_hebbian,
                "load_hebbian": answer.setting.load(answer.facts_hebbian),
                "facts_hebbian_fraction": answer.facts_hebbian_fraction,
                "load_hebbian_fraction": answer.setting.load(answer.facts_hebbian_fraction),
                "bits_per_parameter": answer.bits_per_parameter,
            }
        )
    return stacked("load", "Load at capacity", rows, limit=critical_load(), limit_hebbian=LOAD_ALL)


def around(setting: Setting) -> Table:
    """Return the capacity curve around a setting: both dimensions scaled together."""
    rows = []
    for factor in np.logspace(-1, 1, 17):
        dim_in = max(2, round(setting.dim_in * factor))
        dim_out = max(2, round(setting.dim_out * factor))
        rank = None if setting.rank is None else min(setting.rank, dim_in, dim_out)
        answer = capacity_of(replace(setting, dim_in=dim_in, dim_out=dim_out, rank=rank))
        rows.append(
            {
                "parameters": float(dim_in * dim_out),
                "dim_in": float(dim_in),
                "dim_out": float(dim_out),
                "facts": answer.facts,
                "facts_asymptotic": answer.facts_asymptotic,
                "facts_hebbian": answer.facts_hebbian,
                "facts_hebbian_fraction": answer.facts_hebbian_fraction,
            }
        )
    return stacked(
        "around",
        "Capacity around the asked size",
        rows,
        asked_parameters=float(setting.entries),
        asked_facts=capacity_of(setting).facts,
        dim_in=float(setting.dim_in),
        dim_out=float(setting.dim_out),
    )


def rank(dim: int) -> Table:
    """Return capacity against the rank bound, finite size and in the limit."""
    ranks = sorted({max(1, round(dim * fraction)) for fraction in np.linspace(0.01, 1, 40)})
    rows = []
    for bound in ranks:
        answer = capacity(dim, rank=bound)
        rows.append(
            {
                "rank": float(bound),
                "rank_fraction": bound / dim,
                "facts": answer.facts,
                "load": answer.load,
                "critical_load": critical_load(bound / dim),
                "facts_per_parameter": answer.facts / answer.parameters,
                "bits_per_parameter": answer.bits_per_parameter,
            }
        )
    return stacked("rank", f"Rank-bounded capacity at dimension {dim}", rows, dimension=dim)


def margin(dim: int) -> Table:
    """Return the largest margin against the number of facts over capacity."""
    full = capacity(dim).facts
    rows = []
    for share in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99):
        facts = max(2, int(share * full))
        rows.append(
            {
                "facts": float(facts),
                "share_of_capacity": facts / full,
                "margin": largest_margin(Setting(dim, dim), facts),
            }
        )
    return stacked("margin", f"Largest margin at dimension {dim}", rows, dimension=dim)


def tail(_dim: int) -> Table:
    """Return the price of a fact that must beat the mean of its top rivals."""
    rng = np.random.default_rng(_SEED)
    rows = []
    for candidates in (100, 1000):
        for fraction in np.logspace(-np.log10(candidates), 0, 13):
            share = min(float(fraction), 1.0)
            cone = TailCone(candidates, share)
            rows.append(
                {
                    "candidates": float(candidates),
                    "tail_fraction": share,
                    **with_error("price", cone.statistical_dimension(rng, _TAIL_SAMPLES)),
                    "price_many_candidates": tail_statistical_dimension(share),
                    "price_top_score": statistical_dimension(candidates),
                }
            )
    return stacked("tail", "Listwise retrieval: the price without a logarithm", rows)


def _draw_price(table: Table) -> Figure:
    """Draw the price of a fact against the number of candidates."""
    figure, (axes,) = canvas(width=5.6)
    for style, margin in zip(SERIES, table.distinct("margin"), strict=False):
        part = table.where("margin", margin)
        axes.plot(part["candidates"], part["price"], label=f"margin {margin:g}", **style)
        axes.plot(part["candidates"], part["leading_order"], **{**FADED, "linewidth": 1})
    axes.plot([], [], label=r"leading order", **{**FADED, "linewidth": 1})
    axes.set(
        xscale="log",
        xlabel="candidates $K$",
        ylabel=r"parameters per fact, $\delta_K$",
        title=table.title,
        ylim=(0, None),
    )
    axes.legend()
    return figure


def _draw_load(table: Table) -> Figure:
    """Draw the load at capacity against the dimension."""
    figure, (axes,) = canvas(width=5.6)
    x = table["dimension"]
    for column, mark, label, style in (
        ("load", "o", "best memory", SERIES[0]),
        ("load_hebbian_fraction", "^", "Hebbian rule, 99% of the facts", SERIES[2]),
        ("load_hebbian", "s", "Hebbian rule, all facts", SERIES[1]),
    ):
        axes.plot(x, table[column], mark, markersize=4.5, label=label, **style)
    reference_line(axes, table.settings["limit"], "limit 1/2")
    reference_line(axes, table.settings["limit_hebbian"], "limit 1/8, all facts", at_left=True)
    axes.set(
        xscale="log",
        xlabel="dimension $d$",
        ylabel=r"load $p\,\log p\,/\,d^2$",
        title=table.title,
        ylim=(0, 1.0),
    )
    axes.legend(loc="center", bbox_to_anchor=(0.4, 0.4))
    return figure


def draw_around(table: Table) -> Figure:
    """Draw the capacity curve around an asked size."""
    figure, (axes,) = canvas(width=5.6)
    x = table["parameters"]
    for column, label, style in (
        ("facts", "best memory, finite size", SERIES[0]),
        ("facts_asymptotic", "best memory, leading order", FADED),
        ("facts_hebbian_fraction", "Hebbian rule, 99% of the facts", SERIES[2]),
        ("facts_hebbian", "Hebbian rule, all facts", SERIES[1]),
    ):
        axes.plot(x, table[column], label=label, **style)
    parameters, facts = table.settings["asked_parameters"], table.settings["asked_facts"]
    axes.plot([parameters], [facts], "o", color=INK, markersize=6)
    axes.annotate(
        f"{facts:,.0f} facts\n{table.settings['dim_out']:,.0f} × {table.settings['dim_in']:,.0f}",
        (parameters, facts),
        xytext=(-8, 6),
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
    )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="entries of the matrix",
        ylabel="facts",
        title=table.title,
    )
    axes.legend(loc="lower right")
    return figure


def _draw_rank(table: Table) -> Figure:
    """Draw capacity and facts per parameter against the rank fraction."""
    figure, (left, right) = canvas(2)
    x = table["rank_fraction"]
    left.plot(x, table["load"], label="finite size", **SERIES[0])
    left.plot(x, table["critical_load"], label="limit, eq. (9)", **FADED)
    left.set(
        xlabel=r"rank fraction $\kappa = m/d$",
        ylabel=r"load at capacity",
        title=table.title,
        ylim=(0, None),
        xlim=(0, 1),
    )
    left.legend(loc="lower right")
    right.plot(x, table["bits_per_parameter"], **SERIES[2])
    right.set(
        xlabel=r"rank fraction $\kappa = m/d$",
        ylabel="bits per free parameter",
        title="Low rank stores more per parameter",
        ylim=(0, None),
        xlim=(0, 1),
    )
    for axes in (left, right):
        axes.set_title(axes.get_title(loc="left"), fontsize=9.5)  # side by side with room between
    return figure


def _draw_margin(table: Table) -> Figure:
    """Draw the largest margin against the facts stored."""
    figure, (axes,) = canvas(width=5.6)
    axes.plot(table["share_of_capacity"], table["margin"], "o-", markersize=4, color=THEORY)
    axes.set(
        xlabel="facts over capacity",
        ylabel="margin, in off-target deviations",
        title=table.title,
        xlim=(0, 1),
        ylim=(0, None),
    )
    return figure


def _draw_tail(table: Table) -> Figure:
    """Draw the price of listwise retrieval against the averaged fraction."""
    figure, (axes,) = canvas(width=5.6)
    for style, marker, candidates in zip(SERIES, "os", table.distinct("candidates"), strict=False):
        part = table.where("candidates", candidates)
        axes.errorbar(
            part["tail_fraction"],
            part["price"],
            yerr=2 * part["price_stderr"],
            fmt=marker,
            markersize=4,
            color=style["color"],
            label=f"{candidates:,.0f} candidates (±2 s.e.)",
        )
        axes.plot(
            part["tail_fraction"][0],
            part["price_top_score"][0],
            marker="*",
            markersize=12,
            color=style["color"],
            linestyle="none",
            zorder=5,
        )
    widest = table.where("candidates", table.distinct("candidates")[-1])
    axes.plot(
        widest["tail_fraction"],
        widest["price_many_candidates"],
        label="limit of many candidates",
        **FADED,
    )
    axes.plot([], [], "*", color=INK, markersize=10, label="must win: exact")
    axes.set(
        xscale="log",
        xlabel="fraction of rivals averaged",
        ylabel="parameters per fact",
        title=table.title,
        ylim=(0, 12),
    )
    axes.legend()
    return figure


CURVES = (
    Curve(
        "price",
        "What does one fact cost?",
        "Each stored fact uses up parameters. How many is the mean squared distance of a Gaussian "
        "score vector from the set in which the target wins: its statistical dimension. It grows "
        "like 2 log K with the number of candidates, but lies well below that leading order at every "
        "size people use, which is why memories hold more than the asymptotic formula says.",
        price,
        _draw_price,
    ),
    Curve(
        "load",
        "How does capacity grow with the dimension?",
        "The best memory's load tends to 1/2 only as fast as 1/log p: at every practical dimension it "
        "holds a quarter to two thirds more facts than the leading order says (table above). The Hebbian "
        "rule stores several times fewer, and how many depends on whether all facts are meant or "
        "most of them.",
        load,
        _draw_load,
    ),
    Curve(
        "rank",
        "What does a rank bound cost?",
        "A rank bound leaves the memory only its leading directions. The first ones are worth the "
        "most: at low rank a free parameter stores about twice as much as at full rank.",
        rank,
        _draw_rank,
        most_dim=10**6,
    ),
    Curve(
        "margin",
        "How much margin is left below capacity?",
        "Below capacity the best memory can keep every target above its rivals by a margin, here in "
        "units of a fresh output's score. It vanishes at capacity. The curve is that of independent "
        "features; small matrices keep less. Half full, a gap that is the same for all facts was measured "
        "a quarter to a third below it at dimension 12 to 28; one over the lengths of its own vectors, as "
        "certificates prove it, 8 to 15% below at dimension 25 and 3 to 10% at 50. At nine tenths of "
        "capacity no difference could be told.",
        margin,
        _draw_margin,
        most_dim=10**6,
    ),
    Curve(
        "tail",
        "What if the target need only beat its top rivals' mean?",
        "If the target need only exceed the mean of its strongest rivals, the price no longer grows "
        "with the number of candidates. Averaging a single rival is the usual criterion (stars).",
        tail,
        _draw_tail,
    ),
)
