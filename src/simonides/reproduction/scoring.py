"""Tables of Figs. 4, A.2 and D.1: how trained and Hebbian memories score.

All scores are in units of the off-target deviation of the memory at hand.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import norm

from simonides.curves.table import Table, stacked
from simonides.experiments.expand import predicted
from simonides.experiments.task import Task
from simonides.problems.original import OriginalProblem
from simonides.reproduction.plans import ABOVE, BELOW, BOTH, NEAR, REGIMES
from simonides.reproduction.results import (
    SCORE_GRID,
    SCORE_STEP,
    groups,
    largest_common_dim,
    regime_of,
    score_distribution,
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
    from collections.abc import Iterable

    from simonides.arrays import Reals
    from simonides.reproduction.results import Results, Row
    from simonides.theory.setting import ProblemKind

MIDDLES: Reals = SCORE_GRID[:-1] + SCORE_STEP / 2
HEBBIAN_LOADS = (0.06, 0.2, 1.0)
"""Loads of Fig. D.1: below the Hebbian capacity of 1/8, above it, and beyond all capacities."""

_SEED = 33
_THEORY_ROWS = 2000


def figure_4(results: Results) -> dict[str, Table]:
    """Return histograms of scores below, near and above capacity, and the laws they should follow."""
    found = results.rows("regimes")
    dim = largest_common_dim(found)
    rows = [row | {"regime": regime_of(row)} for row in found if row["dim"] == dim]
    return {
        "measured": histograms(rows, "regime"),
        "theory": _laws(dim, results.plan.theory_samples),
    }


def figure_d1(results: Results) -> dict[str, Table]:
    """Return histograms of the Hebbian rule's scores at three loads, and their Gaussian laws."""
    found = results.rows("hebbian")
    dim = largest_common_dim(found)
    rows = [
        row | {"regime": load}
        for load, problem in product(HEBBIAN_LOADS, BOTH)
        for row in where(found, problem=problem, dim=dim, facts=_nearest(found, problem, dim, load))
    ]
    theory = []
    for (problem, load), part in groups(rows, "problem", "regime").items():
        kind: ProblemKind = "decoupled" if problem == BOTH[1] else "original"
        law = rule.target_score_law(Setting(dim, dim, problem=kind), part[0]["facts"])
        place = {"decoupled": float(problem == BOTH[1]), "regime": load}
        for x in MIDDLES:
            heights = {"target": float(law.pdf(x)), "rival": float(rule.rival_score_law().pdf(x))}
            theory.append({**place, "score": float(x), **heights})
    return {
        "measured": histograms(rows, "regime"),
        "theory": stacked("theory", "Independent Gaussian scores", theory, dim=dim),
    }


def figure_a2(results: Results) -> dict[str, Table]:
    """Return the scores of one constraint: one input's target and all its rivals."""
    dim = results.plan.single_dim
    cases = [
        (problem, regime, round(regime * predicted(problem, dim, None)))
        for problem, regime in product(BOTH, REGIMES)
    ]
    found = Parallel()(delayed(_one_constraint)(problem, dim, facts) for problem, _, facts in cases)
    rivals, targets = [], []
    for (problem, regime, facts), (target, others) in zip(cases, found, strict=True):
        place = {"decoupled": float(problem == BOTH[1]), "regime": regime, "dim": float(dim)}
        counts, _ = np.histogram(others, SCORE_GRID[::3])
        for left, count in zip(SCORE_GRID[::3], counts, strict=False):
            density = count / (others.size * 3 * SCORE_STEP)
            rivals.append({**place, "score": left + 1.5 * SCORE_STEP, "density": density})
        targets.append(
            {
                **place,
                "facts": float(facts),
                "target": target,
                "best_rival": float(others.max()),
                "extreme_value": math.sqrt(2 * math.log(facts)),
            }
        )
    return {
        "rivals": stacked("rivals", "Off-target scores of one input", rivals, dim=dim),
        "targets": stacked("targets", "Its target's score", targets, dim=dim),
    }


