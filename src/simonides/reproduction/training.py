"""What training recalls, and its loss, against the load: Figs. 1, 2 and A.1."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from scipy.interpolate import PchipInterpolator
from threadpoolctl import threadpool_limits

from simonides.curves.table import Table, stacked, with_error
from simonides.experiments.expand import predicted
from simonides.experiments.task import rank_of
from simonides.figures.marks import (
    BARS,
    CURVE,
    EDGES,
    PROBLEMS,
    SIZES,
    capacity_edge,
    grid,
    legend_below,
    part_of,
)
from simonides.figures.style import GREY, HEBBIAN, INK
from simonides.reproduction.figure import PaperFigure
from simonides.reproduction.results import groups, mean_of, problem_code
from simonides.theory.hebbian import recall_probability
from simonides.theory.risk import minimum_of_risk
from simonides.theory.setting import Setting, facts_at_load
from simonides.theory.setting import load as load_of
from simonides.theory.spectrum import critical_load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simonides.arrays import Reals
    from simonides.reproduction.results import Results, Row
    from simonides.theory.setting import ProblemKind

_SEED = 31

_SHARES = (0.2, 0.999, 1.01, 1.05, 1.15, 1.4)
"""Facts over capacity at which theory is computed: closer where accuracy falls fastest."""

_BETWEEN = 200
"""Points of a curve through them, beyond capacity: more than a picture resolves."""

_LOAD_LABEL = "load $p\\,\\log p\\,/\\,d^2$"


def _at_full_rank(results: Results) -> dict[str, Table]:
    """Return accuracy against the load at full rank."""
    return _trained(results.rows("accuracy"), results.plan.theory_samples)


def _by_rank(results: Results) -> dict[str, Table]:
    """Return accuracy and loss against the load by rank fraction."""
    measured = results.rows("rank") + results.rows("accuracy")
    return _trained(measured, results.plan.theory_samples)


def _by_rank_and_hebbian(results: Results) -> dict[str, Table]:
    """Return the same beside the Hebbian rule."""
    hebbian = results.rows("hebbian")
    return {
        **_by_rank(results),
        "hebbian": _curves(hebbian),
        "hebbian-theory": _hebbian(_dims(hebbian)),
    }


def _trained(measured: list[Row], samples: int) -> dict[str, Table]:
    theory = beyond_capacity(_dims(measured), samples)
    return {
        "measured": _curves(measured),
        "theory": theory,
        "theory-curve": between_nodes(theory),
        "thresholds": _thresholds(measured),
    }


@cache
def beyond_capacity(dims: tuple[int, ...], samples: int) -> Table:
    """Return accuracy and loss of the cross-entropy's minimum for the decoupled problem, in theory."""
    places = [
        (dim, round(share * predicted("decoupled", dim, None))) for dim in dims for share in _SHARES
    ]
    # Above capacity a point takes seconds, and each has its own draws.
    rows = Parallel()(
        delayed(_minimum)(dim, facts, samples_at(dim, samples)) for dim, facts in places
    )
    return stacked("theory", "Minimum of the cross-entropy, decoupled problem, full rank", rows)


def between_nodes(theory: Table) -> Table:
    """Return smooth monotone curves through the nodes of ``beyond_capacity``, for pictures.

    Straight up to the last node below capacity, where accuracy is one and the loss zero; beyond, a cubic
    in the root of the distance from there, which does not overshoot: the accuracy falls steeply at first
    and ever more slowly, and chords would lie above it.
    """
    rows = []
    for dim in theory.distinct("dim"):
        nodes = theory.where("dim", dim)
        _, distinct = np.unique(nodes["load"], return_index=True)  # small sizes round some together
        load = nodes["load"][distinct]
        last = max(int(np.count_nonzero(nodes["accuracy"][distinct] >= 1)) - 1, 0)
        roots = np.sqrt(load[last:] - load[last])
        at = np.linspace(0, roots[-1], _BETWEEN)
        row: dict[str, float | Reals] = {
            "dim": dim,
            "load": np.concatenate([load[:last], load[last] + at**2]),
        }
        for name in ("accuracy", "loss"):
            values = nodes[name][distinct]
            beyond = PchipInterpolator(roots, values[last:])(at)
            row[name] = np.concatenate([values[:last], beyond])
        rows.append(row)
    return stacked("theory-curve", "Monotone interpolation of the computed points", rows)


