"""`propagate`: one architecture, forward and back, layer by layer."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence, Sized
from dataclasses import astuple, dataclass, replace
from operator import attrgetter
from typing import Literal, NamedTuple, get_args

import numpy as np

from simonides import arguments
from simonides.arrays import Integers, Reals, Truths
from simonides.signal.attention.asymptotic import asymptotic_statistics, at_finite_width
from simonides.signal.attention.softmax import AttentionStatistics, attention_statistics
from simonides.signal.attention.table import attention_table
from simonides.signal.maps.architecture import Architecture, check_architecture
from simonides.signal.maps.backward import FullMask, Gradients, gradients
from simonides.signal.maps.causal import CausalMask
from simonides.signal.maps.forward import BlockState, Gains, Statistics, run
from simonides.signal.notes import PoorTheoryWarning, caveats
from simonides.signal.outcome import OUTCOMES, ClassThresholds, Outcome, classes

Method = Literal["exact", "table", "asymptotic"]
METHODS: tuple[str, ...] = get_args(Method)


@dataclass(frozen=True)
class Propagation:
    """A signal's way through the layers.

    Attributes
    ----------
    architecture : Architecture
    cosine, norm : array
        Of tokens (``norm`` squared, over the dimension), at the input and after each block.
    beta, beta_critical, variance, entropy, participation : array
        Of each block's attention; ``variance`` is that of the scores.
    gradients : Gradients
        Squared gradients at ``tokens`` and of ``query``, ``key`` and ``value`` weights.
    outcome : Outcome
    notes : tuple of str
        Where the theory is known to be poor.
    """

    architecture: Architecture
    beta: Reals
    cosine: Reals
    norm: Reals
    variance: Reals
    entropy: Reals
    participation: Reals
    beta_critical: Reals
    gradients: Gradients
    outcome: Outcome
    notes: tuple[str, ...]

    @property
    def entropy_fraction(self) -> Reals:
        """Return the entropy over that of even attention, log T."""
        return self.entropy / math.log(self.architecture.tokens)


def propagate(
    architecture: Architecture,
    *,
    betas: Sequence[float] | None = None,
    method: Method = "exact",
    finite_width: bool = False,
    thresholds: ClassThresholds | None = None,
) -> Propagation:
    r"""Follow a signal through the layers: cosine, norm, entropy, participation and gradients.

    For tokens of cosine c attention puts out :math:`q = \sigma_V^2 [1 - (1-c)(1-Y)]` and the gap
    :math:`\sigma_V^2 (1-c)(Y-O)`, with attention statistics Y, O at beta² log T (1 - c).

    Parameters
    ----------
    architecture : Architecture
        The network and its start.
    betas : sequence of float, optional
        A beta for each layer, instead of the architecture's.
    method : {"exact", "table", "asymptotic"}
        Attention statistics: "table" interpolates them (error about 1e-3), "asymptotic" takes their
        limit of many tokens, as the paper does.
    finite_width : bool
        Whether to add the leading corrections in the head dimension and the dimension.
    thresholds : ClassThresholds, optional
        Where trainable ends.

    Returns
    -------
    Propagation

    Raises
    ------
    BadArgumentError
        If there is no such method, or not one beta for each layer.

    Warns
    -----
    PoorTheoryWarning
        Where the theory is known to be poor.

    Examples
    --------
    >>> from simonides.signal import Architecture
    >>> way = propagate(Architecture(tokens=128, dim=256, layers=24, attention_skip=2, mlp_skip=2))
    >>> print(f"{way.cosine[-1]:.3f}: {way.outcome}")
    0.985: trainable
    """
    check_architecture(architecture)
    gains = Gains.of(architecture)
    if betas is not None:
        gains = replace(gains, beta=_checked(betas, architecture.layers))
    ways = follow(architecture, gains, method, finite_width, thresholds)

    def by_layer(name: str) -> Reals:
        return np.array([float(attrgetter(name)(layer)) for layer in ways.layers])

    for note in ways.notes:
        warnings.warn(note, PoorTheoryWarning, stacklevel=2)
    first = 1.0 if architecture.norm == "post" else architecture.input_variance
    return Propagation(
        architecture=architecture,
        beta=by_layer("beta"),
        cosine=np.concatenate(([architecture.cosine], 1 - by_layer("relative"))),
        norm=np.concatenate(([first], by_layer("stream"))),
        variance=by_layer("variance"),
        entropy=by_layer("attention.entropy"),
        participation=by_layer("attention.participation"),
        beta_critical=np.array(ways.critical),
        gradients=ways.gradients,
        outcome=OUTCOMES[int(ways.outcome)],
        notes=ways.notes,
    )


class Ways(NamedTuple):
    """Theory forward and back, for all points at once; ``critical`` is the critical beta of each layer.

    ``frozen`` has a leading axis for layers.
    """

    layers: list[BlockState]
    gradients: Gradients
    critical: list[Reals]
    frozen: Truths
    least_entropy: Reals
    outcome: Integers
    notes: tuple[str, ...]


def follow(
    architecture: Architecture,
    gains: Gains,
    method: Method,
    finite_width: bool,
    thresholds: ClassThresholds | None,
) -> Ways:
    """Run theory forward and back, and class what it comes to."""
    statistics = statistics_of(architecture, method, finite_width=finite_width)
    layers = run(architecture, gains, statistics, even_norms=method == "asymptotic")
    mask = FullMask(architecture)
    if architecture.causal:
        mask = CausalMask(
            architecture,
            lambda keys: statistics_of(
                replace(architecture, tokens=keys), method, finite_width=finite_width
            ),
        )
    back = gradients(architecture, gains, layers, mask)
    with np.errstate(divide="ignore"):
        critical = [np.sqrt(2 / layer.at_attention.relative) for layer in layers]
    frozen = np.array([layer.beta > most for layer, most in zip(layers, critical, strict=True)])
    least = np.min(np.array([layer.attention.entropy for layer in layers]), axis=0)
    least = least / math.log(architecture.tokens)
    any_frozen = np.asarray(frozen.any(axis=0))
    notes = caveats(architecture, gains, frozen=any_frozen, limit=method == "asymptotic")
    outcome = classes(layers[-1].relative, any_frozen, least, back.tokens[0], thresholds)
    return Ways(layers, back, critical, frozen, least, outcome, notes)


def statistics_of(
    architecture: Architecture, method: Method, *, finite_width: bool = False
) -> Statistics:
    """Return attention statistics for an architecture's number of tokens."""
    arguments.one_of("method", method, METHODS)
    statistics: Statistics
    if method == "table":
        statistics = attention_table(architecture.tokens)
    elif method == "asymptotic":
        statistics = asymptotic_statistics(architecture.tokens)
    else:
        statistics = _one_by_one(architecture.tokens)
    return at_finite_width(statistics, architecture) if finite_width else statistics


def _one_by_one(tokens: int) -> Statistics:
    def statistics(variance: Reals, correlation: Reals) -> AttentionStatistics:
        variance, correlation = np.broadcast_arrays(variance, correlation)
        pairs = zip(variance.ravel().tolist(), correlation.ravel().tolist(), strict=True)
        points = [astuple(attention_statistics(v, r, tokens)) for v, r in pairs]
        columns = zip(*points, strict=True)
        return AttentionStatistics(*(np.reshape(part, variance.shape) for part in columns))

    return statistics


def _checked(betas: Sequence[float], layers: int) -> Reals:
    remedy = "pass one strength of the scores for each layer"
    arguments.instance("betas", betas, Sized, remedy)
    if len(betas) != layers:
        raise arguments.refuse(
            "betas", len(betas), f"as many as there are layers, {layers}", "give each layer one"
        )
    return np.array([arguments.real("betas", beta, least=0, remedy=remedy) for beta in betas])
