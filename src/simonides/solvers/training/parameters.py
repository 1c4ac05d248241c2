"""How a flat vector of parameters makes weights: each weight its own, or the entries of two factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from simonides.arrays import Reals


@dataclass(frozen=True)
class Full:
    """Every weight is a parameter."""

    shape: tuple[int, int]

    def weights(self, place: Reals) -> Reals:
        """Return the parameters in the weights' shape."""
        return place.reshape(self.shape)

    def factors(self, place: Reals) -> None:  # noqa: ARG002
        """Return None: there are none."""
        return

    def slopes(self, place: Reals, gradient: Reals) -> Reals:  # noqa: ARG002
        """Return the gradient, flat."""
        return gradient.ravel()

    def size(self, place: Reals, gradient: Reals) -> float:  # noqa: ARG002
        """Return the gradient's length."""
        return float(np.linalg.norm(gradient))


@dataclass(frozen=True)
class Factored:
    """Parameters are the rows of U, then those of V; weights are U V^T."""

    dim_out: int
    rank: int

    def weights(self, place: Reals) -> Reals:
        """Return the product of the factors."""
        left, right = self.factors(place)
        return np.asarray(left @ right.T)

    def factors(self, place: Reals) -> tuple[Reals, Reals]:
        """Return both factors."""
        rows = place.reshape(-1, self.rank)
        return rows[: self.dim_out], rows[self.dim_out :]

    def slopes(self, place: Reals, gradient: Reals) -> Reals:
        """Return the derivative by the factors' entries."""
        left, right = self.factors(place)
        return np.concatenate([gradient @ right, gradient.T @ left]).ravel()

    def size(self, place: Reals, gradient: Reals) -> float:
        """Return the larger slope of a factor, relative to the factor that is multiplied.

        It then has the units of the full gradient.
        """
        left, right = self.factors(place)
        along = [(gradient @ right, right), (gradient.T @ left, left)]
        tiny = np.finfo(float).tiny
        return max(
            float(np.linalg.norm(slope) / max(np.linalg.norm(factor), tiny))
            for slope, factor in along
        )


Form: TypeAlias = Full | Factored
"""How parameters make weights."""
