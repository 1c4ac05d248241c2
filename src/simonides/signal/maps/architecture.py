r"""A transformer at initialisation: its sizes, the scales of its weights, and where it normalises.

Weights are independent Gaussians with variance gain/fan-in; every ``*_variance`` here is such a gain,
σ². Scores are scaled by one number, ``beta``: :math:`\sqrt{\sigma_Q^2 \sigma_K^2} = \beta\sqrt{\log T}`,
so that attention freezes near beta = √2 for orthogonal tokens whatever their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from simonides import arguments
from simonides.signal.maps.activations import activation_named

Norm = Literal["pre", "post"]

MOST_GAIN = 1e6
"""Any number does that lies beyond all in use: a table of tanh reaches twice as far."""

_SIZES = {
    "tokens": (2, 10**9, "attention needs two tokens to compare"),
    "dim": (1, 10**9, "pass the embedding dimension"),
    "layers": (1, 100_000, "pass the number of blocks"),
    "heads": (1, 10**6, "pass the number of attention heads"),
    "hidden": (1, math.inf, "pass the MLP's width"),
}
"""Least and most, beyond all in use, and the remedy."""

_REALS = {
    "beta": "pass the strength of the scores; critical near sqrt(2 / (1 - cosine))",
    "value_variance": "pass fan-in times the variance of the value weights",
    "value_bias_variance": "pass the variance of the value bias, 0 for none",
    "mlp_in_variance": "pass fan-in times the variance of the MLP's first weights",
    "mlp_out_variance": "pass fan-in times the variance of the MLP's second weights",
    "mlp_bias_variance": "pass the variance of the MLP's biases, 0 for none",
    "attention_skip": "pass what multiplies the residual stream at attention, 0 for no skip",
    "mlp_skip": "pass what multiplies the residual stream at the MLP, 0 for no skip",
    "output_variance": "leave it out where attention has no output projection",
    "cosine": "pass the mean cosine of two embedded tokens; negative ones are not covered",
    "input_variance": "pass the squared norm of an embedded token over the dimension",
}
"""Remedies; all are at least 0 and at most ``MOST_GAIN``, but for these:"""

_BOUNDS: dict[str, dict[str, Any]] = {
    "cosine": {"most": 1, "open_most": True},
    "input_variance": {"open_least": True},
}


@dataclass(frozen=True, slots=True)
class Architecture:
    """A stack of transformer blocks and the scales its weights are drawn at.

    Post-norm blocks do ``x ← LN(a x + Attention(x))``, ``x ← LN(m x + MLP(x))`` with skips a and m;
    pre-norm blocks ``x ← a x + Attention(LN x)``, ``x ← m x + MLP(LN x)``.

    Parameters
    ----------
    tokens, dim, layers, heads : int
        Length of the context, embedding dimension, blocks, attention heads.
    hidden : int, optional
        Width of the MLP. Default: four times ``dim``.
    norm : {"post", "pre"}
        Where LayerNorm stands.
    activation : str or None
        An activation by name, or yours as ``module:object``; None is a block without an MLP.
    beta : float
        Strength of the scores: √(σ_Q² σ_K²) = beta √(log T).
    value_variance, output_variance, mlp_in_variance, mlp_out_variance : float
        Fan-in times variance of weights; ``output_variance=None`` is attention without a projection.
    value_bias_variance, mlp_bias_variance : float
        Variances of biases.
    attention_skip, mlp_skip : float
        What multiplies the residual stream: a and m.
    centred : bool
        Whether attention subtracts 1/T from every weight (gain control).
    causal : bool
        Whether queries see only the keys before them, and their own.
    cosine, input_variance : float
        Of two embedded tokens, and their squared norm over the dimension, which only pre-norm sees.

    Raises
    ------
    BadArgumentError
        If a field is out of range.

    Examples
    --------
    >>> Architecture(tokens=512, dim=768, layers=12, heads=12).head_dim
    64
    """

    tokens: int
    dim: int
    layers: int
    heads: int = 1
    hidden: int | None = None
    norm: Norm = "post"
    activation: str | None = "relu"
    beta: float = 0.4
    value_variance: float = 1.0
    output_variance: float | None = None
    value_bias_variance: float = 0.0
    mlp_in_variance: float = 1.0
    mlp_out_variance: float = 1.0
    mlp_bias_variance: float = 0.0
    attention_skip: float = 1.0
    mlp_skip: float = 1.0
    centred: bool = False
    causal: bool = False
    cosine: float = 0.1
    input_variance: float = 1.0

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            name: arguments.whole(name, getattr(self, name), least=least, most=most, remedy=remedy)
            for name, (least, most, remedy) in _SIZES.items()
            if name != "hidden" or self.hidden is not None
        }
        if self.dim % self.heads:
            raise arguments.refuse(
                "heads", self.heads, f"a divisor of dim = {self.dim}", "change one of the two"
            )
        for name, remedy in _REALS.items():
            bounds = {"least": 0, "most": MOST_GAIN, **_BOUNDS.get(name, {})}
            if name != "output_variance" or self.output_variance is not None:
                checked[name] = arguments.real(name, getattr(self, name), **bounds, remedy=remedy)
        for name, number in checked.items():
            object.__setattr__(self, name, number)
        arguments.one_of("norm", self.norm, get_args(Norm))
        if self.activation is not None:
            activation_named(self.activation)
        for name in ("centred", "causal"):
            if not isinstance(getattr(self, name), bool):
                raise arguments.refuse(name, getattr(self, name), "True or False", "it is a switch")

    @property
    def head_dim(self) -> int:
        """Dimension of one head."""
        return self.dim // self.heads

    @property
    def hidden_dim(self) -> int:
        """Width of the MLP, four times the dimension by default."""
        return 4 * self.dim if self.hidden is None else self.hidden

    @property
    def attention_variance(self) -> float:
        """Gain of the whole path from values to the residual stream."""
        return self.value_variance * (1.0 if self.output_variance is None else self.output_variance)

    @property
    def score_gain(self) -> float:
        """Gain σ_Q² = σ_K² of the query and key weights."""
        return self.beta * math.sqrt(math.log(self.tokens))


def check_architecture(value: object) -> None:
    """Refuse what is no architecture."""
    remedy = "pass one such as Architecture(tokens=512, dim=768, layers=24)"
    arguments.instance("architecture", value, Architecture, remedy)
