"""Signal propagation, redone: networks run at a plan's scale, kept beside the sweeps, and read as tables.

Each figure's networks are run once and kept as one file in ``signal/``; wanted again, the same settings
are read from there. So are models that are trained from points of the trainability diagram, which needs the
``torch`` extra.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from simonides.curves.table import Table, stacked
from simonides.estimate import Estimate
from simonides.reproduction.figure import PaperFigure
from simonides.reproduction.results import Results
from simonides.reproduction.stored_tables import stored
from simonides.signal.critical import critical_residual
from simonides.signal.maps.architecture import Architecture
from simonides.signal.networks.simulation import observed, simulate_each
from simonides.signal.outcome import OUTCOMES
from simonides.signal.paper import pictures
from simonides.signal.paper.curves import (
    BETAS,
    PLACEMENTS,
    depth_of,
    diagram_of,
    gradients_of,
    quietly,
)
from simonides.signal.paper.scales import SignalScale, TrainingCourse
from simonides.signal.propagation import propagate

_TARGET = 0.9
"""Cosine that the critical skip is to keep after the last block, as ``critical_residual`` has it."""


def _kept_in_its_file(
    compute: Callable[[SignalScale], dict[str, Table]],
) -> Callable[[Results], dict[str, Table]]:
    """Return tables at the scale of results' plan, from the file of an earlier run where there is one."""

    @wraps(compute)
    def tables(results: Results) -> dict[str, Table]:
        scale = results.plan.signal
        path = results.out / "signal" / f"{compute.__name__}.json"
        return stored(path, repr(scale), scale.seed, lambda: compute(scale))

    return tables


@_kept_in_its_file
def depth(scale: SignalScale) -> dict[str, Table]:
    """Return the cosine through depth below and above freezing, and the first block's attention."""
    rows = []
    networks = [replace(scale.depth, beta=beta, layers=1) for beta in BETAS]
    for run in simulate_each(networks, scale.seeds(4), backward=False):
        exact, limit = propagate(run.architecture), quietly(run.architecture, "asymptotic")
        row = {"beta": run.architecture.beta}
        for name, most in (("participation", 1.0), ("entropy", math.log(scale.depth.tokens))):
            sources = {"": run.mean, "_stderr": run.stderr, "_theory": exact, "_limit": limit}
            row |= {
                f"{name}{kind}": float(getattr(source, name)[0]) / most
                for kind, source in sources.items()
            }
        rows.append(row)
    attention = stacked("attention", "Attention of the first block", rows)
    return {"measured": depth_of(scale.depth, scale.seeds()), "attention": attention}


@_kept_in_its_file
def skip(scale: SignalScale) -> dict[str, Table]:
    """Return the cosine after the last block against the skip, attention alone."""
    network = scale.skip
    critical = critical_residual(network.layers, cosine=network.cosine, target=_TARGET)
    networks = [
        replace(network, attention_skip=share * critical)
        for share in (0.4, 0.6, 0.8, 1.0, 1.25, 1.6, 2.0)
    ]
    rows = [
        {
            "skip": run.architecture.attention_skip,
            "cosine": float(run.mean.cosine[-1]),
            "cosine_stderr": float(run.stderr.cosine[-1]),
        }
        for run in simulate_each(networks, scale.seeds(2), backward=False)
    ]
    curve = [
        {
            "skip": value,
            "cosine": float(quietly(replace(network, attention_skip=value), "table").cosine[-1]),
            "cosine_limit": _by_odds(network, value),
        }
        for value in (np.linspace(0.3, 2.1, 37) * critical).tolist()
    ]
    sizes = {"layers": float(network.layers), "critical": critical, "target": _TARGET}
    title = f"Cosine after {network.layers} blocks of attention"
    return {
        "measured": stacked("skip", title, rows, **sizes),
        "theory": stacked("skip", title, curve, **sizes),
    }


def _by_odds(network: Architecture, skip: float) -> float:
    """Return the cosine after all blocks when each multiplies its odds by 1 + σ²/α²."""
    growth = network.layers * math.log1p(network.value_variance / skip**2)
    odds = network.cosine / (1 - network.cosine) * math.exp(growth)
    return odds / (1 + odds)


@_kept_in_its_file
def placement(scale: SignalScale) -> dict[str, Table]:
    """Return the cosine through depth for each place of the LayerNorm, plain and centred."""
    parts: list[dict[str, Any]] = []
    networks = [
        replace(scale.placement, norm=norm, centred=centred) for norm, centred in PLACEMENTS
    ]
    for number, run in enumerate(simulate_each(networks, scale.seeds(), backward=False)):
        way, limit = (quietly(run.architecture, method) for method in ("table", "asymptotic"))
        parts.append(
            {
                "placement": float(number),
                "layer": np.arange(scale.placement.layers + 1.0),
                "cosine": way.cosine,
                "cosine_limit": limit.cosine,
                "cosine_simulated": run.mean.cosine,
                "cosine_simulated_stderr": run.stderr.cosine,
                "norm": way.norm,
                "norm_simulated": run.mean.norm,
            }
        )
    return {"measured": stacked("placement", "Where LayerNorm stands", parts)}


@_kept_in_its_file
def gradients(scale: SignalScale) -> dict[str, Table]:
    """Return the query weights' gradient of one layer against beta."""
    betas = np.linspace(0.05, 3, scale.betas)
    return {"measured": gradients_of(scale.gradients, betas, scale.seeds())}


