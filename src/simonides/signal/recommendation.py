"""How to initialise: scales that keep tokens apart and attention spread, layer by layer."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simonides import arguments
from simonides.arrays import Reals, Truths
from simonides.signal.critical import critical_beta, std_of_beta
from simonides.signal.maps.architecture import Architecture, check_architecture
from simonides.signal.maps.forward import Gains, run
from simonides.signal.notes import PoorTheoryWarning
from simonides.signal.propagation import Propagation, propagate, statistics_of

_SKIPS, _WEAKNESSES = (1e-3, 1e4), (1.0, 1e8)
"""Ends of the search: none to speak of, and what changes the stream by 1e-8 of its square in a block."""

_CANDIDATES, _ROUNDS = 33, 4
"""Values tried at once, and how often the gap between two is cut in 32: the edge within 2e-5."""

_CLOSE = 1e-6
"""Relative change of a beta that no longer matters."""

_WRITING = ("value_variance", "value_bias_variance", "mlp_out_variance")
"""What branches write to the stream with; the MLP's bias is one variance for both of its layers."""


@dataclass(frozen=True)
class Initialisation:
    """An architecture's recommended scales and what they lead to.

    Attributes
    ----------
    propagation : Propagation
        The way through the recommended ``architecture``: one beta for all layers, and the weakest skip
        (post-norm) or the strongest branches (pre-norm) for which the cosine stays below the target.
    beta_critical : float
        Of the layer where tokens have least in common: the first, unless the cosine falls with depth.
    layer_beta, layer_std : array
        The same fraction of each layer's own critical value, as it is with these betas.
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
        network = self.architecture
        return std_of_beta(network.beta, network.dim, network.tokens)


def recommend(
    architecture: Architecture, *, safety: float = 0.5, target: float = 0.9
) -> Initialisation:
    """Recommend scales of weights and skips that keep tokens apart and attention spread.

    Post-norm strengthens the skip: with a LayerNorm after every sum only the ratio of skip and branch
    matters. Pre-norm keeps a skip of 1, whose stream would otherwise grow without bound, and scales down
    what the branches write (``value_variance`` and its bias, ``mlp_out_variance``).

    Parameters
    ----------
    architecture : Architecture
        Its own beta and skips are replaced.
    safety : float
        Fraction of the critical beta to use.
    target : float
        Largest cosine allowed after the last layer.

    Returns
    -------
    Initialisation

    Raises
    ------
    BadArgumentError
        If no skip or branch leads to the target.

    Examples
    --------
    >>> from simonides.signal import Architecture
    >>> advice = recommend(Architecture(tokens=16, dim=64, layers=6))  # a table takes seconds
    >>> round(advice.architecture.beta, 3), round(advice.std, 3)
    (0.745, 0.139)
    """
    check_architecture(architecture)
    safety = arguments.fraction("safety", safety, remedy="pass a fraction, 0.5 by default")
    remedy = "it lies between the cosine of the input and 1"
    target = arguments.between("target", target, architecture.cosine, 1, remedy=remedy)
    critical = critical_beta(architecture.cosine)
    way = _at(architecture, safety * critical, target)
    while (lowest := float(way.beta_critical.min())) < critical * (1 - _CLOSE):
        # Tokens part with depth, so that a later layer freezes first.
        critical = max(lowest * (1 - _CLOSE), critical_beta(0.0))
        way = _at(architecture, safety * critical, target)
    dim, tokens = architecture.dim, architecture.tokens
    layer_beta = _of_layers(way, safety)
    layer_std = np.array([std_of_beta(beta, dim, tokens) for beta in layer_beta])
    return Initialisation(way, critical, layer_beta, layer_std)


def _at(architecture: Architecture, beta: float, target: float) -> Propagation:
    """Return the way through the network with this beta, and what keeps its cosine below a target.

    That is the weakest common skip after which it normalises, and else the strongest branches.
    """
    scaled, ends = replace(architecture, beta=beta), _SKIPS
    if architecture.norm == "pre":
        scaled, ends = replace(scaled, attention_skip=1.0, mlp_skip=1.0), _WEAKNESSES

    def changes(value: Any) -> dict[str, Any]:
        if architecture.norm == "post":
            return {"attention_skip": value, "mlp_skip": value}
        return {name: 1 / value * getattr(scaled, name) for name in _WRITING}

    def fits(values: Reals) -> Truths:
        gains, statistics = Gains.of(scaled, changes(values)), statistics_of(scaled, "table")
        return run(scaled, gains, statistics)[-1].relative >= 1 - target

    return propagate(replace(scaled, **changes(_edge(fits, *ends, target))), method="table")


def _of_layers(way: Propagation, safety: float) -> Reals:
    """Return the betas that are the same fraction of each layer's critical value.

    A layer's critical value depends on the betas before it, so each round settles one layer more.
    """
    architecture, betas = way.architecture, safety * way.beta_critical
    for _ in range(architecture.layers):
        before = betas
        # What theory is poor at was said of the network recommended.
        with warnings.catch_warnings(action="ignore", category=PoorTheoryWarning):
            way = propagate(architecture, betas=betas.tolist(), method="table")
        betas = safety * way.beta_critical
        if np.allclose(betas, before, rtol=_CLOSE):
            break
    return betas


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
