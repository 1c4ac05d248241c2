"""Random transformers, run: what theory is compared with.

Networks are drawn and run in NumPy, one block at a time; on the way back each block's weights are
drawn again from their own seed, so that depth costs no memory for weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from simonides import arguments
from simonides.signal.networks import network
from simonides.signal.networks.network import Normalised
from simonides.signal.networks.observables import (
    gradient_statistics,
    square,
    token_statistics,
    weight_statistics,
)
from simonides.threads import in_turn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simonides.arrays import Reals
    from simonides.signal.maps.architecture import Architecture

_LATE = 0.75
"""Under a causal mask, positions from this fraction of the sequence on are measured.

They see nearly as many keys as theory has; a later start leaves fewer positions to average over.
"""


@dataclass(frozen=True)
class Measured:
    """What was measured in one network, or, over several, a mean or its standard error.

    Gradients are zero if none was sent back.
    """

    cosine: Reals
    norm: Reals
    entropy: Reals
    participation: Reals
    overlap: Reals
    gradient: Reals
    coherence: Reals
    query: Reals
    key: Reals
    value: Reals


@dataclass(frozen=True)
class Simulation:
    """Means over random networks, and their standard errors.

    Attributes
    ----------
    architecture : Architecture
    networks : int
        How many were run.
    mean, stderr : Measured
        ``cosine``, ``norm``, ``gradient`` and ``coherence`` from the input to the output of the last block;
        ``entropy``, ``participation``, ``overlap`` and the squared gradients of ``query``, ``key`` and
        ``value`` weights for each block.
    """

    architecture: Architecture
    networks: int
    mean: Measured
    stderr: Measured


def simulate(
    architecture: Architecture,
    seeds: Iterable[int],
    *,
    backward: bool = True,
    backend: Literal["numpy", "torch"] = "numpy",
) -> Simulation:
    """Run random networks, and average what is measured in them.

    Parameters
    ----------
    architecture : Architecture
        What to draw. Under a causal mask late positions are measured: early ones see few keys.
    seeds : iterable of int
        Each gives one network and its input; two at least.
    backward : bool
        Whether to send a random gradient of unit variance back from the output.
    backend : {"numpy", "torch"}
        "torch" runs the same networks in PyTorch (needs the extra), with its own derivatives.

    Returns
    -------
    Simulation

    Raises
    ------
    BadArgumentError
        If there are fewer than two seeds, or no such backend.

    Examples
    --------
    >>> from simonides.signal import Architecture
    >>> simulation = simulate(Architecture(tokens=16, dim=64, layers=3), range(4))
    >>> simulation.mean.cosine.shape, simulation.stderr.entropy.shape
    ((4,), (3,))
    """
    (simulation,) = simulate_each([architecture], seeds, backward=backward, backend=backend)
    return simulation


def simulate_each(
    architectures: Iterable[Architecture],
    seeds: Iterable[int],
    *,
    backward: bool = True,
    backend: Literal["numpy", "torch"] = "numpy",
) -> list[Simulation]:
    """Run one random network for each architecture and seed, a network to a thread.

    Their products are too small to be worth sharing one among threads.
    """
    networks, seeds = list(architectures), list(seeds)
    if backend not in ("numpy", "torch"):
        raise arguments.refuse("backend", backend, "'numpy' or 'torch'", "choose one")
    if len(seeds) < 2:
        raise arguments.refuse(
            "seeds", len(seeds), "at least two", "a standard error needs two networks"
        )
    measured, threads = one_network, None
    if backend == "torch":
        from simonides.signal.networks.torch_network import one_network as measured

        threads = 1  # it has its own
    runs = in_turn(
        lambda pair: measured(*pair, backward=backward), product(networks, seeds), threads
    )
    return [
        _averaged(architecture, runs[place * len(seeds) : (place + 1) * len(seeds)])
        for place, architecture in enumerate(networks)
    ]


def _averaged(architecture: Architecture, runs: list[Measured]) -> Simulation:
    mean, error = {}, {}
    for field in fields(Measured):
        values = np.array([getattr(run, field.name) for run in runs])
        mean[field.name] = values.mean(axis=0)
        error[field.name] = values.std(axis=0, ddof=1) / math.sqrt(len(runs))
    return Simulation(architecture, len(runs), Measured(**mean), Measured(**error))


def one_network(architecture: Architecture, seed: int, *, backward: bool = True) -> Measured:
    """Draw a network and its input, run both, and return what was measured."""
    children = np.random.SeedSequence(seed).spawn(architecture.layers + 2)
    x = draw_tokens(architecture, np.random.default_rng(children[0]))
    if architecture.norm == "post":
        x = Normalised.of(x).tokens
    streams, blocks, attention = [token_statistics(late(architecture, x))], [], []
    for child in children[2:]:
        block = _Block(architecture, child)
        x = block.forward(x)
        streams.append(token_statistics(late(architecture, x)))
        attention.append(weight_statistics(late_rows(architecture, block.attended.weights)))
        if backward:
            blocks.append(block)
    back, weights = _backward(architecture, blocks, children[1]) if backward else ([], [])
    return gathered(streams, attention, back[::-1], weights[::-1])


def gathered(
    streams: list[tuple[float, float]],
    attention: list[tuple[float, float, float]],
    back: list[tuple[float, float]],
    weights: list[list[float]],
) -> Measured:
    """Return what was measured layer by layer as arrays; nothing sent back counts as zero."""
    gradient = np.array(back) if back else np.zeros((len(streams), 2))
    squares = np.array(weights) if weights else np.zeros((len(attention), 3))
    cosine, norm = np.array(streams).T
    entropy, participation, overlap = np.array(attention).T
    return Measured(cosine, norm, entropy, participation, overlap, *gradient.T, *squares.T)


def draw_tokens(
    architecture: Architecture, rng: np.random.Generator, dtype: type = np.float32
) -> Any:
    """Return tokens of the architecture's norm and cosine: one common direction, and their own."""
    common = rng.standard_normal(architecture.dim, dtype)
    common *= math.sqrt(architecture.dim) / np.linalg.norm(common)
    own = rng.standard_normal((architecture.tokens, architecture.dim), dtype)
    cosine, scale = architecture.cosine, dtype(math.sqrt(architecture.input_variance))
    return scale * (dtype(math.sqrt(cosine)) * common + dtype(math.sqrt(1 - cosine)) * own)


