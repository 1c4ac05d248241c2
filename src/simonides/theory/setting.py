"""What is asked of a memory: its shape, what competes, and what counts as recall."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simonides import arguments
from simonides.estimate import Estimate
from simonides.theory.cone import statistical_dimension
from simonides.theory.effective import (
    asymptotic_effective_parameters,
    checked_rank,
    effective_parameters,
)
from simonides.theory.tail import TailCone, averaged_rivals, tail_statistical_dimension

ProblemKind = Literal["original", "decoupled"]
"""Outputs shared by all inputs (eq. 1), or each input has its own (eq. 2)."""

MOST_DIMENSION = 10**15
MOST_MARGIN = 1e9

_SAMPLED_TAIL = 200
"""Averaged rivals beyond which the limit of many candidates is as good as the samples: half a percent."""

_TAIL_SAMPLES = (256, 1024)
_TAIL_WORK = 2**16
"""Averaged rivals drawn in all: the more are averaged, the fewer samples are needed."""

_SEED = 20260511


@dataclass(frozen=True, slots=True)
class Setting:
    """A memory of given shape and the criterion by which it recalls.

    ``candidates`` is the number of outputs that compete for each input; ``None`` stands for as many
    as there are facts. ``rank=None`` is no bound. ``tail_fraction=None`` asks the target to beat
    every rival, a number the mean of that fraction of the strongest. In the ``"original"`` problem all
    inputs share their outputs, in the ``"decoupled"`` one each has its own.
    """

    dim_in: int
    dim_out: int
    candidates: int | None = None
    rank: int | None = None
    margin: float = 0.0
    tail_fraction: float | None = None
    problem: ProblemKind = "original"

    def __post_init__(self) -> None:
        dim_in = arguments.whole(
            "dim_in", self.dim_in, most=MOST_DIMENSION, remedy="pass the input dimension"
        )
        dim_out = arguments.whole(
            "dim_out", self.dim_out, most=MOST_DIMENSION, remedy="pass the output dimension"
        )
        margin = arguments.real(
            "margin",
            self.margin,
            least=0,
            most=MOST_MARGIN,
            remedy="pass 0 for no margin; it is in off-target standard deviations",
        )
        # Numbers of any type are welcome; what is kept are Python's own, which do not overflow.
        for name, number in (("dim_in", dim_in), ("dim_out", dim_out), ("margin", margin)):
            object.__setattr__(self, name, number)
        if self.candidates is not None:
            candidates = arguments.whole(
                "candidates",
                self.candidates,
                least=2,
                remedy="a fact competes with at least one rival output",
            )
            object.__setattr__(self, "candidates", candidates)
        if self.rank is not None:
            object.__setattr__(self, "rank", checked_rank(self.rank, min(dim_in, dim_out)))
        if self.tail_fraction is not None:
            fraction = arguments.real(
                "tail_fraction",
                self.tail_fraction,
                least=0,
                most=1,
                open_least=True,
                remedy="pass the fraction of rivals that are averaged, or leave it out",
            )
            object.__setattr__(self, "tail_fraction", fraction)
        if self.problem not in ("original", "decoupled"):
            raise arguments.refuse(
                "problem", self.problem, "'original' or 'decoupled'", "see the problem's definition"
            )

    @property
    def entries(self) -> int:
        """Number of entries of the matrix."""
        return self.dim_in * self.dim_out

    @property
    def parameters(self) -> int:
        """Free parameters: all entries, or the dimension of the matrices of the given rank."""
        if self.rank is None:
            return self.entries
        return self.rank * (self.dim_in + self.dim_out - self.rank)

    @property
    def output_directions(self) -> int:
        """Output directions that matter: K shared outputs differ in K - 1 directions only."""
        if self.problem == "original" and self.candidates is not None:
            return min(self.dim_out, self.candidates - 1)
        return self.dim_out

    @property
    def binding_rank(self) -> int:
        """Rank bound, or the smaller dimension where there is none or it cannot bind."""
        most = min(self.dim_in, self.output_directions)
        return most if self.rank is None else min(self.rank, most)

    def averaged_rivals(self, candidates: float) -> float:
        """Return how many rivals the target is compared with the mean of: one by default."""
        if self.tail_fraction is None:
            return 1.0
        return averaged_rivals(self.tail_fraction, candidates)

    def load(self, facts: float) -> float:
        """Return p log K / (d_in d_out)."""
        return load(facts, self.dim_in, self.dim_out, candidates=self.competing(facts))

    def bits_per_parameter(self, facts: float) -> float:
        """Return p log2 K over the number of free parameters."""
        return facts * math.log2(self.competing(facts)) / self.parameters

    def competing(self, facts: float) -> float:
        """Return how many candidates compete when that many facts are stored, at least two."""
        return max(facts if self.candidates is None else self.candidates, 2.0)

    def effective_parameters(self) -> Estimate:
        """Return what the facts are paid from, at finite size."""
        return effective_parameters(self.dim_in, self.output_directions, self.binding_rank)

    def asymptotic_effective_parameters(self) -> float:
        """Return what the facts are paid from, in the limit of large dimension."""
        return asymptotic_effective_parameters(
            self.dim_in, self.output_directions, self.binding_rank
        )

    def price(self, candidates: float) -> Estimate:
        """Return what one fact costs among ``candidates``, in parameters."""
        if self.averaged_rivals(candidates) == 1:
            return Estimate(statistical_dimension(max(candidates, 2.0), self.margin))
        assert self.tail_fraction is not None  # or one rival is averaged
        if self.averaged_rivals(candidates) > _SAMPLED_TAIL:
            return Estimate(tail_statistical_dimension(self.tail_fraction, self.margin))
        whole = max(round(candidates), 2)
        cone = TailCone(whole, self.tail_fraction, self.margin)
        samples = int(np.clip(_TAIL_WORK / cone.averaged, *_TAIL_SAMPLES))
        return cone.statistical_dimension(np.random.default_rng(_SEED), samples)

    def asymptotic_price(self, candidates: float) -> float:
        r"""Return the leading order of the price, :math:`(\sqrt{2 \log K} + c)^2` for the top score."""
        if self.tail_fraction is not None:
            return tail_statistical_dimension(self.tail_fraction, self.margin)
        return (math.sqrt(2 * math.log(candidates)) + self.margin) ** 2


def load(
    facts: float, dim_in: int, dim_out: int | None = None, *, candidates: float | None = None
) -> float:
    r"""Return the load of a memory, :math:`p \log K / (d_{in} d_{out})`.

    Parameters
    ----------
    facts : float
        Facts p that it stores.
    dim_in, dim_out : int
        Dimensions of inputs and outputs; `dim_out` defaults to `dim_in`.
    candidates : float, optional
        Outputs K that compete for each input. Default: as many as facts, and at least two.

    Returns
    -------
    float
        The load: at capacity it tends to 1/2 as dimensions grow (Claim 1).

    Examples
    --------
    >>> round(load(755, 100), 3)
    0.5

    """
    competing = max(facts, 2) if candidates is None else candidates
    return facts * math.log(competing) / (dim_in * (dim_in if dim_out is None else dim_out))


def facts_at_load(
    load: float, dim_in: int, dim_out: int | None = None, *, candidates: float | None = None
) -> float:
    r"""Return the number of facts at a load.

    The inverse of `load`: :math:`p = \lambda / W(\lambda)` with Lambert's W solves
    :math:`p \log p = \lambda` where all facts compete.

    Parameters
    ----------
    load : float
        Wanted :math:`p \log K / (d_{in} d_{out})`.
    dim_in, dim_out : int
        Dimensions of inputs and outputs; `dim_out` defaults to `dim_in`.
    candidates : float, optional
        Outputs K that compete for each input. Default: as many as facts.

    Returns
    -------
    float
        Facts p: round it, and take at least two, for a number to store.

    Examples
    --------
    >>> print(f"{facts_at_load(0.5, 100):.2f}")
    754.58

    """
    from scipy.special import lambertw

    budget = load * (dim_in * (dim_in if dim_out is None else dim_out))
    price = float(lambertw(budget).real) if candidates is None else math.log(candidates)
    return budget / price
