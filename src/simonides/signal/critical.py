r"""Critical strengths in closed form, and what weights they mean.

Attention freezes at :math:`\beta_c = \sqrt{2 / (q (q - p))}`, for normalised tokens
:math:`\sqrt{2/(1-c)}`. Below, attention averages, and in post-norm blocks without MLP the odds
c/(1-c) grow by :math:`1 + \sigma_V^2/\alpha^2` with every layer, exactly. Hence the weakest skip that
keeps the cosine below a target after L layers:

.. math:: \alpha_c^2 = \frac{\sigma_V^2}{(\text{odds}_*/\text{odds}_0)^{1/L} - 1} .
"""

from __future__ import annotations

import math

import numpy as np

from simonides import arguments
from simonides.signal.attention.softmax import checked_tokens
from simonides.signal.maps.activations import activation_named
from simonides.signal.maps.architecture import Architecture


def critical_beta(cosine: float, *, norm: float = 1.0) -> float:
    r"""Return the beta at which attention over tokens of that cosine freezes: :math:`\sqrt{2/(1-c)}`.

    Parameters
    ----------
    cosine : float
        Mean cosine of two tokens.
    norm : float
        Squared norm of a token over the dimension; LayerNorm makes it 1.

    Returns
    -------
    float

    Raises
    ------
    BadArgumentError
        If the cosine is negative or 1, or the norm not positive.

    Examples
    --------
    >>> round(critical_beta(0.0), 6), round(critical_beta(0.5), 6)
    (1.414214, 2.0)
    """
    cosine = _cosine("cosine", cosine)
    norm = arguments.positive("norm", norm, remedy="LayerNorm makes it 1")
    return math.sqrt(2 / (1 - cosine)) / norm


def critical_residual(
    layers: int, *, value_variance: float = 1.0, cosine: float = 0.1, target: float = 0.9
) -> float:
    r"""Return the weakest skip that keeps the cosine below a target: post-norm blocks of attention alone.

    :math:`\alpha_c^2 = \sigma_V^2 / ((\text{odds}_*/\text{odds}_0)^{1/L} - 1)`, below the critical beta.
    For blocks with an MLP see ``recommend``.

    Parameters
    ----------
    layers : int
        Number of blocks, L.
    value_variance : float
        Fan-in times the variance of the value weights, σ_V².
    cosine, target : float
        Of two tokens at the input, and after the last block.

    Returns
    -------
    float

    Raises
    ------
    BadArgumentError
        If the target does not lie above the cosine at the start.

    Examples
    --------
    >>> round(critical_residual(24), 3)
    2.231
    """
    layers = arguments.whole("layers", layers, remedy="pass the number of blocks")
    value_variance = _gain("value_variance", value_variance)
    remedy = "tokens of cosine 0 stay so, and need no skip"
    start = arguments.between("cosine", cosine, 0, 1, remedy=remedy)
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
    inner, outer = architecture.mlp_in_variance, architecture.mlp_out_variance
    skip, bias = architecture.mlp_skip**2, architecture.mlp_bias_variance
    activation = activation_named(architecture.activation)
    at_collapse = np.array(inner + bias), np.array(0.0)
    total = skip + outer * float(activation.pair_values(*at_collapse).square)
    slope = float(activation.pair_slopes(*at_collapse).square)
    return (skip + inner * outer * slope) / (total + bias)


def chaotic_residual(architecture: Architecture) -> float:
    r"""Return the attention skip above which collapse is no longer a fixed point, whatever the depth.

    :math:`\alpha_c^2 = \sigma_V^2/(\chi - 1)` with χ as in ``mlp_stretch``.

    Parameters
    ----------
    architecture : Architecture
        Post-norm blocks.

    Returns
    -------
    float
        Infinite where the MLP is not chaotic, as ReLU never is.

    Examples
    --------
    >>> from simonides.signal import Architecture
    >>> chaotic_residual(Architecture(tokens=64, dim=64, layers=2, activation="relu"))
    inf
    """
    stretch = mlp_stretch(architecture)
    if stretch <= 1:
        return math.inf
    return math.sqrt(architecture.attention_variance / (stretch - 1))


def std_of_beta(beta: float, dim: int, tokens: float) -> float:
    r"""Return the standard deviation of query and key weights that gives a beta.

    It is :math:`\sqrt{\beta\sqrt{\log T}/d}`.

    Parameters
    ----------
    beta : float
        Strength of the scores.
    dim : int
        Embedding dimension, d.
    tokens : float
        Length of the context, T.

    Returns
    -------
    float

    Raises
    ------
    BadArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> round(std_of_beta(0.4, 768, 512), 4)
    0.0361
    """
    beta = _gain("beta", beta)
    dim, root = _size(dim, tokens)
    return math.sqrt(beta / dim * root)


def beta_of_std(std: float, dim: int, tokens: float, *, key_std: float | None = None) -> float:
    """Return the beta of query and key weights of a standard deviation: the inverse of ``std_of_beta``.

    Parameters
    ----------
    std : float
        Of the query weights.
    dim, tokens
        As in ``std_of_beta``.
    key_std : float, optional
        Of the key weights. Default: the same.

    Returns
    -------
    float

    Raises
    ------
    BadArgumentError
        If an argument is out of range.

    Examples
    --------
    >>> round(beta_of_std(0.02, 768, 512), 3)
    0.123
    """
    std = _gain("std", std)
    key_std = std if key_std is None else _gain("key_std", key_std)
    dim, root = _size(dim, tokens)
    return dim * std * key_std / root


def _size(dim: int, tokens: float) -> tuple[int, float]:
    """Return the dimension, and the square root of the logarithm of the context's length."""
    dim = arguments.whole("dim", dim, remedy="pass the embedding dimension")
    return dim, math.sqrt(math.log(checked_tokens(tokens)))


def _gain(name: str, value: float) -> float:
    return arguments.real(name, value, least=0, remedy="pass a scale of the weights")


def _cosine(name: str, value: float) -> float:
    remedy = "pass the mean cosine of two tokens; negative ones are not covered"
    return arguments.real(name, value, least=0, most=1, open_most=True, remedy=remedy)
