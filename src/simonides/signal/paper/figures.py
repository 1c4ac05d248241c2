"""Signal propagation, redone: networks run at a plan's scale, kept beside the sweeps, and read as tables.

Each figure's networks are run once and kept as one file in ``signal/``; asked again, the same settings
are read from there.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from simonides.curves.table import Table, stacked
from simonides.reproduction.kept_tables import kept
from simonides.signal.critical import critical_residual
from simonides.signal.diagram import trainability_diagram
from simonides.signal.maps.architecture import Architecture
from simonides.signal.networks.averages import observed
from simonides.signal.networks.simulation import simulate_each
from simonides.signal.notes import PoorTheoryWarning
from simonides.signal.outcome import OUTCOMES
from simonides.signal.paper.curves import (
    FIRST_FIGURE,
    PLACEMENT,
    PLACEMENTS,
    depth_of,
    diagram_table,
    gradients_of,
)
from simonides.signal.propagation import propagate

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.reproduction.results import Results

TARGET = 0.9
"""Cosine that the critical skip is to keep after the last block."""

BELOW, ABOVE = 0.5, 3.0
"""Beta below and above freezing, as in the paper's first figure."""


@dataclass(frozen=True)
class Scale:
    """Sizes of the networks of one plan, and how many are run."""

    depth: Architecture
    skip: Architecture
    placement: Architecture
    gradients: tuple[tuple[int, int], ...]
    betas: int
    diagram: Architecture
    points: tuple[tuple[float, ...], tuple[float, ...]]
    networks: int
    seed: int = 0

    def seeds(self, times: int = 1) -> range:
        """Return the networks' seeds, for ``times`` as many of them as usual."""
        return range(self.seed, self.seed + times * self.networks)


_SKIP = Architecture(tokens=128, dim=192, layers=12, activation=None, beta=0.3, cosine=0.1)
_DIAGRAM = Architecture(tokens=128, dim=192, layers=12, hidden=192, cosine=0.1)

SCALES = {
    "quick": Scale(
        depth=replace(FIRST_FIGURE, tokens=128, dim=192, hidden=192, layers=30),
        skip=_SKIP,
        placement=replace(PLACEMENT, tokens=128, dim=128, hidden=128),
        gradients=((96, 192), (192, 384)),
        betas=8,
        diagram=replace(_DIAGRAM, dim=128, hidden=128),
        points=((0.4, 1.0, 2.2, 3.6), (0.7, 2.2, 3.5)),
        networks=3,
    ),
    "full": Scale(
        depth=FIRST_FIGURE,
        skip=replace(_SKIP, tokens=256, dim=512, layers=24),
        placement=PLACEMENT,
        gradients=((256, 2048), (512, 2048)),
        betas=15,
        diagram=replace(_DIAGRAM, layers=24),
        points=(
            (0.3, 0.8, 1.3, 1.9, 2.4, 2.9, 3.5, 4.0),
            (0.5, 0.8, 1.2, 1.7, 2.3, 3.0, 4.0),
        ),
        networks=3,
    ),
}
"""By the name of the plan; the full one has the paper's sizes, gradients aside."""


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


def _depth(scale: Scale) -> dict[str, Table]:
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


def _skip(scale: Scale) -> dict[str, Table]:
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


def _placement(scale: Scale) -> dict[str, Table]:
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


def _gradients(scale: Scale) -> dict[str, Table]:
    betas = np.linspace(0.05, 3, scale.betas)
    return {"measured": gradients_of(scale.gradients, betas, scale.seeds())}


def _trainability(scale: Scale) -> dict[str, Table]:
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
    results: Results, name: str, compute: Callable[[Scale], dict[str, Table]]
) -> dict[str, Table]:
    scale = SCALES[results.plan.name]
    path = results.out / "signal" / f"{name}.json"
    return kept(path, repr(scale), scale.seed, lambda: compute(scale))
