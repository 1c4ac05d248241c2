r"""Critical strengths in closed form, and what weights they mean.

Attention freezes at :math:`\beta_c = \sqrt{2 / (q (q - p))}`, for normalised tokens
:math:`\sqrt{2/(1-c)}`. Below, attention averages, and in post-norm blocks without MLP the odds
c/(1-c) grow by :math:`1 + \sigma_V^2/\alpha^2` with every layer, exactly. Hence the weakest skip that
keeps the cosine below a target after L layers:

.. math:: \alpha_c^2 = \frac{\sigma_V^2}{(\text{odds}_*/\text{odds}_0)^{1/L} - 1} .
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from simonides import arguments
from simonides.signal.attention.attention import checked_tokens
from simonides.signal.maps.activations import activation_named

if TYPE_CHECKING:
    from simonides.signal.maps.architecture import Architecture


def critical_beta(cosine: float, *, norm: float = 1.0) -> float:
    """Return the beta at which attention over tokens of that cosine freezes.

    ``norm`` is the squared norm of a token over the dimension.

    >>> round(critical_beta(0.0), 6), round(critical_beta(0.5), 6)
    (1.414214, 2.0)
    """
    cosine = _cosine("cosine", cosine)
    norm = arguments.real("norm", norm, least=0, open_least=True, remedy="LayerNorm makes it 1")
    return math.sqrt(2 / (1 - cosine)) / norm


def critical_residual(
    layers: int, *, value_variance: float = 1.0, cosine: float = 0.1, target: float = 0.9
) -> float:
    """Return the weakest skip that keeps the cosine below ``target``: post-norm, attention only.

    Holds below the critical beta. For blocks with an MLP see ``recommend``.

    >>> round(critical_residual(24), 3)
    2.231
    """
    layers = arguments.whole("layers", layers, remedy="pass the number of blocks")
    value_variance = _gain("value_variance", value_variance)
    start = arguments.real(
        "cosine", cosine, least=0, most=1, open_least=True, open_most=True,
        remedy="tokens of cosine 0 stay so, and need no skip",
    )  # fmt: skip
    target = _cosine("target", target)
    if target <= start:
        raise arguments.refuse(
            "target", target, f"above the cosine {start:g} at the start", "layers only raise it"
        )
    growth = (target / (1 - target)) / (start / (1 - start))
    return math.sqrt(value_variance / math.expm1(math.log(growth) / layers))


def mlp_stretch(architecture: Architecture) -> float:
    r"""Return by how much a post-norm MLP sublayer multiplies a small gap 1 - c.

    .. math:: \chi = \frac{m^2 + \sigma_1^2\sigma_2^2 E\dot\varphi^2}
        {m^2 + \sigma_2^2 E\varphi^2 + \sigma_b^2}

    Above one the MLP is chaotic: it drives tokens apart, and collapse can be held off at any depth.
    """
    if architecture.activation is None:
        return 1.0
    field = architecture.mlp_in_variance + architecture.mlp_bias_variance
    activation, at_collapse = (
        activation_named(architecture.activation),
        (np.array(field), np.array(0.0)),
    )
    skip = architecture.mlp_skip**2
    gain = architecture.mlp_in_variance * architecture.mlp_out_variance
    total = skip + architecture.mlp_out_variance * float(
        activation.pair_values(*at_collapse).square
    )
    slope = float(activation.pair_slopes(*at_collapse).square)
    return (skip + gain * slope) / (total + architecture.mlp_bias_variance)


def chaotic_residual(architecture: Architecture) -> float:
    r"""Return the attention skip above which collapse is no longer a fixed point, whatever the depth.

    :math:`\alpha_c^2 = \sigma_V^2/(\chi - 1)`; infinite where the MLP is not chaotic (ReLU).
    """
    stretch = mlp_stretch(architecture)
    if stretch <= 1:
        return math.inf
    return math.sqrt(architecture.attention_variance / (stretch - 1))


def std_of_beta(beta: float, dim: int, tokens: float) -> float:
    """Return the standard deviation of query and key weights that gives a beta.

    >>> round(std_of_beta(0.4, 768, 512), 4)
    0.0361
    """
    beta = _gain("beta", beta)
    dim = arguments.whole("dim", dim, remedy="pass the embedding dimension")
    return math.sqrt(beta / dim * math.sqrt(math.log(checked_tokens(tokens))))


def beta_of_std(std: float, dim: int, tokens: float, *, key_std: float | None = None) -> float:
    """Return the beta of query weights of that standard deviation, keys having their own if given.

    >>> round(beta_of_std(0.02, 768, 512), 3)
    0.123
    """
    std = _gain("std", std)
    key_std = std if key_std is None else _gain("key_std", key_std)
    dim = arguments.whole("dim", dim, remedy="pass the embedding dimension")
    return dim * std * key_std / math.sqrt(math.log(checked_tokens(tokens)))


def _gain(name: str, value: float) -> float:
    return arguments.real(name, value, least=0, remedy="pass a scale of the weights")


def _cosine(name: str, value: float) -> float:
    return arguments.real(
        name,
        value,
        least=0,
        most=1,
        open_most=True,
        remedy="pass the mean cosine of two tokens; negative ones are not covered",
    )
