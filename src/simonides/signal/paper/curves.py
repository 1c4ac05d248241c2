"""Curves of signals in transformers: attention, depth, LayerNorm, gradients, trainability."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from simonides.curves.curve import Curve
from simonides.curves.table import Table, stacked
from simonides.signal.attention.asymptotic import asymptotic_statistics
from simonides.signal.attention.softmax import row_moments
from simonides.signal.diagram import trainability_diagram
from simonides.signal.maps.architecture import Architecture, Norm
from simonides.signal.networks.simulation import simulate_each
from simonides.signal.notes import PoorTheoryWarning
from simonides.signal.paper import curve_pictures as pictures
from simonides.signal.paper.scales import FIRST_FIGURE, PLACEMENT
from simonides.signal.propagation import propagate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from simonides.signal.diagram import Diagram
    from simonides.signal.models.measurement import ModelMeasurement
    from simonides.signal.propagation import Method, Propagation

_TOKENS = (64, 512, 8192)
_SEEDS = range(4)

PLACEMENTS: tuple[tuple[Norm, bool], ...] = (
    ("post", False),
    ("pre", False),
    ("post", True),
    ("pre", True),
)
BETAS = (0.5, 3.0)


def attention(_dim: int) -> Table:
    """Return participation and entropy of attention against beta, exact and in the limit."""
    rows = []
    for tokens in _TOKENS:
        limit = asymptotic_statistics(tokens)
        for beta in np.linspace(0.05, 4, 60):
            variance = float(beta**2) * math.log(tokens)
            found = row_moments(variance, tokens)
            far = limit(np.array(variance), np.array(0.0))
            rows.append(
                {
                    "tokens": float(tokens),
                    "beta": float(beta),
                    "participation": found.participation,
                    "participation_limit": float(far.participation),
                    "entropy_fraction": found.entropy / math.log(tokens),
                    "entropy_fraction_limit": float(far.entropy) / math.log(tokens),
                }
            )
    return stacked("attention", "Attention freezes slowly", rows, critical=math.sqrt(2))


def depth(_dim: int) -> Table:
    """Return the cosine through depth below and above the critical beta, at a small size."""
    small = replace(FIRST_FIGURE, tokens=128, dim=256, hidden=256, layers=30)
    return depth_of(small, _SEEDS)


def depth_of(architecture: Architecture, seeds: range) -> Table:
    """Return theory, its limit and simulated networks through depth, at two betas."""
    rows = []
    networks = [replace(architecture, beta=beta) for beta in BETAS]
    for run in simulate_each(networks, seeds, backward=False):
        asked = run.architecture
        exact, limit = propagate(asked), _limit(asked)
        for layer in range(asked.layers + 1):
            rows.append(
                {
                    "beta": asked.beta,
                    "layer": float(layer),
                    "cosine": float(exact.cosine[layer]),
                    "cosine_limit": float(limit.cosine[layer]),
                    "cosine_simulated": float(run.mean.cosine[layer]),
                    "cosine_simulated_stderr": float(run.stderr.cosine[layer]),
                }
            )
    sizes = {name: float(getattr(architecture, name)) for name in ("tokens", "dim", "layers")}
    return stacked("depth", "Tokens align with depth", rows, **sizes, networks=float(len(seeds)))


def placement(_dim: int) -> Table:
    """Return the cosine through depth for each place of the LayerNorm, plain and centred."""
    rows = []
    for number, (norm, centred) in enumerate(PLACEMENTS):
        asked = replace(PLACEMENT, norm=norm, centred=centred)
        found = propagate(asked)
        for layer in range(asked.layers + 1):
            rows.append(
                {
                    "placement": float(number),
                    "layer": float(layer),
                    "cosine": float(found.cosine[layer]),
                    "norm": float(found.norm[layer]),
                }
            )
    return stacked("placement", "Where LayerNorm stands", rows)


def gradients(_dim: int) -> Table:
    """Return the query weights' gradient of one layer against beta, and simulated networks."""
    return gradients_of(((128, 256), (256, 512)), np.linspace(0.1, 3, 15), _SEEDS)


def gradients_of(sizes: Sequence[tuple[int, int]], betas: Iterable[float], seeds: range) -> Table:
    """Return theory, its limit and simulated networks at dimensions and tokens, for each beta."""
    rows = []
    networks = [
        one_layer(dim, tokens, float(beta)) for (dim, tokens), beta in product(sizes, betas)
    ]
    for run in simulate_each(networks, seeds):
        asked = run.architecture
        dim, tokens = asked.dim, asked.tokens
        scale = float(tokens**2 * dim**2) * math.sqrt(math.log(tokens)) / tokens
        rows.append(
            {
                "dim": float(dim),
                "tokens": float(tokens),
                "beta": asked.beta,
                "query": float(_quiet(asked).gradients.query[0]) / scale,
                "query_limit": float(_limit(asked).gradients.query[0]) / scale,
                "query_simulated": float(run.mean.query[0]) / scale,
                "query_simulated_stderr": float(run.stderr.query[0]) / scale,
            }
        )
    return gradients_table(rows)


def gradients_table(rows: list[dict[str, float]]) -> Table:
    """Return rows of gradients as the table their picture reads."""
    return stacked("gradients", "Gradients of the query weights", rows, critical=math.sqrt(2))


