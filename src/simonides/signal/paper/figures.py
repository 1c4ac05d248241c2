"""Signal propagation, redone: networks run at a plan's scale, kept beside the sweeps, and read as tables.

Each figure's networks are run once and kept as one file in ``signal/``; asked again, the same settings
are read from there.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.curves.table import Table, stacked
from simonides.reproduction.figure import PaperFigure
from simonides.reproduction.kept_tables import kept
from simonides.signal.critical import critical_residual
from simonides.signal.diagram import trainability_diagram
from simonides.signal.networks.observables import observed
from simonides.signal.networks.simulation import simulate_each
from simonides.signal.notes import PoorTheoryWarning
from simonides.signal.outcome import OUTCOMES
from simonides.signal.paper import learning, pictures
from simonides.signal.paper.curves import (
    PLACEMENTS,
    depth_of,
    diagram_table,
    gradients_of,
)
from simonides.signal.propagation import propagate

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.reproduction.results import Results
    from simonides.signal.maps.architecture import Architecture
    from simonides.signal.paper.scales import SignalScale

TARGET = 0.9
"""Cosine that the critical skip is to keep after the last block."""

BELOW, ABOVE = 0.5, 3.0
"""Beta below and above freezing, as in the paper's first figure."""


def depth(results: Results) -> dict[str, Table]:
    """Return the cosine through depth below and above freezing, and the first block's attention."""
    return _kept(results, "depth", _depth)


def skip(results: Results) -> dict[str, Table]:
    """Return the cosine after the last block against the skip, attention alone."""
    return _kept(results, "skip", _skip)


def placement(results: Results) -> dict[str, Table]:
    """Return the cosine through depth for each place of the LayerNorm, plain and centred."""
    return _kept(results, "placement", _placement)


def gradients(results: Results) -> dict[str, Table]:
    """Return the query weights' gradient of one layer against beta."""
    return _kept(results, "gradients", _gradients)


def trainability(results: Results) -> dict[str, Table]:
    """Return a trainability diagram, and the classes of networks run at some of its points."""
    return _kept(results, "trainability", _trainability)


def _depth(scale: SignalScale) -> dict[str, Table]:
    rows = []
    networks = [replace(scale.depth, beta=beta, layers=1) for beta in (BELOW, ABOVE)]
    for run in simulate_each(networks, scale.seeds(4), backward=False):
        asked = run.architecture
        exact, limit = propagate(asked), _limit(asked)
        rows.append(
            {
                "beta": asked.beta,
                "participation": float(run.mean.participation[0]),
                "participation_stderr": float(run.stderr.participation[0]),
                "participation_theory": float(exact.participation[0]),
                "participation_limit": float(limit.participation[0]),
                "entropy": float(run.mean.entropy[0]) / math.log(asked.tokens),
                "entropy_stderr": float(run.stderr.entropy[0]) / math.log(asked.tokens),
                "entropy_theory": float(exact.entropy_fraction[0]),
                "entropy_limit": float(limit.entropy_fraction[0]),
            }
        )
    attention = stacked("attention", "Attention of the first block", rows)
    return {"measured": depth_of(scale.depth, scale.seeds()), "attention": attention}


