"""Curves of signals in transformers: attention, depth, LayerNorm, gradients, trainability."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from simonides.curves.curve import Curve
from simonides.curves.table import Table, stacked
from simonides.signal.attention.asymptotic import asymptotic_statistics
from simonides.signal.attention.softmax import row_moments
from simonides.signal.diagram import Diagram, trainability_diagram
from simonides.signal.maps.architecture import Architecture, Norm
from simonides.signal.models.measurement import ModelMeasurement
from simonides.signal.networks.simulation import simulate_each
from simonides.signal.notes import PoorTheoryWarning
from simonides.signal.paper import pictures
from simonides.signal.paper.scales import FIRST_FIGURE, PLACEMENT
from simonides.signal.propagation import Method, Propagation, propagate

_TOKENS = (64, 512, 8192)  # a short text, BERT's context, a long one: the limit is far off for all
_SEEDS = range(4)
"""Of the networks beside a curve: enough for an error bar, few enough to draw it in seconds."""

PLACEMENTS: tuple[tuple[Norm, bool], ...] = (
    *(("post", False), ("pre", False)),
    *(("post", True), ("pre", True)),
)
"""Where LayerNorm stands, and whether attention is centred."""

BETAS = BELOW, ABOVE = 0.5, 3.0
"""Beta below and above freezing, as in the paper's first figure."""


def attention(_dim: int) -> Table:
    """Return participation and entropy of attention against beta, exact and in the limit."""
    rows = []
    for tokens, beta in product(_TOKENS, np.linspace(0.05, 4, 60)):
        variance = float(beta**2) * math.log(tokens)
        exact = row_moments(variance, tokens)
        limit = asymptotic_statistics(tokens)(np.array(variance), np.array(0.0))
        rows.append(
            {
                "tokens": float(tokens),
                "beta": float(beta),
                "participation": exact.participation,
                "participation_limit": float(limit.participation),
                "entropy_fraction": exact.entropy / math.log(tokens),
                "entropy_fraction_limit": float(limit.entropy) / math.log(tokens),
            }
        )
    return stacked("attention", "Attention freezes slowly", rows, critical=math.sqrt(2))


def depth(_dim: int) -> Table:
    """Return the cosine through depth below and above the critical beta, at a small size."""
    small = replace(FIRST_FIGURE, tokens=128, dim=256, hidden=256, layers=30)
    return depth_of(small, _SEEDS)


def depth_of(architecture: Architecture, seeds: range) -> Table:
    """Return theory, its limit and simulated networks through depth, at two betas."""
    networks = [replace(architecture, beta=beta) for beta in BETAS]
    parts: list[dict[str, Any]] = [
        {
            "beta": run.architecture.beta,
            "layer": np.arange(architecture.layers + 1.0),
            "cosine": propagate(run.architecture).cosine,
            "cosine_limit": quietly(run.architecture, "asymptotic").cosine,
            "cosine_simulated": run.mean.cosine,
            "cosine_simulated_stderr": run.stderr.cosine,
        }
        for run in simulate_each(networks, seeds, backward=False)
    ]
    sizes = {name: float(getattr(architecture, name)) for name in ("tokens", "dim", "layers")}
    return stacked("depth", "Tokens align with depth", parts, **sizes, networks=float(len(seeds)))


def placement(_dim: int) -> Table:
    """Return the cosine through depth for each place of the LayerNorm, plain and centred."""
    parts: list[dict[str, Any]] = []
    for number, (norm, centred) in enumerate(PLACEMENTS):
        way = propagate(replace(PLACEMENT, norm=norm, centred=centred))
        place = {"placement": float(number), "layer": np.arange(PLACEMENT.layers + 1.0)}
        parts.append({**place, "cosine": way.cosine, "norm": way.norm})
    return stacked("placement", "Where LayerNorm stands", parts)


def gradients(_dim: int) -> Table:
    """Return the query weights' gradient of one layer against beta, and simulated networks."""
    return gradients_of(((128, 256), (256, 512)), np.linspace(0.1, 3, 15), _SEEDS)