def samples_at(dim: int, samples: int) -> int:
    """Return how many samples a plan's are at a dimension: more facts tell as much with fewer.

    >>> samples_at(25, 1024), samples_at(100, 1024)
    (1024, 256)
    """
    return max(64, samples * 25 // max(dim, 25))


def _minimum(dim: int, facts: int, samples: int) -> dict[str, float]:
    with threadpool_limits(1):
        state = minimum_of_risk(
            facts, dim**2, rng=np.random.default_rng([_SEED, facts]), samples=samples
        )
    return {
        "dim": float(dim),
        "facts": float(facts),
        "load": load_of(facts, dim),
        **with_error("accuracy", state.accuracy),
        **with_error("loss", state.loss),
    }


def _curves(measured: Iterable[Row]) -> Table:
    rows = []
    for (fraction, problem, dim, facts), part in groups(
        measured, "rank_fraction", "problem", "dim", "facts"
    ).items():
        accuracy = mean_of(part, "accuracy")
        columns = {
            "rank_fraction": fraction,
            "decoupled": problem_code(problem),
            "dim": float(dim),
            "facts": float(facts),
            "load": part[0]["load"],
            **with_error("accuracy", accuracy),
            "accuracy_std": accuracy.stderr * math.sqrt(len(part)),
            "all_recalled": float(np.mean([row["recalled"] == facts for row in part])),
            "instances": float(len(part)),
        }
        if part[0]["loss"] is not None:
            loss = mean_of(part, "loss")
            columns |= {"loss": loss.value, "loss_std": loss.stderr * math.sqrt(len(part))}
        rows.append(columns)
    return stacked("measured", "Means over instances", rows)


def _thresholds(measured: Iterable[Row]) -> Table:
    """Return the predicted loads at capacity: asymptotic, and at each dimension."""
    rows = [
        {
            "rank_fraction": fraction,
            "dim": float(dim),
            "finite_size": load_of(predicted("decoupled", dim, rank_of(dim, fraction)), dim),
            "asymptotic": critical_load(fraction),
        }
        for fraction, dim in groups(measured, "rank_fraction", "dim")
    ]
    return stacked("thresholds", "Predicted loads at capacity", rows)


def _hebbian(dims: tuple[int, ...]) -> Table:
    rows = []
    kinds: tuple[ProblemKind, ...] = ("original", "decoupled")
    for code, kind in enumerate(kinds):
        for dim, load in product(dims, np.linspace(0.02, 1.3, 65)):
            facts = max(2, round(facts_at_load(float(load), dim)))
            accuracy = recall_probability(Setting(dim, dim, problem=kind), facts)
            place = {"decoupled": float(code), "dim": float(dim), "load": load_of(facts, dim)}
            rows.append({**place, "accuracy": accuracy})
    return stacked("hebbian-theory", "Independent Gaussian scores", rows)


def _dims(measured: Iterable[Row]) -> tuple[int, ...]:
    return tuple(dim for (dim,) in groups(measured, "dim"))


_NODE = {**BARS, "marker": "x", "markersize": 3.6, "color": INK, "zorder": 2.5}


def _draw_by_dim(tables: Mapping[str, Table]) -> Figure:
    """Draw both problems, theory beyond capacity, and the two predictions of capacity."""
    measured, theory = tables["measured"], tables["theory"]
    dims = sorted(measured.distinct("dim"))
    figure, panels = grid(len(dims))
    for axes, dim in zip(panels, dims, strict=True):
        curve, nodes = part_of(tables["theory-curve"], dim=dim), part_of(theory, dim=dim)
        axes.plot(curve["load"], curve["accuracy"], label="theory, decoupled", **CURVE)
        axes.errorbar(
            nodes["load"], nodes["accuracy"], nodes["accuracy_stderr"],
            label="computed there (±1 s.e.)", **_NODE,
        )  # fmt: skip
        for code, name, mark in PROBLEMS:
            part = part_of(measured, dim=dim, decoupled=code)
            if len(part):
                spread = part["accuracy_std"] if code else None
                bars = f"{name} (±1 s.d.)" if code else name
                axes.errorbar(
                    part["load"], part["accuracy"], spread, label=bars, **{**BARS, **mark}
                )
        edges = part_of(tables["thresholds"], dim=dim)
        capacity_edge(axes, edges["asymptotic"][0], "limit 1/2", "asymptotic")
        capacity_edge(axes, edges["finite_size"][0], "finite size", "finite_size")
        axes.set(title=f"$d$ = {dim:g}", xlabel=_LOAD_LABEL, ylabel="accuracy", ylim=(0, 1.08))
    legend_below(figure, panels[0], columns=4)
    return figure


_FILLED: dict[str, Any] = {"markersize": 2.9, "zorder": 3}
_OPEN: dict[str, Any] = {"markersize": 5.4, "markerfacecolor": "none"}
_EDGE_NAMES = {"asymptotic": "limit, eq. 9", "finite_size": "finite-size capacity, largest $d$"}


def _panels_by_rank(
    tables: Mapping[str, Table], column: str, label: str
) -> tuple[Figure, list[Axes]]:
    """Draw a column against the load for every problem and dimension, one panel per rank fraction.

    Colour, mark and dash tell dimensions, full and open marks problems. The last panel, of full rank,
    has theory's curves, and names all of this for the legend.
    """
    measured, curves = tables["measured"], tables["theory-curve"]
    fractions = sorted(measured.distinct("rank_fraction"))
    dims = sorted(measured.distinct("dim"))
    sizes = dict(zip(dims, SIZES[-len(dims) :], strict=True))
    figure, panels = grid(len(fractions))
    for axes, fraction in zip(panels, fractions, strict=True):
        for dim, size in sizes.items():
            for code, _, _ in PROBLEMS:
                part = part_of(measured, rank_fraction=fraction, dim=dim, decoupled=code)
                if len(part):
                    axes.errorbar(
                        part["load"], part[column], part[f"{column}_std"] if code else None,
                        **{**size, **BARS, **(_OPEN if code else _FILLED)},
                    )  # fmt: skip
        axes.set(title=rf"$\kappa$ = {fraction:g}", xlabel=_LOAD_LABEL, ylabel=label)
        axes.set_xlim(left=0)
    for dim, size in sizes.items():
        curve = part_of(curves, dim=dim)
        panels[-1].plot(
            curve["load"], curve[column], linewidth=1.3,
            color=size["color"], linestyle=size["linestyle"],
        )  # fmt: skip
        panels[-1].plot([], [], **size, markersize=4.2, linewidth=1.3, label=f"$d$ = {dim:g}")
    mark: dict[str, Any] = {"marker": "o", "color": GREY, "linestyle": "none"}
    panels[-1].plot([], [], **mark, **_FILLED, label="full marks: original")
    panels[-1].plot([], [], **mark, **_OPEN, label="open marks: decoupled (±1 s.d.)")
    panels[-1].plot([], [], color=GREY, linewidth=1.3, label="lines: theory, decoupled")
    for axes, fraction in zip(panels, fractions, strict=True):
        edges = part_of(tables["thresholds"], rank_fraction=fraction)
        for edge, name in _EDGE_NAMES.items():
            # Limits do not depend on the dimension; sizes do, and the largest comes last.
            axes.axvline(edges[edge][-1], **EDGES[edge], label=name, zorder=1)
    return figure, panels


_HEBBIAN = (("+", ":"), ("x", (0, (3, 1))))
"""Mark and dash of the Hebbian rule on each problem."""


def _draw_accuracy(tables: Mapping[str, Table]) -> Figure:
    """Draw trained memories in every panel and the Hebbian rule in that of full rank."""
    figure, panels = _panels_by_rank(tables, "accuracy", "accuracy")
    axes = panels[-1]
    hebbian = tables["hebbian"]
    dim = max(
        set.intersection(*({*part_of(hebbian, decoupled=code)["dim"]} for code, _, _ in PROBLEMS))
    )
    for (code, name, _), (mark, dash) in zip(PROBLEMS, _HEBBIAN, strict=True):
        measured = part_of(hebbian, dim=dim, decoupled=code)
        theory = part_of(tables["hebbian-theory"], dim=dim, decoupled=code)
        marks: dict[str, Any] = {"marker": mark, "markersize": 4.6, "color": HEBBIAN}
        axes.plot(measured["load"], measured["accuracy"], **marks, linestyle="none")
        axes.plot(theory["load"], theory["accuracy"], color=HEBBIAN, linestyle=dash, linewidth=1.2)
        axes.plot([], [], **marks, linestyle=dash, label=f"Hebbian rule, {name}, $d$ = {dim:g}")
    for panel in panels:
        panel.set_ylim(0, 1.08)
    legend_below(figure, axes)
    return figure


def _draw_loss(tables: Mapping[str, Table]) -> Figure:
    """Draw the mean cross-entropy."""
    figure, panels = _panels_by_rank(tables, "loss", "cross-entropy")
    for panel in panels:
        panel.set_ylim(0, None)
    legend_below(figure, panels[-1])
    return figure


AT_FULL_RANK = PaperFigure(
    "1",
    "Training accuracy against the load",
    "Facts recalled at the minimum of the cross-entropy, means over instances with their standard "
    "deviation for the decoupled problem. The line is the finite-size theory of that minimum for "
    "the decoupled problem, with nothing fitted: computed at the crosses, and between them a "
    "monotone interpolation. Verticals are the finite-size capacity (dotted) and the paper's limit "
    "1/2 (dashed).",
    needs=("accuracy",),
    tables=_at_full_rank,
    picture=_draw_by_dim,
)

BY_RANK = PaperFigure(
    "2",
    "Accuracy by rank, and the Hebbian rule",
    "As Figure 1 for matrices of bounded rank m = κd (two linear layers). Verticals: the "
    "limit of eq. 9 and, for the largest dimension drawn, the finite-size capacity. Lines of "
    "theory, for κ = 1, interpolate the points that Figure 1 marks. The Hebbian rule (marks) and "
    "its theory (lines) are drawn with κ = 1, at the largest dimension at which both problems were "
    "measured.",
    needs=("accuracy", "rank", "hebbian"),
    tables=_by_rank_and_hebbian,
    picture=_draw_accuracy,
)

LOSSES = PaperFigure(
    "A.1",
    "Training loss against the load",
    "Mean cross-entropy of the runs of Figure 2, with the standard deviation for the decoupled "
    "problem. Runs that recall everything stop there, so their loss is small but not zero; theory "
    "is zero below capacity, and beyond interpolates the points of Figure 1.",
    needs=("accuracy", "rank"),
    tables=_by_rank,
    picture=_draw_loss,
)