def _skip(scale: SignalScale) -> dict[str, Table]:
    asked = scale.skip
    critical = critical_residual(asked.layers, cosine=asked.cosine, target=TARGET)
    networks = [
        replace(asked, attention_skip=share * critical)
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
    skips = np.linspace(0.3, 2.1, 37) * critical
    curve = [
        {
            "skip": float(value),
            "cosine": float(_table(replace(asked, attention_skip=float(value))).cosine[-1]),
            "cosine_limit": _by_odds(asked, float(value)),
        }
        for value in skips
    ]
    sizes = {"layers": float(asked.layers), "critical": critical, "target": TARGET}
    title = f"Cosine after {asked.layers} blocks of attention"
    return {
        "measured": stacked("skip", title, rows, **sizes),
        "theory": stacked("skip", title, curve, **sizes),
    }


def _by_odds(asked: Architecture, skip: float) -> float:
    """Return the cosine after all blocks when each multiplies its odds by 1 + σ²/α²."""
    grown = asked.layers * math.log1p(asked.value_variance / skip**2)
    odds = asked.cosine / (1 - asked.cosine) * math.exp(grown)
    return odds / (1 + odds)


def _placement(scale: SignalScale) -> dict[str, Table]:
    rows = []
    networks = [
        replace(scale.placement, norm=norm, centred=centred) for norm, centred in PLACEMENTS
    ]
    for number, run in enumerate(simulate_each(networks, scale.seeds(), backward=False)):
        asked = run.architecture
        found, limit = _table(asked), _limit(asked)
        for layer in range(asked.layers + 1):
            rows.append(
                {
                    "placement": float(number),
                    "layer": float(layer),
                    "cosine": float(found.cosine[layer]),
                    "cosine_limit": float(limit.cosine[layer]),
                    "cosine_simulated": float(run.mean.cosine[layer]),
                    "cosine_simulated_stderr": float(run.stderr.cosine[layer]),
                    "norm": float(found.norm[layer]),
                    "norm_simulated": float(run.mean.norm[layer]),
                }
            )
    return {"measured": stacked("placement", "Where LayerNorm stands", rows)}


def _gradients(scale: SignalScale) -> dict[str, Table]:
    betas = np.linspace(0.05, 3, scale.betas)
    return {"measured": gradients_of(scale.gradients, betas, scale.seeds())}


def _trainability(scale: SignalScale) -> dict[str, Table]:
    betas, skips = scale.points
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorTheoryWarning)  # networks stand beside it
        diagram = trainability_diagram(
            scale.diagram,
            ("beta", np.linspace(0.1, betas[-1] + 0.3, 60)),
            ("skip", np.linspace(0.3, skips[-1] + 0.3, 60)),
        )
        chosen = trainability_diagram(scale.diagram, ("beta", betas), ("skip", skips))
    networks = [
        replace(scale.diagram, beta=beta, attention_skip=strength, mlp_skip=strength)
        for strength, beta in product(skips, betas)
    ]
    rows = [
        {
            "beta": run.architecture.beta,
            "skip": run.architecture.attention_skip,
            "predicted": float(predicted),
            "outcome": float(OUTCOMES.index(observed(run))),
            "cosine_predicted": float(cosine),
            "cosine": float(run.mean.cosine[-1]),
            "cosine_stderr": float(run.stderr.cosine[-1]),
        }
        for run, predicted, cosine in zip(
            simulate_each(networks, scale.seeds()),
            chosen.outcome.ravel(),
            chosen.cosine.ravel(),
            strict=True,
        )
    ]
    return {
        "diagram": diagram_table(diagram),
        "measured": stacked("networks", "Networks at points of the diagram", rows),
    }


def _limit(asked: Architecture) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorTheoryWarning)  # it is shown to be compared
        return propagate(asked, method="asymptotic")


def _table(asked: Architecture) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorTheoryWarning)  # networks stand beside it
        return propagate(asked, method="table")


def _kept(
    results: Results, name: str, compute: Callable[[SignalScale], dict[str, Table]]
) -> dict[str, Table]:
    scale = results.plan.signal
    path = results.out / "signal" / f"{name}.json"
    return kept(path, repr(scale), scale.seed, lambda: compute(scale))


FIGURES = (
    PaperFigure(
        "signal-depth",
        "Cosine through depth, below and above the critical beta",
        "Post-norm blocks at the gains of the paper's first figure: theory at finite size and in the "
        "limit of many tokens, and random networks. Weak scores let attention average, and tokens "
        "collapse; strong ones delay it, at the price of frozen attention.",
        (),
        depth,
        pictures.depth,
        "signal",
    ),
    PaperFigure(
        "signal-skip",
        "Cosine after the last block against the skip",
        "Post-norm attention without MLP, scores weak. The critical skip is the weakest that keeps the "
        "cosine below the target: in the limit each block multiplies the odds c/(1 − c) by 1 + σ²/α².",
        (),
        skip,
        pictures.skip,
        "signal",
    ),
    PaperFigure(
        "signal-placement",
        "Where LayerNorm stands, and gain-controlled attention",
        "The same blocks with LayerNorm after or before each sum, and with attention weights less 1/T "
        "(centred, the paper's gain control). Lines are finite-size theory, marks networks.",
        (),
        placement,
        pictures.placement,
        "signal",
    ),
    PaperFigure(
        "signal-gradients",
        "Gradient of the query weights against beta",
        "One layer on independent tokens, loss averaged over them. The limit vanishes below the "
        "critical beta; at finite size gradients do not, because preferred keys lean towards their "
        "query.",
        (),
        gradients,
        pictures.gradients,
        "signal",
    ),
    PaperFigure(
        "signal-trainability",
        "Trainability diagram, and networks at some of its points",
        "Fields are the predicted classes, marks networks that were run forward and back, in the "
        "colour and shape of the class measured in them: from their cosine, the entropy of their "
        "attention, and their gradients. Lines are those of equal predicted cosine.",
        (),
        trainability,
        pictures.trainability,
        "signal",
    ),
    PaperFigure(
        "signal-training",
        "What training comes to, over the diagram",
        "A small BERT-style model restores Python's help text, of which 15% of the characters are "
        "hidden. Numbers are the loss on unseen text, means over seeds, at the points they stand by: "
        "collapsed models do no better than guessing by frequency. Entropy collapse is a warning more "
        "than a verdict: a strong skip carries characters past frozen attention, only later.",
        (),
        learning.training,
        pictures.training,
        "signal",
        extra="torch",
    ),
)
"""The figures of this paper, as the catalogue of the reproduction joins them."""
