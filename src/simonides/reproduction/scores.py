"""How trained and Hebbian memories score: Figs. 4, A.2 and D.1.

All scores are in units of the off-target deviation of the memory at hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import norm

from simonides.arrays import Reals
from simonides.curves.table import Table, stacked
from simonides.experiments.expand import predicted
from simonides.experiments.task import Task
from simonides.figures import marks
from simonides.figures.style import GREY, HEBBIAN, plot_columns, reference_line
from simonides.reproduction.figure import PaperFigure
from simonides.reproduction.plans import ABOVE, BELOW, BOTH, NEAR, REGIMES
from simonides.reproduction.results import (
    SCORE_GRID,
    SCORE_STEP,
    Results,
    Row,
    largest_common_dim,
    problem_code,
    regime_of,
    score_distribution,
    summarised,
    where,
)
from simonides.reproduction.training import samples_at
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.theory import hebbian as rule
from simonides.theory.requirements import largest_margin
from simonides.theory.risk import minimum_of_risk
from simonides.theory.scores import RivalScoreLaw, TargetScoreLaw
from simonides.theory.setting import Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MIDDLES: Reals = SCORE_GRID[:-1] + SCORE_STEP / 2
_HEBBIAN_LOADS = (0.06, 0.2, 1.0)
"""Loads of Fig. D.1: below the Hebbian capacity of 1/8, above it, and beyond all capacities."""

_SEED = 33  # a seed of its own: no two samples of the package share their draws

_THEORY_ROWS = 2000
"""Facts drawn for the law above capacity. Any thousands do: targets are smoothed, and each brings all its
rivals."""


def _by_regime(results: Results) -> dict[str, Table]:
    """Return histograms of scores below, near and above capacity, and the laws they should follow."""
    measured = results.rows("regimes")
    dim = largest_common_dim(measured)
    rows = [row | {"regime": regime_of(row)} for row in where(measured, dim=dim)]
    return {
        "measured": _histograms(rows),
        "theory": _laws(dim, results.plan.theory_samples),
    }


def _of_hebbian_rule(results: Results) -> dict[str, Table]:
    """Return histograms of the Hebbian rule's scores at three loads, and their Gaussian laws."""
    measured = results.rows("hebbian")
    dim = largest_common_dim(measured)
    rows = [
        row | {"regime": load}
        for load, problem in product(_HEBBIAN_LOADS, BOTH)
        for row in _nearest(where(measured, problem=problem, dim=dim), load)
    ]

    def laws(part: list[Row]) -> dict[str, Reals]:
        setting = Setting(dim, dim, problem=part[0]["problem"])
        target = rule.target_score_law(setting, part[0]["facts"])
        rival = rule.rival_score_law().pdf(_MIDDLES)
        return {"score": _MIDDLES, "target": target.pdf(_MIDDLES), "rival": rival}

    title = "Independent Gaussian scores"
    return {
        "measured": _histograms(rows),
        "theory": summarised("theory", title, rows, "problem", "regime", of=laws),
    }


def _of_one_input(results: Results) -> dict[str, Table]:
    """Return the scores of one constraint: one input's target and all its rivals."""
    dim, edges = results.plan.single_dim, SCORE_GRID[::3]
    cases = [
        (problem, regime, round(regime * predicted(problem, dim, None)))
        for problem, regime in product(BOTH, REGIMES)
    ]
    scored = Parallel()(
        delayed(_scores_of_first)(problem, dim, facts) for problem, _, facts in cases
    )
    rivals, targets = [], []
    for (problem, regime, facts), (target, others) in zip(cases, scored, strict=True):
        place = {"decoupled": problem_code(problem), "regime": regime, "dim": dim}
        density = np.histogram(others, edges)[0] / (others.size * 3 * SCORE_STEP)
        rivals.append({**place, "score": edges[:-1] + 1.5 * SCORE_STEP, "density": density})
        scores = {"target": target, "best_rival": others.max(), "extreme_value": _extreme(facts)}
        targets.append({**place, "facts": facts, **scores})
    return {
        "rivals": stacked("rivals", "Off-target scores of one input", rivals, dim=dim),
        "targets": stacked("targets", "Its target's score", targets, dim=dim),
    }


def _extreme(facts: float) -> float:
    return math.sqrt(2 * math.log(facts))


