"""What is asked of a memory: its shape, what competes, and what counts as recall."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from simonides import arguments
from simonides.estimate import Estimate
from simonides.theory.cone import statistical_dimension
from simonides.theory.effective import (
    asymptotic_effective_parameters,
    checked_rank,
    effective_parameters,
)
from simonides.theory.quadrature import SEED
from simonides.theory.tail import (
    FRACTION_REMEDY,
    TailCone,
    averaged_rivals,
    tail_statistical_dimension,
)

ProblemKind = Literal["original", "decoupled"]
"""Outputs shared by all inputs (eq. 1), or each input has its own (eq. 2)."""

MOST_DIMENSION = 10**15
"""Beyond any machine; its square is far below the most candidates that theory takes."""

MOST_MARGIN = 1e9
"""Beyond any use: scores of order one would need weights a thousand million times as large."""

SAMPLED_TAIL = 200
"""Averaged rivals beyond which the limit of many candidates is as good as the samples: half a percent."""

_TAIL_SAMPLES = (256, 1024)
_TAIL_WORK = 2**16
"""Averaged rivals drawn in all: the more are averaged, the fewer samples are needed, within these two."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A memory of given shape and the criterion by which it recalls.

    Parameters
    ----------
    dim_in, dim_out : int
        Dimensions of inputs and outputs.
    candidates : int, optional
        Outputs that compete for each input. Default: as many as facts.
    rank : int, optional
        Rank bound, at most the smaller dimension. Default: none.
    margin : float
        By how much the target must win, in off-target standard deviations.
    tail_fraction : float, optional
        Compare the target with the mean of this fraction of its strongest rivals. Default: with each.
    problem : {"original", "decoupled"}
        Whether all inputs share their outputs (eq. 1) or each has its own (eq. 2).
    target_counts : sequence of int, optional
        How often each shared output is a target, in any order. Default: equally often.

    Raises
    ------
    ValueError
        Naming the argument, for sizes below one, a rank above the smaller dimension, fewer than two
        candidates, a negative margin, a fraction outside (0, 1] or another kind of problem.

    Examples
    --------
    >>> Setting(4096, 4096, rank=16).parameters
    130816
    """

    dim_in: int
    dim_out: int
    candidates: int | None = None
    rank: int | None = None
    margin: float = 0.0
    tail_fraction: float | None = None
    problem: ProblemKind = "original"
    target_counts: Sequence[int] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # Numbers of any type are welcome; what stays are Python's own, which do not overflow.
        checked: dict[str, float] = {}
        for name, side in (("dim_in", "input"), ("dim_out", "output")):
            remedy = f"pass the {side} dimension"
            size = arguments.whole(name, getattr(self, name), most=MOST_DIMENSION, remedy=remedy)
            checked[name] = size
        remedy = "pass 0 for no margin; it is in off-target standard deviations"
        checked["margin"] = arguments.real(
            "margin", self.margin, least=0, most=MOST_MARGIN, remedy=remedy
        )
        if self.candidates is not None:
            checked["candidates"] = arguments.candidates(self.candidates)
        if self.rank is not None:
            checked["rank"] = checked_rank(
                self.rank, int(min(checked["dim_in"], checked["dim_out"]))
            )
        if self.tail_fraction is not None:
            checked["tail_fraction"] = arguments.fraction(
                "tail_fraction", self.tail_fraction, remedy=FRACTION_REMEDY
            )
        for name, number in checked.items():
            object.__setattr__(self, name, number)
        arguments.one_of("problem", self.problem, get_args(ProblemKind), "see its definition")
        if self.target_counts is not None:
            self._check_counts(self.target_counts)

    def _check_counts(self, counts: Sequence[int]) -> None:
        remedy = "pass how often each output is a target, zeros for those that never are"
        if self.problem != "original":
            refusal = "left out where each input has outputs of its own"
            raise arguments.refuse("target_counts", counts, refusal, "leave it out")
        # An array of one number calls itself iterable.
        if getattr(counts, "ndim", 1) == 0 or not isinstance(counts, Iterable):
            raise arguments.refuse("target_counts", counts, "a sequence of whole numbers", remedy)
        counts = tuple(
            arguments.whole("target_counts", count, least=0, remedy=remedy) for count in counts
        )
        candidates = max(len(counts), 2) if self.candidates is None else self.candidates
        if not sum(counts) or len(counts) > candidates:
            condition = f"of at least one fact, and of at most {candidates} candidates"
            raise arguments.refuse("target_counts", len(counts), condition, remedy)
        object.__setattr__(self, "candidates", candidates)
        object.__setattr__(self, "target_counts", counts)

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
    def is_uneven(self) -> bool:
        """Whether some outputs are targets more often than others, by more than one fact."""
        counts = self.target_counts
        if counts is None or self.candidates is None:
            return False
        return max(counts) - (min(counts) if len(counts) == self.candidates else 0) > 1

    @property
    def output_directions(self) -> int:
        """Output directions that matter: K shared outputs differ in K - 1 directions only."""
        if self.problem == "original" and self.candidates is not None:
            return min(self.dim_out, self.candidates - 1)
        return self.dim_out

    @property
    def is_bounded(self) -> bool:
        """Whether there is a rank bound that changes anything."""
        return self.rank is not None and self.rank < min(self.dim_in, self.output_directions)

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
        if self.averaged_rivals(candidates) > SAMPLED_TAIL:
            return Estimate(tail_statistical_dimension(self.tail_fraction, self.margin))
        whole = max(round(candidates), 2)
        cone = TailCone(whole, self.tail_fraction, self.margin)
        samples = int(np.clip(_TAIL_WORK / cone.averaged, *_TAIL_SAMPLES))
        return cone.statistical_dimension(np.random.default_rng(SEED), samples)

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
