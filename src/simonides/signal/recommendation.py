"""How to initialise: scales that keep tokens apart and attention spread, layer by layer."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.signal.critical import critical_beta, std_of_beta
from simonides.signal.maps.forward import Gains, run
from simonides.signal.notes import PoorTheoryWarning
from simonides.signal.propagation import Propagation, propagate, statistics_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from simonides.arrays import Reals, Truths
    from simonides.signal.maps.architecture import Architecture

SAFETY = 0.5
TARGET = 0.9
_STRONGEST_SKIP = 1e4
_WEAKEST_BRANCH = 1e-8
_CANDIDATES, _ROUNDS = 33, 4
_CLOSE = 1e-6
_WRITING = ("value_variance", "value_bias_variance", "mlp_out_variance")
"""What branches write to the stream with; the MLP's bias is one variance for both of its layers."""


@dataclass(frozen=True)
class Recommendation:
    """An architecture's recommended scales and what they lead to.

    ``propagation.architecture`` carries them: one beta for all layers, and the weakest skip (post-norm)
    or the strongest branches (pre-norm) for which the cosine stays below the target. ``beta_critical``
    is that of the most exposed layer, where tokens have least in common: the first, unless the cosine
    falls with depth. ``layer_beta`` and ``layer_std`` use the same fraction of each layer's own
    critical value, as it is with these betas.
    """

    propagation: Propagation
    beta_critical: float
    layer_beta: Reals
    layer_std: Reals

    @property
    def architecture(self) -> Architecture:
        """Return the recommended architecture."""
        return self.propagation.architecture

    @property
    def std(self) -> float:
        """Return the standard deviation of query and key weights."""
        asked = self.architecture
        return std_of_beta(asked.beta, asked.dim, asked.tokens)


def recommend(
    architecture: Architecture, *, safety: float = SAFETY, target: float = TARGET
) -> Recommendation:
    """Return scales for an architecture; its own beta and skips are replaced.

    ``safety`` is the fraction of the critical beta used, ``target`` the largest cosine allowed after
    the last layer. Post-norm strengthens the skip: with a LayerNorm after every sum only the ratio of
    skip and branch matters. Pre-norm keeps a skip of 1, whose stream would otherwise grow without
    bound, and scales down what the branches write (``value_variance`` and its bias,
    ``mlp_out_variance``).
    """
    safety = arguments.real(
        "safety", safety, least=0, most=1, open_least=True, remedy="pass a fraction, 0.5 by default"
    )
    target = arguments.real(
        "target",
        target,
        least=architecture.cosine,
        most=1,
        open_least=True,
        open_most=True,
        remedy="it lies between the cosine of the input and 1",
    )
    critical = critical_beta(architecture.cosine)
    found = _at(architecture, safety * critical, target)
    while (lowest := float(found.beta_critical.min())) < critical * (1 - _CLOSE):
        # Tokens part with depth, so that a later layer freezes first.
        critical = max(lowest * (1 - _CLOSE), critical_beta(0.0))
        found = _at(architecture, safety * critical, target)
    asked = found.architecture
    layer_beta = _of_layers(found, safety)
    layer_std = np.array([std_of_beta(beta, asked.dim, asked.tokens) for beta in layer_beta])
    return Recommendation(found, critical, layer_beta, layer_std)


def _at(architecture: Architecture, beta: float, target: float) -> Propagation:
    """Return the way through the network with this beta, and what keeps its cosine below a target."""
    asked = replace(architecture, beta=beta)
    if architecture.norm == "post":
        skip = _weakest_skip(asked, target)
        return propagate(replace(asked, attention_skip=skip, mlp_skip=skip), method="table")
    asked = replace(asked, attention_skip=1.0, mlp_skip=1.0)
    scale = _strongest_branch(asked, target)
    asked = replace(asked, **{name: scale * getattr(asked, name) for name in _WRITING})
    return propagate(asked, method="table")


def _of_layers(found: Propagation, safety: float) -> Reals:
    """Return the betas that are the same fraction of each layer's critical value.

    A layer's critical value depends on the betas before it, so each round settles one layer more.
    """
    betas = safety * found.beta_critical
    for _ in range(found.architecture.layers):
        before = betas
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PoorTheoryWarning)  # said of the network recommended
            way = propagate(found.architecture, betas=betas.tolist(), method="table")
        betas = safety * way.beta_critical
        if np.allclose(betas, before, rtol=_CLOSE):
            break
    return betas


def _weakest_skip(architecture: Architecture, target: float) -> float:
    """Return the weakest common skip that keeps the cosine below a target."""

    def fits(skips: Reals) -> Truths:
        gap = _final_gap(architecture, {"attention_skip": skips, "mlp_skip": skips})
        return gap >= 1 - target

    return _edge(fits, 1e-3, _STRONGEST_SKIP, target)


def _strongest_branch(architecture: Architecture, target: float) -> float:
    """Return the largest factor up to 1 on what branches write that keeps the cosine below a target."""

    def fits(weakness: Reals) -> Truths:
        varied = {name: getattr(architecture, name) / weakness for name in _WRITING}
        return _final_gap(architecture, varied) >= 1 - target

    return 1 / _edge(fits, 1.0, 1 / _WEAKEST_BRANCH, target)


def _final_gap(architecture: Architecture, varied: dict[str, Reals]) -> Reals:
    layers = run(architecture, Gains.of(architecture, varied), statistics_of(architecture, "table"))
    return layers[-1].relative


def _edge(fits: Callable[[Reals], Truths], low: float, high: float, target: float) -> float:
    """Return the least value that fits, everything above it fitting too."""
    if bool(fits(np.array([low]))[0]):
        return low
    for _ in range(_ROUNDS):
        values = np.geomspace(low, high, _CANDIDATES)
        good = fits(values)
        if not good[-1]:
            raise arguments.refuse(
                "target",
                target,
                "a cosine that some skip or branch leads to",
                "allow a larger one, use fewer layers, or lower mlp_bias_variance",
            )
        position = int(np.max(np.flatnonzero(~good))) + 1
        low, high = float(values[position - 1]), float(values[position])
    return high
