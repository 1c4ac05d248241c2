"""Random transformers, run: what theory is compared with.

Networks are drawn and run in NumPy, one block at a time; on the way back each block's weights are
drawn again from their own seed, so that depth costs no memory for weights.

Theory calls attention frozen where beta exceeds its critical value. Networks show entropies instead: the
entropy of a row falls with the variance of its scores, so the same edge is the entropy that T Gaussian
scores have at the critical variance, 2 log T.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import product
from typing import Any, Literal

import numpy as np

from simonides import arguments
from simonides.arrays import Reals
from simonides.signal.attention.softmax import row_moments
from simonides.signal.maps.architecture import Architecture, check_architecture
from simonides.signal.networks.network import draw_weights, normalised, run_block
from simonides.signal.outcome import OUTCOMES, ClassThresholds, Outcome, classes
from simonides.threads import in_turn

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
    networks = list(architectures)
    for network in networks:
        check_architecture(network)
    arguments.instance("seeds", seeds, Iterable, "pass integers, each for a network")
    seeds = [arguments.seed(seed) for seed in seeds]
    arguments.one_of("backend", backend, ("numpy", "torch"))
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
    first, last, *children = np.random.SeedSequence(seed).spawn(architecture.layers + 2)
    x = draw_tokens(architecture, np.random.default_rng(first))
    if architecture.norm == "post":
        x, _ = normalised(x)
    streams, attention, ways_back = [token_statistics(late(architecture.causal, x))], [], []
    for child in children:
        weights = draw_weights(architecture, np.random.default_rng(child))
        x, rows, way_back = run_block(architecture, weights, x)
        streams.append(token_statistics(late(architecture.causal, x)))
        attention.append(weight_statistics(late(architecture.causal, rows, axis=1)))
        if backward:
            ways_back.append(way_back)
    if not backward:
        return gathered(streams, attention, [], [])
    gradient = draw_gradient(architecture, last)
    states, squares = [gradient_statistics(gradient)], []
    while ways_back:  # each is let go as soon as it was gone
        # The same seed sequence gives the same generator each time.
        weights = draw_weights(architecture, np.random.default_rng(children.pop()))
        gradient, of_weights = ways_back.pop()(weights, gradient)
        states.append(gradient_statistics(gradient))
        squares.append([square(part) for part in of_weights])
    return gathered(streams, attention, states[::-1], squares[::-1])


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


def draw_tokens(architecture: Architecture, rng: np.random.Generator) -> Any:
    """Return tokens of the architecture's norm and cosine: one common direction, and their own."""
    common = rng.standard_normal(architecture.dim, np.float32)
    common *= math.sqrt(architecture.dim) / np.linalg.norm(common)
    own = rng.standard_normal((architecture.tokens, architecture.dim), np.float32)
    shares = (architecture.input_variance, architecture.cosine, 1 - architecture.cosine)
    scale, of_common, of_own = (np.float32(math.sqrt(share)) for share in shares)
    return scale * (of_common * common + of_own * own)


def draw_gradient(architecture: Architecture, seed: np.random.SeedSequence) -> Any:
    """Return the random gradient that is sent back from the output."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((architecture.tokens, architecture.dim), np.float32)


def late(causal: bool, x: Any, *, axis: int = 0) -> Any:
    """Return the positions that are measured, along an axis: all, or late ones under a causal mask."""
    first = int(_LATE * x.shape[axis]) if causal else 0
    return x[(slice(None),) * axis + (slice(first, None),)]


def token_statistics(x: Any) -> tuple[float, float]:
    """Return the mean cosine of two tokens and the mean squared norm over the dimension."""
    x = x.astype(np.float64)
    squares = np.sum(x * x, axis=1)
    total = np.sum(x / np.sqrt(np.maximum(squares, 1e-300))[:, None], axis=0)
    count = len(x)
    cosine = (float(total @ total) - count) / (count * (count - 1))
    return cosine, float(squares.mean()) / x.shape[1]


def weight_statistics(weights: Any) -> tuple[float, float, float]:
    """Return mean entropy, Y and O over heads and queries (heads x queries x keys)."""
    weights = weights.astype(np.float64)
    participation = float(np.sum(weights**2, axis=2).mean())
    count = weights.shape[1]
    columns = weights.sum(axis=1)
    every = float(np.sum(columns**2, axis=1).mean())
    overlap = (every - count * participation) / (count * (count - 1))
    logs = np.log(np.maximum(weights, 1e-300))
    return -float(np.sum(weights * logs, axis=2).mean()), participation, overlap


def gradient_statistics(gradient: Any) -> tuple[float, float]:
    """Return D and X: the mean square and the mean product of two tokens, over the dimension."""
    gradient = gradient.astype(np.float64)
    count, dim = gradient.shape
    whole = square(gradient)
    total = gradient.sum(axis=0)
    pairs = count * (count - 1) * dim
    return whole / (count * dim), (float(total @ total) - whole) / pairs


def square(values: Any) -> float:
    """Return the sum of squares, in double precision."""
    return float(np.sum(np.square(values, dtype=np.float64)))


def freezing_entropy(tokens: float) -> float:
    """Return the mean entropy of attention over that many tokens at the critical variance.

    >>> round(freezing_entropy(512), 6)
    2.433886
    """
    return row_moments(2 * math.log(tokens), tokens).entropy


def observed(run: Simulation, thresholds: ClassThresholds | None = None) -> Outcome:
    """Return the class of simulated networks; ``simulate`` must have sent gradients back."""
    if not np.any(run.mean.gradient):
        raise arguments.refuse(
            "run", "no gradients", "with gradients", "call simulate with backward=True"
        )
    tokens = run.architecture.tokens
    least = np.asarray(run.mean.entropy.min())
    code = classes(
        final_gap=np.asarray(1 - run.mean.cosine[-1]),
        frozen=least < freezing_entropy(tokens),
        least_entropy=least / math.log(tokens),
        gain=np.asarray(run.mean.gradient[0] / run.mean.gradient[-1]),
        thresholds=thresholds,
    )
    return OUTCOMES[int(code)]