@_kept_in_its_file
def trainability(scale: SignalScale) -> dict[str, Table]:
    """Return a trainability diagram, and the classes of networks run at some of its points."""
    betas, skips = scale.points
    points = diagram_of(scale.diagram, betas, skips)
    networks = [
        replace(scale.diagram, beta=row["beta"], attention_skip=row["skip"], mlp_skip=row["skip"])
        for row in points.records()
    ]
    runs = simulate_each(networks, scale.seeds())
    columns = {
        "beta": points["beta"],
        "skip": points["skip"],
        "predicted": points["outcome"],
        "outcome": np.array([float(OUTCOMES.index(observed(run))) for run in runs]),
        "cosine_predicted": points["cosine"],
        "cosine": np.array([run.mean.cosine[-1] for run in runs]),
        "cosine_stderr": np.array([run.stderr.cosine[-1] for run in runs]),
    }
    spans = (np.linspace(low, most[-1] + 0.3, 60) for low, most in ((0.1, betas), (0.3, skips)))
    measured = Table("networks", "Networks at points of the diagram", columns)
    return {"diagram": diagram_of(scale.diagram, *spans), "measured": measured}


def training(results: Results) -> dict[str, Table]:
    """Return a trainability diagram, and what training came to at some of its points."""
    course = results.plan.course
    path = results.out / "signal" / "training.json"
    return stored(path, repr(course), 0, lambda: trained(course))


def trained(course: TrainingCourse) -> dict[str, Table]:
    """Train every model of a course, by as many processes as ``joblib.parallel_config`` says."""
    pairs = product(course.points, range(course.seeds))
    runs = Parallel()(
        delayed(_trained)(course.at(point), seed, course.steps) for point, seed in pairs
    )
    rows = []
    for place, (beta, skip) in enumerate(course.points):
        own = runs[place * course.seeds : (place + 1) * course.seeds]
        # Half way is NaN where a model never got there.
        mean = {name: float(np.mean([run[name] for run in own])) for name in own[0]}
        start = min(max(mean["cosine_start"], 0.0), 1 - 1e-9)
        theory = quietly(replace(course.at((beta, skip)), cosine=start))
        place_and_theory = {
            "beta": beta,
            "skip": skip,
            "predicted": float(OUTCOMES.index(theory.outcome)),
            "cosine": float(theory.cosine[-1]),
        }
        loss = Estimate.of_mean(np.array([run["loss"] for run in own]))
        rows.append({**place_and_theory, **mean, "loss_stderr": loss.stderr})
    sizes = {"steps": float(course.steps), "seeds": float(course.seeds)}
    measured = stacked("training", "Models trained from points of the diagram", rows, **sizes)
    start = float(np.mean([row["cosine_start"] for row in rows]))
    model = replace(course.model, cosine=start)
    diagram = diagram_of(model, np.linspace(0.1, 4.6, 60), np.linspace(0.4, 4.2, 60))
    return {"diagram": diagram, "measured": measured}


def _trained(model: Architecture, seed: int, steps: int) -> dict[str, float]:
    import torch

    from simonides.signal.models.training import TrainingSchedule, train

    before = torch.get_num_threads()
    torch.set_num_threads(1)  # matrices so small are slower on two
    try:
        run = train(model, seed, TrainingSchedule(steps=steps))
    finally:
        torch.set_num_threads(before)
    below = (step for step, loss in enumerate(run.history) if loss < run.guessing / 2)
    return {
        "loss": run.loss,
        "guessing": run.guessing,
        "cosine_start": run.cosine,
        "halfway": float(next(below, math.nan)),
        "first_gradient": run.gradient,
    }


_figure = partial(PaperFigure, needs=(), topic="signal")

FIGURES = (
    _figure(
        "signal-depth",
        "Cosine through depth, below and above the critical beta",
        "Post-norm blocks at the gains of the paper's first figure: theory at finite size and in the "
        "limit of many tokens, and random networks. Weak scores let attention average, and tokens "
        "collapse; strong ones delay it, at the price of frozen attention.",
        tables=depth,
        picture=lambda tables: pictures.depth(tables["measured"]),
    ),
    _figure(
        "signal-skip",
        "Cosine after the last block against the skip",
        "Post-norm attention without MLP, scores weak. The critical skip is the weakest that keeps the "
        "cosine below the target: in the limit each block multiplies the odds c/(1 − c) by 1 + σ²/α².",
        tables=skip,
        picture=pictures.skip,
    ),
    _figure(
        "signal-placement",
        "Where LayerNorm stands, and gain-controlled attention",
        "The same blocks with LayerNorm after or before each sum, and with attention weights less 1/T "
        "(centred, the paper's gain control). Lines are finite-size theory, marks networks.",
        tables=placement,
        picture=pictures.placement_with_networks,
    ),
    _figure(
        "signal-gradients",
        "Gradient of the query weights against beta",
        "One layer on independent tokens, loss averaged over them. The limit vanishes below the "
        "critical beta; at finite size gradients do not, because preferred keys lean towards their "
        "query.",
        tables=gradients,
        picture=lambda tables: pictures.gradients(tables["measured"]),
    ),
    _figure(
        "signal-trainability",
        "Trainability diagram, and networks at some of its points",
        "Fields are the predicted classes, marks networks that were run forward and back, in the "
        "colour and shape of the class measured in them: from their cosine, the entropy of their "
        "attention, and their gradients. Lines are those of equal predicted cosine.",
        tables=trainability,
        picture=pictures.trainability_with_networks,
    ),
    _figure(
        "signal-training",
        "What training comes to, over the diagram",
        "A small BERT-style model restores Python's help text, of which 15% of the characters are "
        "hidden. Numbers are the loss on unseen text, means over seeds, at the points they stand by: "
        "collapsed models do no better than guessing by frequency. Entropy collapse is a warning more "
        "than a verdict: a strong skip carries characters past frozen attention, only later.",
        tables=training,
        picture=pictures.training,
        extra="torch",
    ),
)
"""The figures of this paper, as the catalogue of the reproduction joins them."""
