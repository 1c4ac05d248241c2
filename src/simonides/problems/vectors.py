"""Laws of vectors, by name: how the embeddings of a drawn problem are distributed.

Every law makes a vector from a row of independent Gaussians of its own. Rows are therefore independent, and
fewer of them are the first of more: thresholds search over nested problems.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtr, ndtri

from simonides import arguments


@dataclass(frozen=True)
class Interval:
    """The values that an option may take, and the one it has if it is left out."""

    default: float
    least: float
    most: float = math.inf
    remedy: str = ""

    def checked(self, name: str, value: object) -> float:
        """Return the value if it lies in the interval."""
        return arguments.real(name, value, least=self.least, most=self.most, remedy=self.remedy)


@dataclass(frozen=True)
class NamedLaw:
    """What a name stands for: a function, the options it takes, and a line about it."""

    function: Callable[..., Any]
    about: str
    options: Mapping[str, Interval] = field(default_factory=dict)
    columns: Callable[[int], int] = lambda dim: dim
    """How many Gaussians a vector of a dimension is made from."""

    def complete(self, name: str, options: Mapping[str, object]) -> tuple[tuple[str, float], ...]:
        """Return all options, each given or its default; those that there are not are refused."""
        for option, value in options.items():
            if option not in self.options:
                takes = ", ".join(self.options) or "none"
                raise arguments.refuse(
                    f"{name}.{option}", value, "left out", f"the options of {name} are: {takes}"
                )
        return tuple(
            (option, interval.checked(f"{name}.{option}", options.get(option, interval.default)))
            for option, interval in self.options.items()
        )


def _unit(gaussians: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(gaussians / np.linalg.norm(gaussians, axis=1, keepdims=True))


def _rademacher(gaussians: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.copysign(gaussians.dtype.type(1), gaussians))


def _sparse(gaussians: NDArray[Any], fraction: float) -> NDArray[Any]:
    values, marks = np.split(gaussians, 2, axis=1)
    sizes = np.abs(marks)
    # A Gaussian is smaller than this with the wanted chance; the smallest of a row is always taken.
    level = np.maximum(ndtri((1 + fraction) / 2), sizes.min(axis=1, keepdims=True))
    return np.asarray(
        np.where(sizes <= level, values / math.sqrt(fraction), 0), dtype=gaussians.dtype
    )


def _correlated(gaussians: NDArray[Any], exponent: float) -> NDArray[Any]:
    variances = np.arange(1, gaussians.shape[1] + 1) ** -exponent
    return np.asarray(gaussians * np.sqrt(variances / variances.mean()).astype(gaussians.dtype))


def _student(gaussians: NDArray[Any], degrees: float) -> NDArray[Any]:
    # The last Gaussian becomes the chi-squared variable with the same rank.
    squares = 2 * gammaincinv(degrees / 2, ndtr(gaussians[:, -1:].astype(np.float64)))
    return np.asarray(gaussians[:, :-1] * np.sqrt(degrees / squares).astype(gaussians.dtype))


VECTORS: Mapping[str, NamedLaw] = {
    "gaussian": NamedLaw(lambda gaussians: gaussians, "independent standard Gaussian entries"),
    "unit": NamedLaw(_unit, "uniform on the unit sphere"),
    "rademacher": NamedLaw(_rademacher, "independent entries of 1 or -1"),
    "sparse": NamedLaw(
        _sparse,
        "Gaussian entries, a small fraction of them not zero, at least one in each vector",
        {"fraction": Interval(0.25, 1e-6, 1, "pass the chance that an entry is not zero")},
        columns=lambda dim: 2 * dim,
    ),
    "correlated": NamedLaw(
        _correlated,
        "Gaussian entries, the variance of the k-th proportional to k to the power -exponent",
        # Beyond 10 the last variances of a few hundred entries underflow in single precision.
        {"exponent": Interval(1.0, 0, 10, "pass the power by which variances fall")},
    ),
    "student": NamedLaw(
        _student,
        "multivariate Student t: Gaussian directions, lengths with a heavy tail",
        # From 2 on no length of a drawn vector leaves the range that single precision screens.
        {"degrees": Interval(3.0, 2, 1e6, "pass the degrees of freedom")},
        columns=lambda dim: dim + 1,
    ),
}
"""The laws of vectors. Entries have mean square one, but for ``unit`` and ``student``."""


@dataclass(frozen=True)
class VectorLaw:
    """A law of vectors: a name of :data:`VECTORS` with all its options.

    >>> VectorLaw("unit").draw(np.random.default_rng(0), (2, 1)).tolist()
    [[1.0], [-1.0]]
    """

    name: str = "gaussian"
    options: tuple[tuple[str, float], ...] = ()

    def draw(
        self, generator: np.random.Generator, shape: tuple[int, int], dtype: type = np.float64
    ) -> NDArray[Any]:
        """Return vectors as rows: fewer rows of the same generator are the first of more."""
        rows, dim = shape
        law = VECTORS[self.name]
        gaussians = generator.standard_normal((rows, law.columns(dim)), dtype=dtype)
        return np.asarray(law.function(gaussians, **dict(self.options)))


GAUSSIAN = VectorLaw()
