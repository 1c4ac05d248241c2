"""What fits, measured: Fig. C.1, the difference of the two problems, and facts against the rank."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from simonides.curves.table import stacked, with_error
from simonides.experiments.expand import predicted
from simonides.experiments.task import rank_of
from simonides.figures.marks import (
    BARS,
    CURVE,
    EDGES,
    PROBLEMS,
    SECOND,
    grid,
    panels_by_dim,
    part_of,
)
from simonides.figures.style import INK, reference_line
from simonides.reproduction.figure import PaperFigure
from simonides.reproduction.plans import BOTH
from simonides.reproduction.results import groups, mean_of, problem_code
from simonides.reproduction.statistics import mean, ratio
from simonides.theory.capacity import capacity
from simonides.theory.setting import load as load_of
from simonides.theory.spectrum import critical_load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from simonides.arrays import Reals
    from simonides.curves.table import Table
    from simonides.estimate import Estimate
    from simonides.reproduction.results import Results, Row

_CURVE_DIMS = tuple(round(dim) for dim in np.geomspace(10, 4000, 24))
"""From below the smallest measured to those of models; a point takes a fraction of a second."""

_CURVE_FRACTIONS = np.linspace(0.04, 1, 25)
"""Every rank at d = 25, the dimension that is measured."""


def threshold_load(part: list[Row]) -> Estimate:
    """Return the mean of p log p / d^2 at the measured thresholds."""
    return mean(load_of(row["threshold"], row["dim"]) for row in part)


def _loads(results: Results) -> dict[str, Table]:
    """Return the measured load at capacity against the dimension, and theory's curve."""
    rows = [
        {
            "decoupled": problem_code(problem),
            "dim": float(dim),
            **with_error("facts", mean_of(part, "threshold")),
            "facts_theory": predicted(problem, dim, None),
            **with_error("load", threshold_load(part)),
            "instances": float(len(part)),
        }
        for (problem, dim), part in groups(results.rows("thresholds"), "problem", "dim").items()
    ]
    return {
        "measured": stacked("measured", "Measured loads at capacity", rows),
        "theory": _load_by_dimension(),
    }


@cache
def _load_by_dimension() -> Table:
    rows = [
        {
            "dim": float(dim),
            "load": capacity(dim, problem="decoupled").load,
            "asymptotic": critical_load(),
        }
        for dim in _CURVE_DIMS
    ]
    return stacked("theory", "Predicted load at capacity", rows)


def _draw_loads(tables: Mapping[str, Table]) -> Figure:
    """Draw measured loads and theory against the dimension, and against 1/log d."""
    measured, theory = tables["measured"], tables["theory"]
    figure, (left, right) = grid(2, width=3.6, height=3.0)
    limit = theory["asymptotic"][0]
    for axes, scale in ((left, np.positive), (right, _inverse_log)):
        axes.plot(scale(theory["dim"]), theory["load"], label="finite-size theory", **CURVE)
        for code, name, mark in PROBLEMS:
            part = part_of(measured, decoupled=code)
            bars = {**BARS, **mark}
            axes.errorbar(scale(part["dim"]), part["load"], part["load_stderr"], label=name, **bars)
        reference_line(axes, limit, "limit 1/2", at_left=axes is left)
    last = part_of(measured, decoupled=0.0)
    x = np.array([0.0, 1 / np.log(last["dim"][0])])
    slope = (last["load"][-1] - limit) * np.log(last["dim"][-1])
    right.plot(x, limit + slope * x, label=r"rate $1/\log d$", **SECOND)
    left.set(xscale="log", xlabel="dimension $d$", ylabel="load at capacity", ylim=(0.45, None))
    right.set(xlabel=r"$1/\log d$", ylabel="load at capacity", ylim=left.get_ylim(), xlim=(0, None))
    left.set_title("Against the dimension")
    right.set_title(r"Against $1/\log d$")
    left.legend()
    right.legend(loc="lower right", bbox_to_anchor=(1.0, 0.14))
    return figure