def one_layer(dim: int, tokens: int, beta: float) -> Architecture:
    """Return attention alone on independent tokens: the setting of the paper's gradient figure."""
    return Architecture(
        tokens=tokens,
        dim=dim,
        layers=1,
        activation=None,
        norm="pre",
        attention_skip=0.0,
        cosine=0.0,
        beta=beta,
    )


def trainability(_dim: int) -> Table:
    """Return a trainability diagram over beta and skip, post-norm."""
    asked = Architecture(tokens=512, dim=768, layers=24, heads=12, activation="gelu")
    return diagram_of(asked, np.linspace(0.1, 4, 60), np.linspace(0.3, 5, 60))


def diagram_of(architecture: Architecture, betas: Iterable[float], skips: Iterable[float]) -> Table:
    """Return a diagram over beta and skip; what is drawn with it says where theory is poor."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorTheoryWarning)
        found = trainability_diagram(architecture, ("beta", betas), ("skip", skips))
    return diagram_table(found)


def diagram_table(found: Diagram) -> Table:
    """Return a diagram as a table: one row for each point."""
    y, x = np.meshgrid(found.y_axis.values, found.x_axis.values, indexing="ij")
    columns = {
        found.x_axis.name: x.ravel(),
        found.y_axis.name: y.ravel(),
        "outcome": found.outcome.ravel().astype(float),
        "cosine": found.cosine.ravel(),
        "least_entropy": found.least_entropy.ravel(),
        "gradient": found.gradient.ravel(),
    }
    asked = found.architecture
    title = f"Trainability of {asked.layers} {asked.norm}-norm blocks, {asked.tokens:,} tokens"
    return Table("trainability", title, columns, {"columns": x.shape[1], "rows": x.shape[0]})


def propagation_table(found: Propagation) -> Table:
    """Return a propagation as a table: one row for each block."""
    asked = found.architecture
    columns = {
        "layer": np.arange(1.0, asked.layers + 1),
        "cosine": found.cosine[1:],
        "norm": found.norm[1:],
        "entropy_fraction": found.entropy_fraction,
        "participation": found.participation,
        "beta": found.beta,
        "beta_critical": found.beta_critical,
        "gradient": found.gradients.tokens[:-1],
        "query_gradient": found.gradients.query,
        "value_gradient": found.gradients.value,
    }
    title = f"{asked.layers} {asked.norm}-norm blocks, {asked.tokens:,} tokens: {found.outcome}"
    return Table("propagation", title, columns, {"cosine_start": asked.cosine})


def measurement_table(found: ModelMeasurement, title: str) -> Table:
    """Return what was measured in a model as a table: one row for each block, theory where there is one."""
    even = math.log(found.tokens)
    columns = {
        "layer": np.arange(1.0, found.entropy.size + 1),
        "cosine": found.cosine[1:],
        "entropy_fraction": found.entropy / even,
        "participation": found.participation,
    }
    if found.theory is not None:
        columns |= {
            "cosine_theory": found.theory.cosine[1:],
            "entropy_fraction_theory": found.theory.entropy_fraction,
            "participation_theory": found.theory.participation,
        }
    return Table("measured", title, columns, {"cosine_start": float(found.cosine[0])})


def _limit(architecture: Architecture) -> Propagation:
    return _quiet(architecture, method="asymptotic")


def _quiet(architecture: Architecture, method: Method = "exact") -> Propagation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorTheoryWarning)  # it is drawn to be compared
        return propagate(architecture, method=method)


CURVES = (
    Curve(
        "attention",
        "When does attention freeze?",
        "A row of attention weights is a Random Energy Model: as scores grow stronger it condenses on "
        "few keys. The sharp transition of infinitely many tokens (dotted) is a wide crossover at every "
        "number of tokens in use, which is why all predictions here are made at finite size.",
        attention,
        pictures.attention,
    ),
    Curve(
        "depth",
        "How do tokens align with depth?",
        "Cosine of two tokens through post-norm blocks, below and above the critical beta: lines are "
        "theory, dots random networks. Weak scores let attention average, and tokens collapse onto one "
        "direction within tens of layers; strong ones delay it, at the price of frozen attention.",
        depth,
        pictures.depth,
    ),
    Curve(
        "placement",
        "What does the place of LayerNorm change?",
        "The same blocks with LayerNorm after or before each sum, and with attention weights less 1/T "
        "(centred). Pre-norm turns exponential collapse into a power law; centring removes the common "
        "direction that collapse feeds on.",
        placement,
        pictures.placement,
    ),
    Curve(
        "gradients",
        "When do query weights learn?",
        "Squared gradient of the query weights of one layer on independent tokens. Far below the critical "
        "beta it would vanish for infinitely many tokens and dimensions; at finite size it stays above "
        "zero, because preferred keys lean towards their query.",
        gradients,
        pictures.gradients,
    ),
    Curve(
        "trainability",
        "Which initialisations train?",
        "What becomes of 24 post-norm blocks for each strength of scores and skip, with lines of equal "
        "cosine after the last block. Entropy collapse is a warning more than a verdict: a strong skip "
        "can hide it, and the theory is least exact where attention is frozen and the skip weak.",
        trainability,
        pictures.trainability,
    ),
)
"""The curves of this paper, as the catalogue of curves joins them."""
