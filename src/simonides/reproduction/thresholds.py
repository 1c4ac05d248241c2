"""What fits, measured: Fig. C.1, the difference of the two problems, and facts against the rank."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from simonides.curves.table import Table, stacked, with_error
from simonides.estimate import Estimate
from simonides.experiments.expand import predicted
from simonides.experiments.task import rank_of
from simonides.figures import marks
from simonides.figures.style import INK, canvas, plot_columns, reference_line, words
from simonides.reproduction.figure import PaperFigure
from simonides.reproduction.plans import BOTH
from simonides.reproduction.results import Results, Row, groups, mean_of, summarised, where
from simonides.reproduction.statistics import mean, ratio
from simonides.theory.capacity import capacity
from simonides.theory.setting import load as load_of
from simonides.theory.spectrum import critical_load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CURVE_DIMS = tuple(round(dim) for dim in np.geomspace(10, 4000, 24))
"""From below the smallest measured to those of models; a point takes a fraction of a second."""

_CURVE_FRACTIONS = np.linspace(0.04, 1, 25)
"""Every rank at d = 25, the dimension that is measured."""


def _loads(results: Results) -> dict[str, Table]:
    """Return the measured load at capacity against the dimension, and theory's curve."""
    rows = results.rows("thresholds")
    return {
        "measured": summarised(
            "measured", "Measured loads at capacity", rows, "problem", "dim", of=_load
        ),
        "theory": _load_by_dimension(),
    }


def _load(part: list[Row]) -> dict[str, float]:
    return {
        **with_error("facts", mean_of(part, "threshold")),
        "facts_theory": predicted(part[0]["problem"], part[0]["dim"], None),
        **with_error("load", mean(load_of(row["threshold"], row["dim"]) for row in part)),
        "instances": len(part),
    }


@cache
def _load_by_dimension() -> Table:
    loads = np.array([capacity(dim, problem="decoupled").load for dim in _CURVE_DIMS])
    columns = {"dim": np.array(_CURVE_DIMS), "load": loads, "asymptotic": np.array(critical_load())}
    return stacked("theory", "Predicted load at capacity", [columns])


def _draw_loads(tables: Mapping[str, Table]) -> Figure:
    """Draw measured loads and theory against the dimension, and against 1/log d."""
    measured, theory = tables["measured"], tables["theory"]
    figure, (left, right) = canvas(2, width=3.6, height=3.0)
    limit = theory["asymptotic"][0]
    for axes, scale, title, across in (
        (left, np.positive, "Against the dimension", "dimension $d$"),
        (right, lambda dims: 1 / np.log(dims), r"Against $1/\log d$", r"$1/\log d$"),
    ):
        axes.plot(scale(theory["dim"]), theory["load"], label="finite-size theory", **marks.CURVE)
        marks.with_problems(axes, measured, "dim", "load", scale)
        reference_line(axes, limit, "limit 1/2", at_left=axes is left)
        words(axes, title, across, "load at capacity")
    last = marks.part_of(measured, decoupled=0.0)
    x = np.array([0.0, 1 / np.log(last["dim"][0])])
    slope = (last["load"][-1] - limit) * np.log(last["dim"][-1])
    right.plot(x, limit + slope * x, label=r"rate $1/\log d$", **marks.SECOND)
    left.set(xscale="log", ylim=(0.45, None))
    right.set(ylim=left.get_ylim(), xlim=(0, None))
    left.legend()
    right.legend(loc="lower right", bbox_to_anchor=(1.0, 0.14))
    return figure


LOADS = PaperFigure(
    "C.1",
    "Load at capacity against the dimension",
    "Largest number of facts that fit, found by bisection with a proof on both sides, means and "
    "standard errors over instances; the curve is the finite-size theory without a free "
    "parameter. Right: the same against 1/log d, with a straight line through the limit 1/2.",
    needs=("thresholds",),
    tables=_loads,
    picture=_draw_loads,
)


def _differences(results: Results) -> dict[str, Table]:
    """Return by how much the original problem's threshold exceeds the decoupled one's."""
    rows = []
    for (dim,), part in groups(results.rows("thresholds"), "dim").items():
        problems = {problem: where(part, problem=problem) for problem in BOTH}
        if not all(problems.values()):
            continue
        facts = {problem: mean_of(part, "threshold") for problem, part in problems.items()}
        over = ratio(facts["original"], facts["decoupled"])
        row = {"dim": dim, **with_error("excess", Estimate(over.value - 1, over.stderr))}
        theory = predicted("decoupled", dim, None)
        for problem in BOTH:
            row |= with_error(f"{problem}_over_theory", facts[problem], theory)
        rows.append(row)
    return {"measured": stacked("measured", "Original minus decoupled, over decoupled", rows)}