def histograms(rows: Iterable[Row], regime: str) -> Table:
    """Return densities of target and off-target scores by problem and regime."""
    found = []
    for (problem, place), part in groups(rows, "problem", regime).items():
        densities = {
            kind: np.diff(np.mean([score_distribution(row, kind) for row in part], axis=0))
            / SCORE_STEP
            for kind in ("target", "rival")
        }
        facts = part[0]["facts"]
        for step, score in enumerate(MIDDLES):
            found.append(
                {
                    "decoupled": float(problem == BOTH[1]),
                    "regime": place,
                    "dim": float(part[0]["dim"]),
                    "facts": float(facts),
                    "load": part[0]["load"],
                    "extreme_value": math.sqrt(2 * math.log(facts)),
                    "score": float(score),
                    "target": float(densities["target"][step]),
                    "rival": float(densities["rival"][step]),
                    "instances": float(len(part)),
                }
            )
    return stacked("measured", "Densities of scores", found)


def _laws(dim: int, samples: int) -> Table:
    """Return the laws of scores: at the largest margin, at capacity, and at the loss's minimum."""
    full = predicted("decoupled", dim, None)
    below = round(BELOW * full)
    margin = largest_margin(Setting(dim, dim, problem="decoupled"), below)
    rows = []
    for regime, facts, kept in ((BELOW, below, margin), (NEAR, round(NEAR * full), 0.0)):
        unit = math.sqrt(RivalScoreLaw(facts, kept).variance)
        target = _spread(TargetScoreLaw(facts, kept), dim, unit)
        rival = unit * RivalScoreLaw(facts, kept).pdf(unit * MIDDLES)
        rows += _heights(regime, target, rival)
    facts = round(ABOVE * full)
    rng = np.random.default_rng(_SEED)
    state = minimum_of_risk(facts, dim**2, rng=rng, samples=samples_at(dim, samples))
    scores = state.sample_scores(_THEORY_ROWS, rng)
    scores = scores / np.std(scores[:, 1:])
    rival, _ = np.histogram(scores[:, 1:], SCORE_GRID, density=True)
    rows += _heights(ABOVE, _spread_sample(scores[:, 0], dim), rival)
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
        weight * unit / scale * law.pdf(unit * MIDDLES / scale)
        for scale, weight in zip(scales, weights, strict=True)
        if scale > 0
    ]
    return np.asarray(np.sum(parts, axis=0) / weights.sum())


def _spread_sample(targets: Reals, dim: int) -> Reals:
    """Return the same density from a sample of targets; it shows nothing finer than a histogram's step."""
    widths = np.maximum(np.abs(targets) / math.sqrt(dim), SCORE_STEP)
    return np.asarray(norm.pdf(MIDDLES[:, None], targets, widths).mean(axis=1))


def _heights(regime: float, target: Reals, rival: Reals) -> list[dict[str, float]]:
    gaussian = rule.rival_score_law().pdf(MIDDLES)
    return [
        {
            "regime": regime,
            "score": float(x),
            "target": float(target[place]),
            "rival": float(rival[place]),
            "gaussian": float(gaussian[place]),
        }
        for place, x in enumerate(MIDDLES)
    ]


def _nearest(found: list[Row], problem: str, dim: int, load: float) -> int:
    there = where(found, problem=problem, dim=dim)
    return int(min(there, key=lambda row: abs(row["load"] - load))["facts"])


def _one_constraint(kind: str, dim: int, facts: int) -> tuple[float, Reals]:
    """Return the first fact's target score and those of its rivals, off-target variance one."""
    problem = Task(kind, dim, facts, 1.0, "cross-entropy", (), 0, _SEED).draw(facts)
    weights = cross_entropy(problem, threads=1, least_gain=1e-4, seed=_SEED).weights
    image = weights @ problem.inputs[0]
    if isinstance(problem, OriginalProblem):
        target, rivals = problem.outputs[0] @ image, problem.outputs[1:] @ image
    else:
        target = problem.target_outputs[0] @ image
        rivals = problem.rivals_of(slice(0, 1))[0].astype(np.float64) @ image
    # The row's own deviation: its image's length, not that of an average input.
    unit = float(np.std(rivals))
    return float(target) / unit, np.asarray(rivals) / unit