def _inverse_log(dims: Reals) -> Reals:
    return np.asarray(1 / np.log(dims))


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
    parts = groups(results.rows("thresholds"), "dim", "problem")
    rows = []
    for dim in sorted({dim for dim, _ in parts}):
        if any((dim, problem) not in parts for problem in BOTH):
            continue
        original, decoupled = (mean_of(parts[dim, problem], "threshold") for problem in BOTH)
        over = ratio(original, decoupled)
        theory = predicted("decoupled", dim, None)
        rows.append(
            {
                "dim": float(dim),
                "excess": over.value - 1,
                "excess_stderr": over.stderr,
                "original_over_theory": original.value / theory,
                "original_over_theory_stderr": original.stderr / theory,
                "decoupled_over_theory": decoupled.value / theory,
                "decoupled_over_theory_stderr": decoupled.stderr / theory,
            }
        )
    return {"measured": stacked("measured", "Original minus decoupled, over decoupled", rows)}


def _draw_differences(tables: Mapping[str, Table]) -> Figure:
    """Draw the relative difference, and each problem over theory."""
    table = tables["measured"]
    figure, (left, right) = grid(2, width=3.6, height=3.0)
    left.errorbar(
        table["dim"], 100 * table["excess"], 100 * table["excess_stderr"],
        label="measured", **{**BARS, "marker": "D", "markersize": 4.5, "color": INK},
    )  # fmt: skip
    left.axhline(0.0, **EDGES["asymptotic"], label="equal")
    left.set(
        xscale="log", xlabel="dimension $d$", ylabel="percent", title="Original over decoupled"
    )
    for _, name, mark in PROBLEMS:
        column = f"{name}_over_theory"
        right.errorbar(
            table["dim"], table[column], table[f"{column}_stderr"], label=name, **{**BARS, **mark}
        )
    # In the legend and not on the line: marks lie wherever they were measured.
    right.axhline(1.0, **EDGES["asymptotic"], label="finite-size theory")
    right.set(xscale="log", xlabel="dimension $d$", ylabel="measured / theory")
    right.set_title("Each over theory")
    for axes in (left, right):
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.35 * (high - low))  # room for the legend
        axes.legend(loc="upper right", ncols=2)
        axes.set_xticks(table["dim"], [f"{dim:g}" for dim in table["dim"]])
        axes.minorticks_off()
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
    parts = groups(results.rows("bounded"), "problem", "dim", "rank_fraction")
    rows = []
    for (problem, dim, fraction), part in parts.items():
        facts = mean_of(part, "threshold")
        answer = capacity(dim, rank=rank_of(dim, fraction), problem="decoupled")
        rows.append(
            {
                "decoupled": problem_code(problem),
                "dim": float(dim),
                "rank": float(part[0]["rank"]),
                "rank_fraction": fraction,
                **with_error("facts", facts),
                "facts_theory": answer.facts,
                "per_parameter": facts.value / answer.parameters,
                "per_parameter_stderr": facts.stderr / answer.parameters,
            }
        )
    curve = []
    for dim in sorted({dim for _, dim, _ in parts}):
        for rank in sorted({max(1, round(dim * share)) for share in _CURVE_FRACTIONS}):
            answer = capacity(dim, rank=rank, problem="decoupled")
            curve.append(
                {
                    "dim": float(dim),
                    "rank": float(rank),
                    "rank_fraction": rank / dim,
                    "per_parameter": answer.facts / answer.parameters,
                    "per_parameter_asymptotic": answer.facts_asymptotic / answer.parameters,
                }
            )
    return {
        "measured": stacked("measured", "Measured facts per free parameter", rows),
        "theory": stacked("theory", "Predicted facts per free parameter", curve),
    }


def _draw_by_rank(tables: Mapping[str, Table]) -> Figure:
    """Draw what was measured, finite-size theory and the leading order, one panel per dimension."""
    measured, theory = tables["measured"], tables["theory"]
    figure, panels = panels_by_dim(measured)
    for axes, dim in panels:
        curve = part_of(theory, dim=dim)
        for column, label, style in (
            ("per_parameter", "finite-size theory", CURVE),
            ("per_parameter_asymptotic", "leading order", SECOND),
        ):
            axes.plot(curve["rank_fraction"], curve[column], label=label, **style)
        for code, name, mark in PROBLEMS:
            part = part_of(measured, dim=dim, decoupled=code)
            if not len(part):
                continue
            axes.errorbar(
                part["rank"] / dim, part["per_parameter"], part["per_parameter_stderr"],
                label=name, **{**BARS, **mark},
            )  # fmt: skip
        axes.set(
            title=f"$d$ = {dim:g}",
            xlabel=r"rank over dimension, $\kappa$",
            ylabel="facts per free parameter",
            ylim=(0, None),
        )
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
