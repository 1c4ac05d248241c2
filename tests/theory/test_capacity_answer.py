"""What the answer reports: every field by its definition, finite, quick and of plain types."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from simonides import Capacity, Setting, capacity
from simonides.theory.capacity import capacity_of, needed_parameters

NUMBERS = [
    field.name
    for field in dataclasses.fields(Capacity)
    if field.name not in ("setting", "facts_stderr", "notes")
]


@pytest.mark.parametrize("rank", [None, 7])
@pytest.mark.parametrize("candidates", [None, 64])
def test_bits_load_and_parameters_follow_their_definitions(rank, candidates):
    answer = capacity(40, 50, rank=rank, candidates=candidates)
    competing = answer.facts if candidates is None else candidates
    parameters = 2000 if rank is None else 7 * (40 + 50 - 7)
    assert answer.parameters == parameters
    assert answer.bits_per_parameter == pytest.approx(
        answer.facts * math.log2(competing) / parameters, rel=1e-14
    )
    assert answer.load == pytest.approx(answer.facts * math.log(competing) / 2000, rel=1e-14)
    assert answer.facts * answer.statistical_dimension == pytest.approx(
        answer.effective_parameters, rel=1e-9
    )


def test_hebbian_rule_stores_less_than_the_best_matrix():
    for dim in (25, 100, 4096):
        answer = capacity(dim)
        assert 0 < answer.facts_hebbian < answer.facts
        assert 0 < answer.facts_hebbian_fraction < answer.facts


def test_capacity_of_a_setting_is_the_same_answer():
    asked = {"candidates": 50, "margin": 0.5, "rank": 6}
    assert capacity_of(Setting(50, 40, **asked)) == capacity(50, 40, **asked)


def test_needed_parameters_are_spent_at_capacity():
    answer = capacity(64)
    assert needed_parameters(answer.setting, answer.facts).value == pytest.approx(64**2, rel=1e-12)
    assert needed_parameters(Setting(9, 9, candidates=2), 10).value == pytest.approx(5, rel=1e-12)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"margin": 1.0},
        {"margin": 30.0},
        {"rank": 1},
        {"rank": 8, "margin": 0.3},
        {"tail_fraction": 1e-9},
        {"tail_fraction": 0.1},
        {"tail_fraction": 0.003, "rank": 8},
        {"candidates": 2},
        {"candidates": 10**12},
        {"candidates": 10**6, "tail_fraction": 1e-4},
        {"candidates": 1000, "problem": "decoupled"},
    ],
    ids=str,
)
def test_every_field_is_finite(asked):
    answer = capacity(10**6, **asked)
    for name in NUMBERS:
        assert math.isfinite(getattr(answer, name)), name
        assert getattr(answer, name) >= 0, name
    assert answer.facts > 0
    assert 0 <= answer.facts_stderr < 0.1 * answer.facts


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_smallest_matrices_have_answers(dim):
    answer = capacity(dim)
    assert 2 - 1e-9 < answer.facts < 2 * dim * dim + 1
    assert all(math.isfinite(getattr(answer, name)) for name in NUMBERS)


def test_one_weight_stores_two_facts_on_average():
    # p = K = 2: a fact costs half a parameter
    assert capacity(1).facts == pytest.approx(2.0, rel=1e-12)


def test_answers_are_frozen_and_reproducible():
    with pytest.raises(dataclasses.FrozenInstanceError):
        capacity(10).facts = 3
    for sampled in ({"rank": 3}, {"tail_fraction": 0.1}):
        asked = {"candidates": 30, **sampled}
        assert capacity(9, **asked) == capacity(9, **asked)


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.int64, np.uint8, float])
def test_numbers_of_any_type_give_plain_answers(kind):
    dim, rank = kind(200), kind(16)
    answer = capacity(dim, rank=rank)
    assert answer.facts == capacity(200, rank=16).facts
    assert answer.load == pytest.approx(capacity(200, rank=16).load, rel=1e-14)
    assert type(answer.parameters) is int
    assert answer.parameters == 16 * (400 - 16)


def test_wide_numpy_integers_do_not_overflow():
    assert capacity(np.int32(10**5)).facts == capacity(10**5).facts


def test_more_candidates_than_a_machine_integer():
    answer = capacity(100, candidates=10**20)
    assert answer.facts == pytest.approx(capacity(100, candidates=10**18).facts, rel=0.15)


def test_wide_margins_of_tail_averages():
    answer = capacity(10, tail_fraction=0.5, margin=10.0)
    # barely two facts fit, so two candidates compete, and both scores move: a half-space
    assert answer.facts == pytest.approx(100 / (1 + 10**2 / 2), rel=0.1)
    assert 0 <= answer.facts_hebbian < answer.facts + 1