def gradients_of(sizes: Sequence[tuple[int, int]], betas: Iterable[float], seeds: range) -> Table:
    """Return theory, its limit and simulated networks at dimensions and tokens, for each beta."""
    rows = []
    networks = [_one_layer(*size, float(beta)) for size, beta in product(sizes, betas)]
    for run in simulate_each(networks, seeds):
        dim, tokens = run.architecture.dim, run.architecture.tokens
        scale = float(tokens**2 * dim**2) * math.sqrt(math.log(tokens)) / tokens
        sources: dict[str, Any] = {
            "query": quietly(run.architecture).gradients,
            "query_limit": quietly(run.architecture, "asymptotic").gradients,
            "query_simulated": run.mean,
            "query_simulated_stderr": run.stderr,
        }
        gradients = {name: float(source.query[0]) / scale for name, source in sources.items()}
        size = {"dim": float(dim), "tokens": float(tokens), "beta": run.architecture.beta}
        rows.append({**size, **gradients})
    return gradients_table(rows)


def gradients_table(rows: list[dict[str, float]]) -> Table:
    """Return rows of gradients as the table their picture reads."""
    return stacked("gradients", "Gradients of the query weights", rows, critical=math.sqrt(2))


def _one_layer(dim: int, tokens: int, beta: float) -> Architecture:
    """Return attention alone on independent tokens: the setting of the paper's gradient figure."""
    alone: dict[str, Any] = {"activation": None, "norm": "pre", "attention_skip": 0.0}
    return Architecture(tokens=tokens, dim=dim, layers=1, cosine=0.0, beta=beta, **alone)


def trainability(_dim: int) -> Table:
    """Return a trainability diagram over beta and skip, post-norm."""
    network = Architecture(tokens=512, dim=768, layers=24, heads=12, activation="gelu")
    return diagram_of(network, np.linspace(0.1, 4, 60), np.linspace(0.3, 5, 60))


def diagram_of(architecture: Architecture, betas: Iterable[float], skips: Iterable[float]) -> Table:
    """Return a diagram over beta and skip; what is drawn with it says where theory is poor."""
    with warnings.catch_warnings(action="ignore", category=PoorTheoryWarning):
        return diagram_table(trainability_diagram(architecture, ("beta", betas), ("skip", skips)))


def diagram_table(diagram: Diagram) -> Table:
    """Return a diagram as a table: one row for each point."""
    y, x = np.meshgrid(diagram.y_axis.values, diagram.x_axis.values, indexing="ij")
    columns = {
        diagram.x_axis.name: x.ravel(),
        diagram.y_axis.name: y.ravel(),
        **{
            name: getattr(diagram, name).ravel().astype(float)
            for name in ("outcome", "cosine", "least_entropy", "gradient")
        },
    }
    title = f"Trainability of {_words(diagram.architecture)}"
    return Table("trainability", title, columns, {"columns": x.shape[1], "rows": x.shape[0]})


def _words(network: Architecture) -> str:
    return f"{network.layers} {network.norm}-norm blocks, {network.tokens:,} tokens"


def propagation_table(way: Propagation) -> Table:
    """Return a propagation as a table: one row for each block."""
    network = way.architecture
    forward = ("cosine", "norm", "entropy_fraction", "participation", "beta", "beta_critical")
    columns = {
        "layer": np.arange(1.0, network.layers + 1),
        **{name: getattr(way, name)[-network.layers :] for name in forward},
        "gradient": way.gradients.tokens[:-1],
        "query_gradient": way.gradients.query,
        "value_gradient": way.gradients.value,
    }
    title = f"{_words(network)}: {way.outcome}"
    return Table("propagation", title, columns, {"cosine_start": network.cosine})


def measurement_table(measured: ModelMeasurement, title: str) -> Table:
    """Return what was measured in a model as a table: one row for each block, theory where there is one."""
    columns = {
        "layer": np.arange(1.0, measured.entropy.size + 1),
        "cosine": measured.cosine[1:],
        "entropy_fraction": measured.entropy / math.log(measured.tokens),
        "participation": measured.participation,
    }
    if measured.theory is not None:
        names, blocks = list(columns)[1:], measured.entropy.size
        theory = {f"{name}_theory": getattr(measured.theory, name)[-blocks:] for name in names}
        columns |= theory
    return Table("measured", title, columns, {"cosine_start": float(measured.cosine[0])})


def quietly(architecture: Architecture, method: Method = "exact") -> Propagation:
    """Propagate without a warning: what is drawn beside it says where theory is poor."""
    with warnings.catch_warnings(action="ignore", category=PoorTheoryWarning):
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
