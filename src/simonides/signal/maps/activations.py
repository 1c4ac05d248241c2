"""Activations, each named once: its values and slopes, its pair moments, and what others call it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

import numpy as np
from scipy import special

from simonides import arguments
from simonides.arrays import Reals
from simonides.signal.maps import pair_moments as moments


@dataclass(frozen=True)
class Activation:
    """What is applied between the two layers of an MLP.

    Parameters
    ----------
    name : str
        What it is called in an ``Architecture`` and on the command line.
    function : callable
        Takes an array of fields and returns two of the same type: values, and slopes.
    values, slopes : callable, optional
        Take arrays of variances and gaps 1 - c and return ``PairValues`` and ``PairSlopes``. Default: sums
        over the function: relative error 1e-5 where smooth, 2e-2 with corners, for variances up to 10.
    torch : tuple of str
        ``module:object`` names of the function in PyTorch and of modules that apply it, looked up when a
        network is run there or a model is read.
    aliases : tuple of str
        Other names that a model's ``config.json`` may have for it.

    Examples
    --------
    >>> cube = Activation("cube", lambda field: (field**3, 3 * field**2))
    >>> print(f"{float(cube.pair_values(np.array(1.0), np.array(0.5)).square):.6f}")
    15.000000
    """

    name: str
    function: Callable[[Any], tuple[Any, Any]]
    values: Callable[[Reals, Reals], moments.PairValues] | None = None
    slopes: Callable[[Reals, Reals], moments.PairSlopes] | None = None
    torch: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    def __call__(self, field: Any) -> tuple[Any, Any]:
        """Return values and slopes at an array of fields."""
        return self.function(field)

    def pair_values(self, variance: Reals, gap: Reals) -> moments.PairValues:
        """Return the moments at each variance and each gap 1 - c, which are broadcast together."""
        if self.values is None:
            return moments.summed_values(self.function, variance, gap)
        return self.values(variance, gap)

    def pair_slopes(self, variance: Reals, gap: Reals) -> moments.PairSlopes:
        """Return the moments of the derivative at each variance and each gap 1 - c."""
        if self.slopes is None:
            return moments.summed_slopes(self.function, variance, gap)
        return self.slopes(variance, gap)

    def in_torch(self) -> Any:
        """Return the function in PyTorch."""
        if not self.torch:
            raise arguments.refuse(
                "activation", self.name, "one with a function in torch", "name it in its 'torch'"
            )
        return resolve_name(self.torch[0])

    def is_in_torch(self, function: object) -> bool:
        """Return whether that is what applies it in PyTorch: the function, or one of the modules."""
        if not self.torch:
            return False
        plain, *modules = map(resolve_name, self.torch)
        return function is plain or isinstance(function, tuple(modules))


def _relu(field: Any) -> tuple[Any, Any]:
    active = field > 0
    return field * active, active.astype(field.dtype)


def _gelu(field: Any) -> tuple[Any, Any]:
    below = special.ndtr(field)
    slope = below + field * np.exp(-field * field / 2) / field.dtype.type(math.sqrt(2 * math.pi))
    return field * below, slope


def _tanh(field: Any) -> tuple[Any, Any]:
    value = np.tanh(field)
    return value, 1 - value * value


ACTIVATIONS = {
    activation.name: activation
    for activation in (
        Activation(
            "relu",
            _relu,
            moments.relu_values,
            moments.relu_slopes,
            ("torch.nn.functional:relu", "torch.nn:ReLU"),
        ),
        Activation(
            "gelu",
            _gelu,
            moments.gelu_values,
            moments.gelu_slopes,
            ("torch.nn.functional:gelu", "torch.nn:GELU"),
            aliases=("gelu_new", "gelu_fast", "gelu_pytorch_tanh"),
        ),
        Activation(
            "tanh", _tanh, moments.tanh_values, moments.tanh_slopes, ("torch:tanh", "torch.nn:Tanh")
        ),
    )
}
"""By name; add your own, or name it ``module:object``."""


def activation_named(name: object) -> Activation:
    """Return the activation of a name, or of ``module:object``.

    >>> activation_named("relu").name
    'relu'
    """
    text = name if isinstance(name, str) else ""
    if text in ACTIVATIONS:
        return ACTIVATIONS[text]
    activation = arguments.imported("activation", text) if ":" in text else None
    if not isinstance(activation, Activation):
        choices = ", ".join(map(repr, (*ACTIVATIONS, None)))
        raise arguments.refuse(
            "activation",
            name,
            f"one of {choices}",
            "choose one, or name an Activation module:object",
        )
    return activation