def _draw_differences(tables: Mapping[str, Table]) -> Figure:
    """Draw the relative difference, and each problem over theory."""
    table = tables["measured"]
    figure, (left, right) = canvas(2, width=3.6, height=3.0)
    left.errorbar(
        table["dim"], 100 * table["excess"], 100 * table["excess_stderr"],
        label="measured", **{**marks.BARS, "marker": "D", "markersize": 4.5, "color": INK},
    )  # fmt: skip
    left.axhline(0.0, **marks.EDGES["asymptotic"], label="equal")
    for _, name, mark in marks.PROBLEMS:
        values, errors = table[f"{name}_over_theory"], table[f"{name}_over_theory_stderr"]
        right.errorbar(table["dim"], values, errors, label=name, **{**marks.BARS, **mark})
    # In the legend and not on the line: marks lie wherever they were measured.
    right.axhline(1.0, **marks.EDGES["asymptotic"], label="finite-size theory")
    for axes, title, up in (
        (left, "Original over decoupled", "percent"),
        (right, "Each over theory", "measured / theory"),
    ):
        words(axes, title, "dimension $d$", up, xscale="log")
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.35 * (high - low))  # room for the legend
        axes.legend(loc="upper right", ncols=2)
        marks.ticks_at(axes, table["dim"].tolist())
    return figure


DIFFERENCES = PaperFigure(
    "difference",
    "Original against decoupled thresholds",
    "Relative difference of the measured capacities, and each over the finite-size theory, with "
    "standard errors. The paper finds the transitions indistinguishable; proofs tell them apart. "
    "Not in the paper.",
    needs=("thresholds",),
    tables=_differences,
    picture=_draw_differences,
)


def _by_rank(results: Results) -> dict[str, Table]:
    """Return measured and predicted facts per free parameter against the rank."""
    measured, shared = results.rows("bounded"), ("problem", "dim", "rank", "rank_fraction")
    curve = []
    for (dim,) in groups(measured, "dim"):
        for rank in sorted({max(1, round(dim * share)) for share in _CURVE_FRACTIONS}):
            answer = capacity(dim, rank=rank, problem="decoupled")
            row = {"dim": dim, "rank": rank, "rank_fraction": rank / dim}
            row["per_parameter"] = answer.facts / answer.parameters
            row["per_parameter_asymptotic"] = answer.facts_asymptotic / answer.parameters
            curve.append(row)
    title = "Measured facts per free parameter"
    return {
        "measured": summarised("measured", title, measured, *shared, of=_per_parameter),
        "theory": stacked("theory", "Predicted facts per free parameter", curve),
    }


def _per_parameter(part: list[Row]) -> dict[str, float]:
    facts, dim = mean_of(part, "threshold"), part[0]["dim"]
    answer = capacity(dim, rank=rank_of(dim, part[0]["rank_fraction"]), problem="decoupled")
    return {
        **with_error("facts", facts),
        "facts_theory": answer.facts,
        **with_error("per_parameter", facts, answer.parameters),
    }


def _draw_by_rank(tables: Mapping[str, Table]) -> Figure:
    """Draw what was measured, finite-size theory and the leading order, one panel per dimension."""
    figure, panels = marks.panels_by(tables, "dim", height=3.0)
    for axes, dim, parts in panels:
        plot_columns(
            axes,
            parts["theory"],
            "rank_fraction",
            ("per_parameter", "finite-size theory", marks.CURVE),
            ("per_parameter_asymptotic", "leading order", marks.SECOND),
        )
        fraction = partial(np.multiply, 1 / dim)
        marks.with_problems(axes, parts["measured"], "rank", "per_parameter", fraction)
        across = r"rank over dimension, $\kappa$"
        words(axes, f"$d$ = {dim:g}", across, "facts per free parameter", ylim=(0, None))
    panels[0][0].legend()
    return figure


BY_RANK = PaperFigure(
    "rank",
    "Facts per free parameter against the rank",
    "Measured by search (with a rank bound a failed search proves nothing, so these are lower "
    "bounds), against finite-size theory and the leading order. Not in the paper.",
    needs=("bounded",),
    tables=_by_rank,
    picture=_draw_by_rank,
)
