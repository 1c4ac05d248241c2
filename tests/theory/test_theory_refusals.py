"""Every function refuses by name what it cannot answer; which values are no numbers is tested elsewhere."""

import math
import re

import numpy as np
import pytest

from simonides import (
    Setting,
    critical_load,
    largest_margin,
    smallest_dimension,
    smallest_rank,
    statistical_dimension,
)
from simonides.theory import hebbian
from simonides.theory.effective import asymptotic_effective_parameters, effective_parameters
from simonides.theory.losses import CrossEntropy, SquaredHinge
from simonides.theory.projection import tail_squared_distance
from simonides.theory.replica import (
    EnergeticTerm,
    finite_size_free_entropy,
    free_entropy,
    overlap,
)
from simonides.theory.risk import minimum_of_risk
from simonides.theory.scores import RivalScoreLaw, TargetScoreLaw
from simonides.theory.spectrum import CapacityLaw, InitialLaw
from simonides.theory.tail import TailCone, tail_statistical_dimension

RNG = np.random.default_rng(0)
SQUARE = Setting(9, 9)
AT_LEAST_ONE = "a whole number of at least 1: "
ABOVE_ZERO = "a finite number above 0: "
SHARE = "a finite number above 0 and at most 1: "


def energy(**changes):
    return EnergeticTerm(**{"candidates": 3, "rng": RNG, "samples": 32, **changes})


def risk(**changes):
    return minimum_of_risk(**{"facts": 90, "parameters": 90, "rng": RNG, "samples": 64, **changes})


CASES = [
    (statistical_dimension, "candidates", 1.999, "a finite number at least 2 and at most 1e+100: "),
    (lambda v: statistical_dimension(10, v), "margin", -1e-9, "a finite number at least 0: "),
    (TargetScoreLaw, "candidates", 1.5, "a finite number at least 2 and at most 1e+100: "),
    (lambda v: RivalScoreLaw(9, v), "margin", math.nan, "a finite number at least 0: "),
    (lambda v: effective_parameters(v, 9, 1), "dim_in", 0, AT_LEAST_ONE),
    (lambda v: effective_parameters(9, v, 1), "dim_out", 2.5, AT_LEAST_ONE),
    (lambda v: asymptotic_effective_parameters(9, 9, v), "rank", 0, AT_LEAST_ONE),
    (lambda v: hebbian.signal(SQUARE, v), "facts", 0, ABOVE_ZERO),
    (lambda v: hebbian.recall_probability(SQUARE, v), "facts", math.nan, ABOVE_ZERO),
    (lambda v: hebbian.all_recalled_probability(SQUARE, v), "facts", -1, ABOVE_ZERO),
    (hebbian.rate, "load", 0, ABOVE_ZERO),
    (lambda v: hebbian.failure_probability(v, 4), "mean", math.nan, "a finite number: "),
    (lambda v: hebbian.failure_probability(1.0, v), "candidates", 0.5, "a finite number at least 1: "),
    (lambda v: hebbian.failure_probability(1.0, 4, v), "margin", math.inf, "a finite number: "),
    (lambda v: hebbian.hebbian_capacity(SQUARE, v), "criterion", "most", "one of all, fraction: "),
    *(
        (lambda v: hebbian.hebbian_capacity(SQUARE, probability=v), "probability", edge,
         "a finite number above 0 and below 1: certainty is reached at no finite size")
        for edge in (0, 1)
    ),
    (critical_load, "rank_fraction", 0, SHARE),
    (CapacityLaw, "rank_fraction", 1 + 1e-9, SHARE),
    (InitialLaw, "rank_fraction", -0.2, SHARE),
    (tail_statistical_dimension, "fraction", 1.0001, SHARE),
    (lambda v: tail_statistical_dimension(0.5, v), "margin", -1e-9, "a finite number at least 0: "),
    (lambda v: TailCone(10, v), "fraction", 0, SHARE),
    (lambda v: TailCone(v, 0.5), "candidates", 1, "a whole number of at least 2: "),
    (lambda v: TailCone(9, 0.5, v), "margin", math.nan, "a finite number at least 0: "),
    (lambda v: TailCone(9, 0.5).statistical_dimension(RNG, v), "samples", 7, "a whole number of at least "),
    *(
        (lambda v: tail_squared_distance(np.zeros(1), np.zeros((1, 4)), v), "count", edge,
         "a finite number at least 1 and at most 4: ")
        for edge in (0.5, 4.01)
    ),
    (lambda v: CrossEntropy().prox(np.zeros((2, 3)), v), "step", 0.0, ABOVE_ZERO),
    (lambda v: SquaredHinge().prox(np.zeros((2, 3)), v), "step", math.inf, ABOVE_ZERO),
    (overlap, "load", 0.5, "a finite number at least 0 and below 0.5: "),
    (free_entropy, "load", -0.1, "a finite number at least 0 and below 0.5: "),
    (lambda v: energy()(v), "q", 1, "a finite number at least 0 and below 1: an overlap is below one"),
    (lambda v: energy(candidates=v), "candidates", 2.5, "a whole number of at least 2: "),
    (lambda v: energy(samples=v), "samples", 31, "a whole number of at least 32: "),
    (lambda v: finite_size_free_entropy(v, 100, energy()), "facts", 0, AT_LEAST_ONE),
    (lambda v: finite_size_free_entropy(2, v, energy()), "parameters", 0, ABOVE_ZERO + "pass dim_in"),
    (smallest_dimension, "facts", 0, AT_LEAST_ONE),
    (lambda v: smallest_rank(SQUARE, v), "facts", 2.5, AT_LEAST_ONE),
    (lambda v: largest_margin(SQUARE, v), "facts", True, AT_LEAST_ONE),
    (lambda v: smallest_dimension(9, rank=v), "rank", 0, AT_LEAST_ONE),
    (lambda v: smallest_dimension(9, candidates=v), "candidates", 1, "a whole number of at least 2: "),
    (lambda v: risk(facts=v), "facts", 2.5, AT_LEAST_ONE),
    (lambda v: risk(parameters=v), "parameters", math.inf, ABOVE_ZERO),
    (lambda v: risk(candidates=v), "candidates", 1, "a whole number of at least 2: "),
    (lambda v: risk(samples=v), "samples", 63, "a whole number of at least 64: "),
    (lambda v: risk(candidates=5).sample_scores(v, RNG), "rows", 0, AT_LEAST_ONE),
]  # fmt: skip


@pytest.mark.parametrize(("call", "name", "value", "condition"), CASES)
def test_what_cannot_be_answered_is_refused_by_name(call, name, value, condition):
    with pytest.raises(ValueError, match=re.escape(f"{name} = {value!r} must be {condition}")):
        call(value)
