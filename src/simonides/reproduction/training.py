"""What training recalls, and its loss, against the load: Figs. 1, 2 and A.1."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
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
from simonides.figures import marks
from simonides.figures.style import GREY, HEBBIAN, INK, LOAD_LABEL, plot_columns, words
from simonides.reproduction.figure import PaperFigure
from simonides.reproduction.results import Results, Row, groups, mean_of, summarised
from simonides.theory.hebbian import recall_probability
from simonides.theory.risk import minimum_of_risk
from simonides.theory.setting import ProblemKind, Setting, facts_at_load
from simonides.theory.setting import load as load_of
from simonides.theory.spectrum import critical_load

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SEED = 31  # a seed of its own: no two samples of the package share their draws

_SHARES = (0.2, 0.999, 1.01, 1.05, 1.15, 1.4)
"""Facts over capacity at which theory is computed: closer where accuracy falls fastest."""

_BETWEEN = 200
"""Points of a curve through them, beyond capacity: more than a picture resolves."""


def _beside_hebbian(results: Results) -> dict[str, Table]:
    """Return accuracy and loss by rank fraction beside the Hebbian rule."""
    hebbian = results.rows("hebbian")
    return {
        **_trained(results, "rank", "accuracy"),
        "hebbian": _curves(hebbian),
        "hebbian-theory": _hebbian(_dims(hebbian)),
    }


def _trained(results: Results, *sweeps: str) -> dict[str, Table]:
    """Return accuracy and loss against the load, of what was measured and of theory."""
    measured = [row for sweep in sweeps for row in results.rows(sweep)]
    theory = beyond_capacity(_dims(measured), results.plan.theory_samples)
    title = "Predicted loads at capacity"
    return {
        "measured": _curves(measured),
        "theory": theory,
        "theory-curve": between_nodes(theory),
        "thresholds": summarised(
            "thresholds", title, measured, "rank_fraction", "dim", of=_threshold
        ),
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
        load, accuracy, loss = (nodes[name][distinct] for name in ("load", "accuracy", "loss"))
        last = max(int(np.count_nonzero(accuracy >= 1)) - 1, 0)
        roots = np.sqrt(load[last:] - load[last])
        at = np.linspace(0, roots[-1], _BETWEEN)
        columns = {"load": np.concatenate([load[:last], load[last] + at**2])}
        for name, values in (("accuracy", accuracy), ("loss", loss)):
            beyond = PchipInterpolator(roots, values[last:])(at)
            columns[name] = np.concatenate([values[:last], beyond])
        rows.append({"dim": np.array(dim), **columns})
    return stacked("theory-curve", "Monotone interpolation of the computed points", rows)


def samples_at(dim: int, samples: int) -> int:
    """Return how many samples a plan's are at a dimension: more facts tell as much with fewer.

    >>> samples_at(25, 1024), samples_at(100, 1024)
    (1024, 256)
    """
    return max(64, samples * 25 // max(dim, 25))


def _minimum(dim: int, facts: int, samples: int) -> dict[str, float]:
    rng = np.random.default_rng([_SEED, dim])
    with threadpool_limits(1):
        state = minimum_of_risk(facts, dim**2, rng=rng, samples=samples)
    measures = {**with_error("accuracy", state.accuracy), **with_error("loss", state.loss)}
    return {"dim": dim, "facts": facts, "load": load_of(facts, dim), **measures}


def _curves(measured: Iterable[Row]) -> Table:
    shared = ("rank_fraction", "problem", "dim", "facts")
    return summarised("measured", "Means over instances", measured, *shared, of=_recalled)


def _recalled(part: list[Row]) -> dict[str, float]:
    accuracy, root = mean_of(part, "accuracy"), math.sqrt(len(part))
    columns = {
        "load": part[0]["load"],
        **with_error("accuracy", accuracy),
        "accuracy_std": accuracy.stderr * root,
        "all_recalled": float(np.mean([row["recalled"] == row["facts"] for row in part])),
        "instances": len(part),
    }
    if part[0]["loss"] is not None:
        loss = mean_of(part, "loss")
        columns |= {"loss": loss.value, "loss_std": loss.stderr * root}
    return columns


def _threshold(part: list[Row]) -> dict[str, float]:
    """Return the predicted loads at capacity: at this dimension, and asymptotic."""
    dim, fraction = part[0]["dim"], part[0]["rank_fraction"]
    return {
        "finite_size": load_of(predicted("decoupled", dim, rank_of(dim, fraction)), dim),
        "asymptotic": critical_load(fraction),
    }


def _hebbian(dims: tuple[int, ...]) -> Table:
    rows = []
    kinds: tuple[ProblemKind, ...] = ("original", "decoupled")
    for (code, kind), dim, load in product(enumerate(kinds), dims, np.linspace(0.02, 1.3, 65)):
        facts = max(2, round(facts_at_load(float(load), dim)))
        accuracy = recall_probability(Setting(dim, dim, problem=kind), facts)
        place = {"decoupled": code, "dim": dim, "load": load_of(facts, dim)}
        rows.append({**place, "accuracy": accuracy})
    return stacked("hebbian-theory", "Independent Gaussian scores", rows)


def _dims(measured: Iterable[Row]) -> tuple[int, ...]:
    return tuple(dim for (dim,) in groups(measured, "dim"))


_NODE = {**marks.BARS, "marker": "x", "markersize": 3.6, "color": INK, "zorder": 2.5}


def _draw_by_dim(tables: Mapping[str, Table]) -> Figure:
    """Draw both problems, theory beyond capacity, and the two predictions of capacity."""
    figure, panels = marks.panels_by(tables, "dim")
    for axes, dim, parts in panels:
        nodes, edges = parts["theory"], parts["thresholds"]
        plot_columns(
            axes, parts["theory-curve"], "load", ("accuracy", "theory, decoupled", marks.CURVE)
        )
        axes.errorbar(
            nodes["load"], nodes["accuracy"], nodes["accuracy_stderr"],
            label="computed there (error at most)", **_NODE,
        )  # fmt: skip
        for code, name, mark in marks.PROBLEMS:
            part = parts["measured"].where("decoupled", code)
            if len(part):
                spread, label = (
                    (part["accuracy_std"], f"{name} (±1 s.d.)") if code else (None, name)
                )
                look = {**marks.BARS, **mark, "label": label}
                axes.errorbar(part["load"], part["accuracy"], spread, **look)
        marks.capacity_edge(axes, edges["asymptotic"][0], "limit 1/2", "asymptotic")
        marks.capacity_edge(axes, edges["finite_size"][0], "finite size", "finite_size")
        words(axes, f"$d$ = {dim:g}", LOAD_LABEL, "accuracy", ylim=(0, 1.08))
    marks.legend_below(figure, panels[0][0], columns=4)
    return figure


_FILLED: dict[str, Any] = {"markersize": 2.9, "zorder": 3}
_OPEN: dict[str, Any] = {"markersize": 5.4, "markerfacecolor": "none"}
_EDGE_NAMES = {"asymptotic": "limit, eq. 9", "finite_size": "finite-size capacity, largest $d$"}


def _panels_by_rank(
    tables: Mapping[str, Table], column: str, label: str, top: float | None = None
) -> tuple[Figure, Axes]:
    """Draw a column against the load for every problem and dimension, one panel per rank fraction.

    Colour, mark and dash tell dimensions, full and open marks problems. The last panel, of full rank,
    has theory's curves, names all of this for the legend, and is returned too.
    """
    dims = sorted(tables["measured"].distinct("dim"))
    sizes = dict(zip(dims, marks.SIZES[-len(dims) :], strict=True))
    figure, panels = marks.panels_by(tables, "rank_fraction")
    for axes, fraction, parts in panels:
        for (dim, size), (code, _, _) in product(sizes.items(), marks.PROBLEMS):
            part = marks.part_of(parts["measured"], dim=dim, decoupled=code)
            if len(part):
                look = {**size, **marks.BARS, **(_OPEN if code else _FILLED)}
                spread = part[f"{column}_std"] if code else None
                axes.errorbar(part["load"], part[column], spread, **look)
        words(axes, rf"$\kappa$ = {fraction:g}", LOAD_LABEL, label)
        axes.set_xlim(left=0)
    last = panels[-1][0]
    for dim, size in sizes.items():
        curve = marks.part_of(tables["theory-curve"], dim=dim)
        line = {"linewidth": 1.3, "color": size["color"], "linestyle": size["linestyle"]}
        last.plot(curve["load"], curve[column], **line)
        last.plot([], [], **size, markersize=4.2, linewidth=1.3, label=f"$d$ = {dim:g}")
    mark: dict[str, Any] = {"marker": "o", "color": GREY, "linestyle": "none"}
    last.plot([], [], **mark, **_FILLED, label="full marks: original")
    last.plot([], [], **mark, **_OPEN, label="open marks: decoupled (±1 s.d.)")
    last.plot([], [], color=GREY, linewidth=1.3, label="lines: theory, decoupled")
    for axes, _, parts in panels:
        for edge, name in _EDGE_NAMES.items():
            # Limits do not depend on the dimension; sizes do, and the largest comes last.
            place = parts["thresholds"][edge][-1]
            axes.axvline(place, **marks.EDGES[edge], label=name, zorder=1)
        axes.set_ylim(0, top)
    return figure, last


_HEBBIAN = (("+", ":"), ("x", (0, (3, 1))))
"""Mark and dash of the Hebbian rule on each problem."""


def _draw_accuracy(tables: Mapping[str, Table]) -> Figure:
    """Draw trained memories in every panel and the Hebbian rule in that of full rank."""
    figure, axes = _panels_by_rank(tables, "accuracy", "accuracy", 1.08)
    hebbian = tables["hebbian"]
    both = (set(marks.part_of(hebbian, decoupled=code)["dim"]) for code, _, _ in marks.PROBLEMS)
    dim = max(set.intersection(*both))
    for (code, name, _), (mark, dash) in zip(marks.PROBLEMS, _HEBBIAN, strict=True):
        measured = marks.part_of(hebbian, dim=dim, decoupled=code)
        theory = marks.part_of(tables["hebbian-theory"], dim=dim, decoupled=code)
        look: dict[str, Any] = {"marker": mark, "markersize": 4.6, "color": HEBBIAN}
        axes.plot(measured["load"], measured["accuracy"], **look, linestyle="none")
        axes.plot(theory["load"], theory["accuracy"], color=HEBBIAN, linestyle=dash, linewidth=1.2)
        axes.plot([], [], **look, linestyle=dash, label=f"Hebbian rule, {name}, $d$ = {dim:g}")
    marks.legend_below(figure, axes)
    return figure


def _draw_loss(tables: Mapping[str, Table]) -> Figure:
    """Draw the mean cross-entropy."""
    figure, last = _panels_by_rank(tables, "loss", "cross-entropy")
    marks.legend_below(figure, last)
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
    tables=lambda results: _trained(results, "accuracy"),
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
    tables=_beside_hebbian,
    picture=_draw_accuracy,
)

LOSSES = PaperFigure(
    "A.1",
    "Training loss against the load",
    "Mean cross-entropy of the runs of Figure 2, with the standard deviation for the decoupled "
    "problem. Runs that recall everything stop there, so their loss is small but not zero; theory "
    "is zero below capacity, and beyond interpolates the points of Figure 1.",
    needs=("accuracy", "rank"),
    tables=lambda results: _trained(results, "rank", "accuracy"),
    picture=_draw_loss,
)
