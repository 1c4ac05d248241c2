"""Curves of what fits, and their pictures: price, capacity, rank, margin and listwise retrieval."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.curves.curve import Curve
from simonides.curves.table import Table, columns_of, stacked, with_error
from simonides.figures.style import (
    FADED,
    INK,
    LOAD_LABEL,
    SERIES,
    THEORY,
    canvas,
    plot_columns,
    reference_line,
    words,
)
from simonides.theory.capacity import capacity, capacity_of
from simonides.theory.cone import statistical_dimension
from simonides.theory.hebbian import LOAD_ALL
from simonides.theory.requirements import largest_margin
from simonides.theory.setting import Setting
from simonides.theory.spectrum import critical_load
from simonides.theory.tail import TailCone, tail_statistical_dimension

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARGINS = (0.0, 1.0, 2.0)  # of a rival's standard deviation: none, and up to the largest measured
_DIMENSIONS = (25, 50, 100, 200, 400, 1024, 4096, 16384, 65536, 262144, 1_000_000)
"""From the smallest that is measured to far beyond those of models."""

_TAIL_SAMPLES = 512
"""Any number from some hundreds does: bars of two standard errors are drawn."""

_SEED = 11  # a seed of its own: no two samples of the package share their draws


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
    rows = [
        {
            "dimension": float(dim),
            **columns_of(answer, "facts", "load", "facts_asymptotic", "facts_hebbian"),
            "load_hebbian": answer.setting.load(answer.facts_hebbian),
            "facts_hebbian_fraction": answer.facts_hebbian_fraction,
            "load_hebbian_fraction": answer.setting.load(answer.facts_hebbian_fraction),
            "bits_per_parameter": answer.bits_per_parameter,
        }
        for dim, answer in ((dim, capacity(dim)) for dim in _DIMENSIONS)
    ]
    return stacked("load", "Load at capacity", rows, limit=critical_load(), limit_hebbian=LOAD_ALL)


def around(setting: Setting) -> Table:
    """Return the capacity curve around a setting: both dimensions scaled together."""
    rows = []
    for factor in np.logspace(-1, 1, 17):
        dim_in, dim_out = (max(2, round(d * factor)) for d in (setting.dim_in, setting.dim_out))
        rank = None if setting.rank is None else min(setting.rank, dim_in, dim_out)
        answer = capacity_of(replace(setting, dim_in=dim_in, dim_out=dim_out, rank=rank))
        facts = columns_of(
            answer, "facts", "facts_asymptotic", "facts_hebbian", "facts_hebbian_fraction"
        )
        sizes = {"parameters": dim_in * dim_out, "dim_in": dim_in, "dim_out": dim_out}
        rows.append({**sizes, **facts})
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
    rows = [
        {
            "rank": float(bound),
            "rank_fraction": bound / dim,
            **columns_of(answer, "facts", "load"),
            "critical_load": critical_load(bound / dim),
            "facts_per_parameter": answer.facts / answer.parameters,
            "bits_per_parameter": answer.bits_per_parameter,
        }
        for bound, answer in ((bound, capacity(dim, rank=bound)) for bound in ranks)
    ]
    return stacked("rank", f"Rank-bounded capacity at dimension {dim}", rows, dimension=dim)


def margin(dim: int) -> Table:
    """Return the largest margin against the number of facts over capacity."""
    full, setting = capacity(dim).facts, Setting(dim, dim)
    shares = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
    facts = np.array([max(2.0, int(share * full)) for share in shares])
    margins = np.array([largest_margin(setting, int(number)) for number in facts])
    columns = {"facts": facts, "share_of_capacity": facts / full, "margin": margins}
    return stacked("margin", f"Largest margin at dimension {dim}", [columns], dimension=dim)


def tail(_dim: int) -> Table:
    """Return the price of a fact that must beat the mean of its top rivals."""
    rng = np.random.default_rng(_SEED)
    rows = [
        {
            "candidates": float(candidates),
            "tail_fraction": share,
            **with_error(
                "price", TailCone(candidates, share).statistical_dimension(rng, _TAIL_SAMPLES)
            ),
            "price_many_candidates": tail_statistical_dimension(share),
            "price_top_score": statistical_dimension(candidates),
        }
        for candidates in (100, 1000)
        for share in np.minimum(np.logspace(-np.log10(candidates), 0, 13), 1.0).tolist()
    ]
    return stacked("tail", "Listwise retrieval: the price without a logarithm", rows)


def _draw_price(table: Table) -> Figure:
    """Draw the price of a fact against the number of candidates."""
    figure, (axes,) = canvas(width=5.6)
    leading = {**FADED, "linewidth": 1}
    for style, margin in zip(SERIES, table.distinct("margin"), strict=False):
        part = table.where("margin", margin)
        axes.plot(part["candidates"], part["price"], label=f"margin {margin:g}", **style)
        axes.plot(part["candidates"], part["leading_order"], **leading)
    axes.plot([], [], label=r"leading order", **leading)
    cost = r"parameters per fact, $\delta_K$"
    words(axes, table.title, "candidates $K$", cost, xscale="log", ylim=(0, None))
    axes.legend()
    return figure


def _draw_load(table: Table) -> Figure:
    """Draw the load at capacity against the dimension."""
    figure, (axes,) = canvas(width=5.6)
    plot_columns(
        axes,
        table,
        "dimension",
        ("load", "best memory", _marked("o", 0)),
        ("load_hebbian_fraction", "Hebbian rule, 99% of the facts", _marked("^", 2)),
        ("load_hebbian", "Hebbian rule, all facts", _marked("s", 1)),
    )
    reference_line(axes, table.settings["limit"], "limit 1/2")
    reference_line(axes, table.settings["limit_hebbian"], "limit 1/8, all facts", at_left=True)
    words(axes, table.title, "dimension $d$", LOAD_LABEL, xscale="log", ylim=(0, 1.0))
    axes.legend(loc="center", bbox_to_anchor=(0.4, 0.4))
    return figure


def _marked(mark: str, series: int) -> dict[str, Any]:
    return {"marker": mark, "markersize": 4.5, **SERIES[series]}


def draw_around(table: Table) -> Figure:
    """Draw the capacity curve around an asked size."""
    figure, (axes,) = canvas(width=5.6)
    plot_columns(
        axes,
        table,
        "parameters",
        ("facts", "best memory, finite size", SERIES[0]),
        ("facts_asymptotic", "best memory, leading order", FADED),
        ("facts_hebbian_fraction", "Hebbian rule, 99% of the facts", SERIES[2]),
        ("facts_hebbian", "Hebbian rule, all facts", SERIES[1]),
    )
    parameters, facts = table.settings["asked_parameters"], table.settings["asked_facts"]
    axes.plot([parameters], [facts], "o", color=INK, markersize=6)
    size = f"{table.settings['dim_out']:,.0f} × {table.settings['dim_in']:,.0f}"
    axes.annotate(
        f"{facts:,.0f} facts\n{size}", (parameters, facts),
        xytext=(-8, 6), textcoords="offset points", ha="right", fontsize=8.5,
    )  # fmt: skip
    words(axes, table.title, "entries of the matrix", "facts", xscale="log", yscale="log")
    axes.legend(loc="lower right")
    return figure


def _draw_rank(table: Table) -> Figure:
    """Draw capacity and facts per parameter against the rank fraction."""
    figure, (left, right) = canvas(2)
    loads = ("load", "finite size", SERIES[0]), ("critical_load", "limit, eq. (9)", FADED)
    plot_columns(left, table, "rank_fraction", *loads)
    right.plot(table["rank_fraction"], table["bits_per_parameter"], **SERIES[2])
    for axes, title, up in (
        (left, table.title, "load at capacity"),
        (right, "Low rank stores more per parameter", "bits per free parameter"),
    ):
        words(axes, "", r"rank fraction $\kappa = m/d$", up, ylim=(0, None), xlim=(0, 1))
        axes.set_title(title, fontsize=9.5)  # side by side with room between
    left.legend(loc="lower right")
    return figure


def _draw_margin(table: Table) -> Figure:
    """Draw the largest margin against the facts stored."""
    figure, (axes,) = canvas(width=5.6)
    axes.plot(table["share_of_capacity"], table["margin"], "o-", markersize=4, color=THEORY)
    words(axes, table.title, "facts over capacity", "margin, in off-target deviations")
    axes.set(xlim=(0, 1), ylim=(0, None))
    return figure


def _draw_tail(table: Table) -> Figure:
    """Draw the price of listwise retrieval against the averaged fraction."""
    figure, (axes,) = canvas(width=5.6)
    for style, marker, candidates in zip(SERIES, "os", table.distinct("candidates"), strict=False):
        part, color = table.where("candidates", candidates), style["color"]
        axes.errorbar(
            part["tail_fraction"], part["price"], 2 * part["price_stderr"], fmt=marker, markersize=4,
            color=color, label=f"{candidates:,.0f} candidates (±2 s.e.)",
        )  # fmt: skip
        axes.plot(
            part["tail_fraction"][0], part["price_top_score"][0], "*", markersize=12, color=color,
            zorder=5,
        )  # fmt: skip
    limit = ("price_many_candidates", "limit of many candidates", FADED)
    plot_columns(axes, part, "tail_fraction", limit)
    axes.plot([], [], "*", color=INK, markersize=10, label="must win: exact")
    words(axes, table.title, "fraction of rivals averaged", "parameters per fact")
    axes.set(xscale="log", ylim=(0, 12))
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
        "features; small matrices keep less. A gap that is the same for all facts was measured below it by "
        "about 6/d of it at dimension 8 to 26; one over the lengths of its own vectors, as certificates "
        "prove it, 8 to 15% below at dimension 25 and 3 to 10% at 50. At nine tenths of capacity no "
        "difference could be told.",
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