def _histograms(rows: Iterable[Row]) -> Table:
    """Return densities of target and off-target scores by problem and regime."""

    def densities(part: list[Row]) -> dict[str, float | Reals]:
        return {
            "load": part[0]["load"],
            "extreme_value": _extreme(part[0]["facts"]),
            "score": _MIDDLES,
            "target": _density(part, "target"),
            "rival": _density(part, "rival"),
            "instances": len(part),
        }

    shared = ("problem", "regime", "dim", "facts")
    return summarised("measured", "Densities of scores", rows, *shared, of=densities)


def _density(part: list[Row], kind: str) -> Reals:
    below = np.mean([score_distribution(row, kind) for row in part], axis=0)
    return np.asarray(np.diff(below) / SCORE_STEP)


def _laws(dim: int, samples: int) -> Table:
    """Return the laws of scores: at the largest margin, at capacity, and at the loss's minimum."""
    full = predicted("decoupled", dim, None)
    below = round(BELOW * full)
    margin = largest_margin(Setting(dim, dim, problem="decoupled"), below)
    rows = []
    for regime, facts, lead in ((BELOW, below, margin), (NEAR, round(NEAR * full), 0.0)):
        unit = math.sqrt(RivalScoreLaw(facts, lead).variance)
        target = _spread(TargetScoreLaw(facts, lead), dim, unit)
        rival = unit * RivalScoreLaw(facts, lead).pdf(unit * _MIDDLES)
        rows.append(_heights(regime, target, rival))
    facts = round(ABOVE * full)
    rng = np.random.default_rng(_SEED)
    state = minimum_of_risk(facts, dim**2, rng=rng, samples=samples_at(dim, samples))
    scores = state.sample_scores(_THEORY_ROWS, rng)
    scores = scores / np.std(scores[:, 1:])
    rival, _ = np.histogram(scores[:, 1:], SCORE_GRID, density=True)
    rows.append(_heights(ABOVE, _spread_sample(scores[:, 0], dim), rival))
    return stacked(
        "theory", "Laws of scores of the decoupled problem", rows, dim=dim, margin=margin
    )


def _spread(law: TargetScoreLaw, dim: int, unit: float) -> Reals:
    """Return the density of targets whose scale |Wx| varies from input to input.

    For a quarter circle of singular values |Wx|^2 has a relative variance of 4/d, so |Wx| one of 1/d:
    this is how far from its limit the concentration of Appendix C.1.1 is at dimension d.
    """
    # So many that at small dimensions none shows as a hill of its own.
    nodes = np.linspace(-5, 5, 101)
    weights = norm.pdf(nodes)
    scales = 1 + nodes / math.sqrt(dim)
    parts = [
        weight * unit / scale * law.pdf(unit * _MIDDLES / scale)
        for scale, weight in zip(scales, weights, strict=True)
        if scale > 0
    ]
    return np.asarray(np.sum(parts, axis=0) / weights.sum())


def _spread_sample(targets: Reals, dim: int) -> Reals:
    """Return the same density from a sample of targets; it shows nothing finer than a histogram's step."""
    widths = np.maximum(np.abs(targets) / math.sqrt(dim), SCORE_STEP)
    return np.asarray(norm.pdf(_MIDDLES[:, None], targets, widths).mean(axis=1))


def _heights(regime: float, target: Reals, rival: Reals) -> dict[str, float | Reals]:
    gaussian = rule.rival_score_law().pdf(_MIDDLES)
    densities = {"target": target, "rival": rival, "gaussian": gaussian}
    return {"regime": regime, "score": _MIDDLES, **densities}


def _nearest(rows: list[Row], load: float) -> list[Row]:
    """Return the rows whose load is nearest to that."""
    return where(rows, facts=min(rows, key=lambda row: abs(row["load"] - load))["facts"])


def _scores_of_first(kind: str, dim: int, facts: int) -> tuple[float, Reals]:
    """Return the first fact's target score and those of its rivals, off-target variance one."""
    problem = Task(kind, dim, facts, 1.0, "cross_entropy", (), 0, _SEED).draw(facts)
    weights = cross_entropy(problem, threads=1, least_gain=1e-4, seed=_SEED).weights
    image = weights @ problem.inputs[0]
    target, rivals = problem.target_outputs[0] @ image, problem.competitors(0)[1] @ image
    # The row's own deviation: its image's length, not that of an average input.
    unit = float(np.std(rivals))
    return float(target) / unit, np.asarray(rivals) / unit


_NORMAL: dict[str, Any] = {"color": "#b48ad6", "linewidth": 3.4, "linestyle": "-"}
"""A pale band, on which the dashes of the law that it is the limit of can be seen."""


