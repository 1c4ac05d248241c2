"""Checks of arguments: what passes, and that every refusal says what to do."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simonides
from simonides import arguments, signal

NOT_NUMBERS = [
    True,
    False,
    np.True_,
    None,
    "3",
    b"3",
    [3],
    (3,),
    {3},
    3 + 0j,
    Decimal(3),
    np.array(3),
    np.array([3]),
    slice(3),
    math.nan,
    math.inf,
    -math.inf,
    np.float64("nan"),
    np.float32("inf"),
]
REMEDY = "pass the embedding dimension"


def test_refusal_names_argument_value_condition_and_remedy():
    error = arguments.refuse("dim", "ten", "a whole number", REMEDY)
    assert isinstance(error, ValueError)
    assert str(error) == f"dim = 'ten' must be a whole number: {REMEDY}"


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
def test_what_is_not_a_number_is_refused(value):
    for check, kind in (
        (arguments.whole, "a whole number of at least 1"),
        (arguments.real, "a finite number"),
        (arguments.positive, "a finite number above 0"),
        (arguments.fraction, "a finite number above 0 and at most 1"),
    ):
        with pytest.raises(ValueError, match="must be") as error:
            check("dim", value, remedy=REMEDY)
        assert str(error.value) == f"dim = {value!r} must be {kind}: {REMEDY}"


def test_checks_by_the_subjects_names():
    assert (arguments.facts(3.0), arguments.candidates(2)) == (3, 2)
    assert (
        arguments.positive("x", 1e-300, remedy="r"),
        arguments.fraction("x", 1, remedy="r"),
    ) == (1e-300, 1)
    for check, value, edge in (
        (arguments.facts, 0, "facts = 0 must be a whole number of at least 1"),
        (arguments.candidates, 1, "candidates = 1 must be a whole number of at least 2"),
        (
            lambda v: arguments.positive("x", v, remedy="r"),
            0,
            "x = 0 must be a finite number above 0: r",
        ),
        (
            lambda v: arguments.fraction("x", v, remedy="r"),
            1.1,
            "x = 1.1 must be a finite number above 0",
        ),
    ):
        with pytest.raises(ValueError, match=edge):
            check(value)


@pytest.mark.parametrize("value", [0, -1, -(10**30), 0.5, 1.000001, -1.0, Fraction(3, 2)])
def test_whole_refuses_fractions_and_small_numbers(value):
    with pytest.raises(ValueError, match="at least 1"):
        arguments.whole("dim", value, remedy=REMEDY)


@pytest.mark.parametrize(
    "value",
    [7, 7.0, Fraction(7), np.float64(7), np.float32(7)]
    + [np.dtype(code).type(7) for code in "bBhHiIlLqQ"],
    ids=lambda value: type(value).__name__,
)
def test_whole_returns_a_plain_int(value):
    number = arguments.whole("dim", value, remedy=REMEDY)
    assert type(number) is int
    assert number == 7


def test_whole_names_its_own_least():
    assert arguments.whole("candidates", 2, least=2, remedy=REMEDY) == 2
    assert arguments.whole("shift", -3, least=-3, remedy=REMEDY) == -3
    with pytest.raises(ValueError, match=r"candidates = 1 must be .* at least 2"):
        arguments.whole("candidates", 1, least=2, remedy=REMEDY)


@given(st.integers(min_value=1, max_value=10**300))
def test_whole_keeps_every_digit(value):
    assert arguments.whole("dim", value, remedy=REMEDY) == value


@given(st.integers(min_value=2**53, max_value=2**63 - 1))
def test_whole_keeps_every_digit_of_numpy_integers(value):
    assert arguments.whole("dim", np.int64(value), remedy=REMEDY) == value


def test_integers_too_large_for_a_float_are_refused_by_name():
    with pytest.raises(ValueError, match="dim = "):
        arguments.whole("dim", 10**400, remedy=REMEDY)
    with pytest.raises(ValueError, match="margin = "):
        arguments.real("margin", 10**400, remedy=REMEDY)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_real_returns_finite_floats_unchanged(value):
    number = arguments.real("margin", value, remedy="")
    assert type(number) is float
    assert number == value


@pytest.mark.parametrize("value", [3, np.int8(3), np.float32(3), Fraction(3), np.float64(3)])
def test_real_returns_a_plain_float(value):
    number = arguments.real("margin", value, remedy="")
    assert type(number) is float
    assert number == 3.0


@given(
    st.floats(-2, 2),
    st.booleans(),
    st.booleans(),
)
def test_real_respects_open_and_closed_ends(value, open_least, open_most):
    inside = (value > -1 or (value == -1 and not open_least)) and (
        value < 1 or (value == 1 and not open_most)
    )

    def check() -> float:
        return arguments.real(
            "x", value, least=-1, most=1, open_least=open_least, open_most=open_most, remedy="r"
        )

    if inside:
        assert check() == value
    else:
        with pytest.raises(ValueError, match="x = "):
            check()


@pytest.mark.parametrize("end", [-1.0, 1.0])
@pytest.mark.parametrize("is_open", [False, True])
def test_real_at_the_very_ends(end, is_open):
    interval = {"least": -1, "most": 1, "open_least": is_open, "open_most": is_open, "remedy": "r"}
    if is_open:
        with pytest.raises(ValueError, match="above -1 and below 1"):
            arguments.real("x", end, **interval)
    else:
        assert arguments.real("x", end, **interval) == end


@pytest.mark.parametrize(
    ("interval", "condition"),
    [
        ({}, "a finite number: r"),
        ({"least": 0}, "a finite number at least 0: r"),
        ({"least": 0, "open_least": True}, "a finite number above 0: r"),
        ({"most": 2.5}, "a finite number at most 2.5: r"),
        ({"most": 2.5, "open_most": True}, "a finite number below 2.5: r"),
        ({"least": 0, "most": 1}, "a finite number at least 0 and at most 1: r"),
        (
            {"least": 0, "most": 1, "open_least": True, "open_most": True},
            "a finite number above 0 and below 1: r",
        ),
    ],
)
def test_real_states_the_interval(interval, condition):
    with pytest.raises(ValueError, match="x = ") as error:
        arguments.real("x", math.nan, **interval, remedy="r")
    assert str(error.value) == f"x = nan must be {condition}"


@pytest.mark.parametrize("value", [0, 1, -0.5, 1.5])
def test_between_two_numbers_is_neither_of_them(value):
    assert arguments.between("share", 0.5, 0, 1, remedy=REMEDY) == 0.5
    with pytest.raises(
        ValueError, match=r"share = \S+ must be a finite number above 0 and below 1"
    ):
        arguments.between("share", value, 0, 1, remedy=REMEDY)


@pytest.mark.parametrize("value", ["Post", None, ["post"]])
def test_what_is_none_of_the_choices_is_refused(value):
    with pytest.raises(ValueError, match="must be one of pre, post: choose one"):
        arguments.one_of("norm", value, ("pre", "post"))


def test_a_file_to_write_has_a_known_ending_and_a_folder(tmp_path):
    assert arguments.new_file("plot", tmp_path / "A.PNG", ".png", ".svg") == tmp_path / "A.PNG"
    assert arguments.new_file("save", str(tmp_path / "any")) == tmp_path / "any"
    with pytest.raises(ValueError, match=r"must be a file ending in \.png or \.svg"):
        arguments.new_file("plot", tmp_path / "a.txt", ".png", ".svg")
    with pytest.raises(ValueError, match="must be in a folder that exists: create"):
        arguments.new_file("plot", tmp_path / "none" / "a.png", ".png")


NETWORK = signal.Architecture(tokens=16, dim=16, layers=2)
STRANGE = {
    "setting": (simonides.smallest_rank, simonides.largest_margin),
    "problem": (
        simonides.decide, simonides.maximum_margin, simonides.low_rank, simonides.cross_entropy,
        simonides.gradient, simonides.hebbian, simonides.pseudo_inverse,
    ),
    "certificate": (simonides.verify,),
    "draw": (simonides.threshold,),
    "ensemble": (simonides.ensemble,),
    "model": (simonides.plan, simonides.read_model),
    "plan": (simonides.recommend,),
    "path": (simonides.Certificate.load, simonides.AssociativeMemory.load),
    "architecture": (signal.propagate, signal.recommend, signal.trainability_diagram),
    "x_axis": (lambda axis: signal.trainability_diagram(NETWORK, axis, ("skip", [1.0])),),
    "seeds": (lambda seeds: signal.simulate(NETWORK, seeds),),
    "thresholds": (lambda limits: signal.propagate(NETWORK, thresholds=limits),),
    "target_counts": (lambda counts: simonides.capacity(20, target_counts=counts),),
    "facts": (lambda facts: simonides.DecoupledProblem.gaussian(facts, 5, seed=0),),
    "watch": (
        lambda watch: simonides.decide(
            simonides.OriginalProblem.gaussian(9, 5, seed=0), watch=watch
        ),
    ),
}  # fmt: skip
"""Functions of the front door by the argument that is none of what they take."""


@pytest.mark.parametrize(
    ("name", "function"), [(name, call) for name, calls in STRANGE.items() for call in calls]
)
@pytest.mark.parametrize("value", [4.5, {}], ids=repr)
def test_a_strange_object_is_refused_by_the_argument_s_name(name, function, value):
    second = {"smallest_rank": 9, "largest_margin": 9, "verify": None, "threshold": 9}
    rest = [second[function.__name__]] if function.__name__ in second else []
    rest += {"plan": [9], "architecture": [("beta", [1.0]), ("skip", [1.0])]}.get(name, [])
    rest = [] if function in (signal.propagate, signal.recommend) else rest
    with pytest.raises(simonides.BadArgumentError, match=f"^{name} = ") as refusal:
        function(value, *rest)
    assert refusal.value.argument == name


def test_a_class_is_no_problem():
    with pytest.raises(simonides.BadArgumentError, match="problem = <class"):
        simonides.decide(simonides.OriginalProblem)
