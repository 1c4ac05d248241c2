"""What a memory looks like inside, beside what theory expects of one at capacity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simonides.memory.scoring import Scorer, score_unit
from simonides.problems.scores import struck_out
from simonides.theory.scores import RivalScoreLaw, TargetScoreLaw

if TYPE_CHECKING:
    from simonides.arrays import Integers, Reals
    from simonides.theory.capacity import Capacity

_EDGES = np.linspace(-6.0, 12.0, 181)
"""Of bins a tenth of a deviation wide. Any range with nearly all scores does: those beyond still count."""

_DRAWS = 4
"""Random matrices whose spectra are averaged. Any small number does: a spectrum hardly fluctuates."""

_SEED = 0
"""Of these matrices: any does, always the same one makes diagnoses repeatable."""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Scores, leads and singular values of a fitted memory, and theory's beside them.

    Scores and leads are in units of the off-target scores' deviation
    (:func:`simonides.memory.scoring.score_unit`); the mean score of all outputs is taken off each input's.
    Theory is for random vectors without structure.

    Attributes
    ----------
    score : array (bins,)
        Middles of the bins of the densities.
    target_density, best_rival_density, rival_density : array (bins,)
        Densities of scores; what lies beyond the bins counts in their total.
    target_density_theory, rival_density_theory : array (bins,)
        Those of a memory at capacity.
    leads : array (facts,)
        How far each target is above its best rival.
    margin : float
        The lead that was to be reached.
    singular_values, singular_values_theory : array (min(dim_in, dim_out),)
        Falling, in units of their root mean square; theory's are those of a random matrix of this shape,
        cut to the rank, which is what it expects at capacity; if it is square their limit is eq. (10).
    facts, stored : int
        How many facts there are, and how many of them are stored.
    load, capacity : float, Capacity
        Facts for this shape, and theory's.

    Examples
    --------
    >>> from simonides import AssociativeMemory
    >>> X, Y = np.random.default_rng(0).standard_normal((2, 60, 20))
    >>> diagnosis = AssociativeMemory().fit(X, Y).diagnose()
    >>> diagnosis.stored, bool(diagnosis.leads.min() > 0), f"{diagnosis.load:.2f}"
    (60, True, '0.61')
    """

    score: Reals
    target_density: Reals
    best_rival_density: Reals
    rival_density: Reals
    target_density_theory: Reals
    rival_density_theory: Reals
    leads: Reals
    margin: float
    singular_values: Reals
    singular_values_theory: Reals
    facts: int
    stored: int
    load: float
    capacity: Capacity

    @property
    def fullness(self) -> float:
        """Facts over the capacity for random ones."""
        return self.facts / self.capacity.facts

    def __str__(self) -> str:
        least, middle = np.min(self.leads), np.median(self.leads)
        return (
            f"{self.stored:,} of {self.facts:,} facts stored, {self.fullness:.0%} of capacity "
            f"({self.capacity.facts:,.0f}); leads: least {least:.3g}, median {middle:.3g}"
        )


def diagnose(
    scorer: Scorer,
    inputs: Reals,
    targets: Integers,
    *,
    stored: int,
    load: float,
    capacity: Capacity,
) -> Diagnosis:
    """Return the diagnosis of a memory and the facts it was asked to store."""
    unit = score_unit(scorer, inputs, targets)
    unit = unit if unit > 0 else 1.0
    middles = (_EDGES[1:] + _EDGES[:-1]) / 2
    counts = np.zeros((3, len(middles)))
    leads = np.empty(len(inputs))
    for rows, scores in scorer.blocks(inputs):
        rivals = (scores - scores.mean(axis=1, keepdims=True)) / unit
        own = struck_out(rivals, targets[rows])
        best = rivals.max(axis=1)
        leads[rows] = own - best
        # What was struck out lies below every bin.
        counts += [np.histogram(part, _EDGES)[0] for part in (own, best, rivals)]
    totals = np.array([len(inputs), len(inputs), len(inputs) * (len(scorer.outputs) - 1)])
    densities = counts / totals[:, None] / np.diff(_EDGES)
    setting, competing = capacity.setting, max(capacity.candidates, 2.0)
    values = np.linalg.svd(scorer.weights, compute_uv=False)
    size = np.sqrt(np.mean(values**2))
    return Diagnosis(
        score=middles,
        target_density=densities[0],
        best_rival_density=densities[1],
        rival_density=densities[2],
        target_density_theory=TargetScoreLaw(competing, setting.margin).pdf(middles),
        rival_density_theory=RivalScoreLaw(competing, setting.margin).pdf(middles),
        leads=leads,
        margin=setting.margin,
        singular_values=values / (size if size > 0 else 1.0),
        singular_values_theory=_random_spectrum(scorer.weights.shape, setting.rank),
        facts=len(inputs),
        stored=stored,
        load=load,
        capacity=capacity,
    )


def _random_spectrum(shape: tuple[int, ...], rank: int | None) -> Reals:
    """Return the falling singular values of a random matrix, averaged over a few, cut to the rank."""
    rng = np.random.default_rng(_SEED)
    values = np.mean(
        [np.linalg.svd(rng.standard_normal(shape), compute_uv=False) for _ in range(_DRAWS)], axis=0
    )
    if rank is not None:
        values[rank:] = 0.0
    return np.asarray(values / np.sqrt(np.mean(values**2)))
