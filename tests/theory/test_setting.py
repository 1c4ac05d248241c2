"""What is asked: directions and ranks that bind, and refusals."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from simonides import Setting, capacity


def test_directions_and_ranks_that_bind():
    shared = Setting(40, 30, candidates=11)
    assert shared.entries == shared.parameters == 1200
    assert shared.output_directions == 10
    assert shared.binding_rank == 10
    assert Setting(40, 30, candidates=11, rank=4).binding_rank == 4
    assert Setting(40, 30, candidates=11, rank=20).binding_rank == 10
    assert Setting(40, 30, candidates=11, problem="decoupled").output_directions == 30
    assert Setting(40, 30).output_directions == 30
    assert Setting(40, 30, rank=5).parameters == 5 * 65
    assert shared.effective_parameters().value == 400
    assert shared.asymptotic_effective_parameters() == 400


def test_asymptotic_price_with_a_margin():
    price = Setting(9, 9, margin=0.5).asymptotic_price(1e6)
    assert price == pytest.approx((math.sqrt(2 * math.log(1e6)) + 0.5) ** 2, rel=1e-14)


BAD = [
    ("dim_in", 0, "at least 1"),
    ("dim_in", None, "whole number"),
    ("dim_out", math.inf, "whole number"),
    ("candidates", 1, "at least 2"),
    ("target_counts", np.array(5), "a sequence of whole numbers"),
    ("candidates", "all", "at least 2"),
    ("rank", 0, "at least 1"),
    ("rank", 9, "at most the smaller dimension, 8"),
    ("margin", -0.1, "at least 0"),
    ("margin", True, "at least 0"),
    ("tail_fraction", 0.0, "above 0 and at most 1"),
    ("tail_fraction", 1.01, "above 0 and at most 1"),
    ("problem", "coupled", "one of original, decoupled"),
    ("problem", None, "one of original, decoupled"),
]


@pytest.mark.parametrize(("name", "value", "condition"), BAD, ids=str)
def test_bad_input_is_refused_by_name(name, value, condition):
    asked = {"dim_in": 8, "dim_out": 9, name: value}
    for question in (lambda: Setting(**asked), lambda: capacity(asked.pop("dim_in"), **asked)):
        if name == "dim_out" and value is None:
            continue
        with pytest.raises(ValueError, match="must be") as error:
            question()
        message = str(error.value)
        assert message.startswith(f"{name} = {value!r} must be ")
        assert condition in message
        assert message.rpartition(": ")[2]


def test_settings_are_frozen_and_comparable():
    assert Setting(8, 9) == Setting(8, 9)
    assert len({Setting(8, 9), Setting(8, 9), Setting(9, 8)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Setting(8, 9).rank = 2