def _draw_panel(axes: Axes, measured: Table, theory: Table) -> None:
    """Draw the densities of a regime, both laws, the standard normal if given, and sqrt(2 log p)."""
    x = measured["score"]
    axes.fill_between(
        x, measured["rival"], step="mid", color=GREY, alpha=0.45, linewidth=0, label="off-target"
    )
    if "gaussian" in theory.columns:
        axes.plot(theory["score"], theory["gaussian"], label="standard normal", **_NORMAL)
    axes.step(x, measured["target"], where="mid", color=HEBBIAN, linewidth=1.3, label="target")
    laws = ("target", "target, theory", marks.CURVE), ("rival", "off-target, theory", marks.SECOND)
    plot_columns(axes, theory, "score", *laws)
    reference_line(axes, measured["extreme_value"][0], r"$\sqrt{2\log p}$", vertical=True)
    top = 1.25 * max(max(measured["target"]), max(measured["rival"]), max(theory["target"]))
    axes.set(xlim=(-4, 7), ylim=(0, top))


def _draw_by_regime(tables: Mapping[str, Table]) -> Figure:
    """Draw both problems in three regimes."""
    figure, panels = marks.panels_by_regime(tables["measured"])
    for axes, part in panels:
        _draw_panel(axes, part, marks.part_of(tables["theory"], regime=part["regime"][0]))
    marks.legend_below(figure, panels[-1][0])
    return figure


def _draw_of_hebbian_rule(tables: Mapping[str, Table]) -> Figure:
    """Draw both problems' scores with their Gaussian laws."""
    figure, panels = marks.panels_by_regime(tables["measured"], "load {:g}")
    for axes, part in panels:
        _draw_panel(axes, part, _beside(part, tables["theory"]))
        axes.set(xlim=(-4, 8), ylim=(0, 0.6))
    marks.legend_below(figure, panels[-1][0], columns=4)
    return figure


def _beside(part: Table, other: Table) -> Table:
    """Return the rows of another table that are of the same problem and regime."""
    return marks.part_of(other, decoupled=part["decoupled"][0], regime=part["regime"][0])


_TOP, _TARGET = 0.65, 0.68
"""Height of a panel, and the share of it that the target's line takes."""


def _draw_of_one_input(tables: Mapping[str, Table]) -> Figure:
    """Draw all rivals of one input and its target, by problem and regime."""
    figure, panels = marks.panels_by_regime(tables["rivals"], height=2.0)
    for axes, part in panels:
        marks.bars_of(axes, part, "score", "its rivals")
        row = _beside(part, tables["targets"])
        # The target from below and the extreme value from above: below capacity they may coincide.
        target, height = [row["target"][0]] * 2, [0, _TARGET * _TOP]
        axes.plot(target, height, color=HEBBIAN, linewidth=2.2, label="the target")
        axes.plot(row["best_rival"], [0.015], "v", color="black", markersize=5, label="best rival")
        level, low = row["extreme_value"][0], _TARGET + 0.06
        reference_line(axes, level, r"$\sqrt{2\log p}$", vertical=True, low=low)
        axes.set(xlim=(-4, 6), ylim=(0, _TOP))
    marks.legend_below(figure, panels[0][0])
    return figure


BY_REGIME = PaperFigure(
    "4",
    "Scores below, near and above capacity",
    "Target and off-target scores, off-target variance one, at the dimension that titles say. "
    "Theory: below capacity the law at the largest margin (training stops as soon as all is "
    "recalled, so it need not follow it); near capacity the laws of t and min(g, t); both widened "
    "by the spread of |Wx| between inputs, 1/√d; above, the scores at the loss's minimum, "
    "unwidened. The standard normal is what off-target scores tend to.",
    needs=("regimes",),
    tables=_by_regime,
    picture=_draw_by_regime,
)

OF_ONE_INPUT = PaperFigure(
    "A.2",
    "Scores of a single constraint",
    "All rivals of one input, the first of one instance, and its target (line from below), at the "
    "dimension that titles say; √(2 log p) hangs from above. Stored facts have the target beyond "
    "the strongest rival; above capacity most facts are not stored.",
    needs=(),
    tables=_of_one_input,
    picture=_draw_of_one_input,
)

OF_HEBBIAN_RULE = PaperFigure(
    "D.1",
    "Scores of the Hebbian rule",
    "Both laws are Gaussian of unit variance, and only the distance of their means falls with the "
    "load: another mechanism than that of Figure 4. Both problems, at the largest dimension at "
    "which both were measured.",
    needs=("hebbian",),
    tables=_of_hebbian_rule,
    picture=_draw_of_hebbian_rule,
)