def draw_gradient(architecture: Architecture, seed: np.random.SeedSequence) -> Any:
    """Return the random gradient that is sent back from the output."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((architecture.tokens, architecture.dim), np.float32)


class _Block:
    """One block: run forward, then back."""

    def __init__(self, architecture: Architecture, seed: np.random.SeedSequence) -> None:
        self._architecture = architecture
        self._seed = seed
        self.attended: Any = None
        self._slopes: Any = None
        self._norms: list[Normalised | None] = []

    def forward(self, x: Any) -> Any:
        """Return the stream after the block."""
        architecture, weights = self._architecture, self._weights()
        entering = self._normalised(x, "pre")
        self.attended = network.attend(architecture, weights, entering)
        total = x.dtype.type(architecture.attention_skip) * x + self.attended.output
        x = self._normalised(total, "post")
        if architecture.activation is None:
            return x
        entering = self._normalised(x, "pre")
        output, self._slopes = network.mlp(architecture, weights, entering)
        return self._normalised(x.dtype.type(architecture.mlp_skip) * x + output, "post")

    def backward(self, gradient: Any) -> tuple[Any, list[float]]:
        """Return the gradient at the input, and squared norms of query, key and value gradients."""
        architecture, weights = self._architecture, self._weights()
        if architecture.activation is not None:
            gradient = self._back(gradient)
            branch = self._back(network.mlp_back(weights, self._slopes, gradient))
            gradient = gradient.dtype.type(architecture.mlp_skip) * gradient + branch
        gradient = self._back(gradient)
        attention = network.attend_back(architecture, weights, self.attended, gradient)
        branch = self._back(attention.tokens)
        squares = [square(part) for part in (attention.query, attention.key, attention.value)]
        return gradient.dtype.type(architecture.attention_skip) * gradient + branch, squares

    def _weights(self) -> network.Weights:
        # The same seed sequence gives the same generator each time.
        return network.draw_weights(self._architecture, np.random.default_rng(self._seed))

    def _normalised(self, x: Any, place: str) -> Any:
        """Return tokens, normalised if this is where the architecture does it."""
        norm = Normalised.of(x) if self._architecture.norm == place else None
        self._norms.append(norm)
        return x if norm is None else norm.tokens

    def _back(self, gradient: Any) -> Any:
        """Return a gradient before the last LayerNorm that it has not yet passed."""
        norm = self._norms.pop()
        return gradient if norm is None else norm.back(gradient)


def _backward(
    architecture: Architecture, blocks: list[_Block], seed: np.random.SeedSequence
) -> tuple[list[tuple[float, float]], list[list[float]]]:
    gradient = draw_gradient(architecture, seed)
    states, weights = [gradient_statistics(gradient)], []
    while blocks:
        gradient, squares = blocks.pop().backward(gradient)
        states.append(gradient_statistics(gradient))
        weights.append(squares)
    return states, weights


def late(architecture: Architecture, x: Any) -> Any:
    """Return the positions that are measured: all, or late ones under a causal mask."""
    return x[int(_LATE * len(x)) :] if architecture.causal else x


def late_rows(architecture: Architecture, weights: Any) -> Any:
    """Return the attention of the positions that are measured, for every head."""
    return weights[:, int(_LATE * weights.shape[1]) :] if architecture.causal else weights
