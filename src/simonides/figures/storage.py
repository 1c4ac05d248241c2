"""Pictures of what fits: price, capacity, rank, margin and listwise retrieval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simonides.figures.style import GREY, INK, SERIES, THEORY, canvas, reference_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simonides.curves.table import Table


def price(table: Table) -> Figure:
    """Draw the price of a fact against the number of candidates."""
    figure, (axes,) = canvas(width=5.6)
    for style, margin in zip(SERIES, table.distinct("margin"), strict=False):
        part = table.where("margin", margin)
        axes.plot(part["candidates"], part["price"], label=f"margin {margin:g}", **style)
        axes.plot(
            part["candidates"],
            part["leading_order"],
            color=GREY,
            linewidth=1,
            linestyle=(0, (1, 2)),
        )
    axes.plot([], [], color=GREY, linewidth=1, linestyle=(0, (1, 2)), label=r"leading order")
    axes.set(
        xscale="log",
        xlabel="candidates $K$",
        ylabel=r"parameters per fact, $\delta_K$",
        title=table.title,
        ylim=(0, None),
    )
    axes.legend()
    return figure


def load(table: Table) -> Figure:
    """Draw the load at capacity against the dimension."""
    figure, (axes,) = canvas(width=5.6)
    x = table["dimension"]
    axes.plot(x, table["load"], "o", markersize=4.5, label="best memory", **SERIES[0])
    axes.plot(
        x,
        table["load_hebbian_fraction"],
        "^",
        markersize=4.5,
        label="Hebbian rule, 99% of the facts",
        **SERIES[2],
    )
    axes.plot(
        x,
        table["load_hebbian"],
        "s",
        markersize=4.5,
        label="Hebbian rule, all facts",
        **SERIES[1],
    )
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


def around(table: Table) -> Figure:
    """Draw the capacity curve around an asked size."""
    figure, (axes,) = canvas(width=5.6)
    x = table["parameters"]
    axes.plot(x, table["facts"], label="best memory, finite size", **SERIES[0])
    axes.plot(
        x,
        table["facts_asymptotic"],
        label="best memory, leading order",
        color=GREY,
        linestyle=(0, (1, 2)),
    )
    axes.plot(
        x, table["facts_hebbian_fraction"], label="Hebbian rule, 99% of the facts", **SERIES[2]
    )
    axes.plot(x, table["facts_hebbian"], label="Hebbian rule, all facts", **SERIES[1])
    asked, facts = table.settings["asked_parameters"], table.settings["asked_facts"]
    axes.plot([asked], [facts], "o", color=INK, markersize=6)
    axes.annotate(
        f"{facts:,.0f} facts\n{table.settings['dim_out']:,.0f} × {table.settings['dim_in']:,.0f}",
        (asked, facts),
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


def rank(table: Table) -> Figure:
    """Draw capacity and facts per parameter against the rank fraction."""
    figure, (left, right) = canvas(2)
    x = table["rank_fraction"]
    left.plot(x, table["load"], label="finite size", **SERIES[0])
    left.plot(x, table["critical_load"], label="limit, eq. (9)", color=GREY, linestyle=(0, (1, 2)))
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


def margin(table: Table) -> Figure:
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


def tail(table: Table) -> Figure:
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
        color=GREY,
        linestyle=(0, (1, 2)),
        label="limit of many candidates",
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
