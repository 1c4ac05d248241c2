"""Whitening: what it does to vectors and weights, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skewed import all_gaps, skewed

from simonides.failures import BadArgumentError
from simonides.problems.original import OriginalProblem
from simonides.problems.whitening import FLOOR, Stretch, Whitening, whitened
from simonides.solvers.deciding.decide import decide
from simonides.solvers.solution import Verdict


def moments(rows):
    return rows.T @ rows / len(rows)


# Vectors.


@pytest.mark.parametrize("spread", [1.0, 1e3, 1e5])
@pytest.mark.parametrize(
    ("facts", "dim_in", "dim_out", "candidates"), [(40, 6, 6, None), (25, 3, 8, 30), (90, 7, 2, 5)]
)
def test_second_moments_become_the_identity(facts, dim_in, dim_out, candidates, spread):
    _, problem = skewed(facts, dim_in, dim_out, candidates=candidates, spread=spread, seed=1)
    white, whitening = whitened(problem)
    rounding = 1e-14 * whitening.condition**0.5 * 10
    np.testing.assert_allclose(moments(white.inputs), np.eye(dim_in), atol=rounding)
    np.testing.assert_allclose(moments(white.outputs), np.eye(dim_out), atol=rounding)
    np.testing.assert_allclose(white.outputs.mean(axis=0), 0, atol=rounding)
    assert whitening.condition >= spread


def test_inputs_are_not_centred():
    # About their mean these inputs have no spread in the first coordinate.
    inputs = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 2.0], [1.0, -2.0]])
    white, _ = whitened(OriginalProblem(inputs, np.eye(4)))
    np.testing.assert_allclose(white.inputs[:, 0], 1.0, rtol=1e-14)


def test_shifting_inputs_would_have_changed_the_answer():
    inputs, outputs = np.array([[1.0], [2.0]]), np.array([[1.0], [-1.0]])
    crossed = OriginalProblem(inputs, outputs)
    assert decide(OriginalProblem(inputs - inputs.mean(), outputs)).verdict is Verdict.STORABLE
    assert decide(crossed).verdict is Verdict.NOT_STORABLE
    assert decide(whitened(crossed)[0]).verdict is Verdict.NOT_STORABLE


def test_a_shift_of_all_outputs_is_undone():
    problem = OriginalProblem.gaussian(12, 3, 4, seed=3)
    moved = OriginalProblem(problem.inputs, problem.outputs + np.array([5.0, 0, -2, 100]))
    np.testing.assert_allclose(whitened(moved)[0].outputs, whitened(problem)[0].outputs, atol=1e-11)


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1e30])
def test_units_do_not_matter(scale):
    problem = OriginalProblem.gaussian(12, 3, 4, seed=3)
    larger = OriginalProblem(problem.inputs * scale, problem.outputs / scale)
    white, expected = whitened(larger)[0], whitened(problem)[0]
    np.testing.assert_allclose(white.inputs, expected.inputs, atol=1e-12)
    np.testing.assert_allclose(white.outputs, expected.outputs, atol=1e-12)


def test_a_rotation_passes_through():
    problem = OriginalProblem.gaussian(12, 4, seed=3)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    turned = OriginalProblem(problem.inputs @ turn, problem.outputs @ turn)
    white, expected = whitened(turned)[0], whitened(problem)[0]
    np.testing.assert_allclose(white.inputs, expected.inputs @ turn, atol=1e-12)
    np.testing.assert_allclose(white.outputs, expected.outputs @ turn, atol=1e-12)


def test_white_vectors_stay_as_they_are():
    white, _ = whitened(OriginalProblem.gaussian(30, 4, seed=0))
    again, whitening = whitened(white)
    assert whitening.condition == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(again.inputs, white.inputs, atol=1e-12)
    np.testing.assert_allclose(again.outputs, white.outputs, atol=1e-12)


@pytest.mark.parametrize("candidates", [None, 4, 30])
def test_a_part_has_the_coordinates_of_the_whole(candidates):
    _, problem = skewed(20, 3, candidates=candidates, spread=10, seed=2)
    white, whitening = whitened(problem)
    np.testing.assert_array_equal(white.targets, problem.targets)
    assert white.all_compete == problem.all_compete
    part = whitening.applied(problem.prefix(7))
    np.testing.assert_allclose(part.inputs, white.prefix(7).inputs, atol=1e-13)
    np.testing.assert_allclose(part.outputs, white.prefix(7).outputs, atol=1e-13)
    np.testing.assert_array_equal(part.targets, white.prefix(7).targets)


# The floor.


def test_sizes_below_the_floor_are_stretched_as_if_at_the_floor():
    sizes = np.array([2.0, 0.5, 1e-3, 0.0])
    stretch = Stretch.to_unit_size(np.sqrt(4) * np.diag(sizes), 0.01)
    np.testing.assert_allclose(np.diag(stretch.matrix), [0.5, 2.0, 50.0, 50.0], rtol=1e-12)
    np.testing.assert_allclose(np.diag(stretch.inverse), [2.0, 0.5, 0.02, 0.02], rtol=1e-12)
    assert stretch.condition == pytest.approx(100, rel=1e-12)
    white = np.sqrt(4) * np.diag(sizes) @ stretch.matrix
    np.testing.assert_allclose(moments(white), np.diag([1, 1, 0.05**2, 0]), atol=1e-14)


def test_a_floor_of_one_only_changes_units():
    _, problem = skewed(20, 3, 5, spread=30, seed=2)
    whitening = Whitening.of(problem, floor=1)
    assert whitening.condition == pytest.approx(1, abs=1e-12)
    largest = np.linalg.norm(problem.inputs, 2) / np.sqrt(20)
    np.testing.assert_allclose(whitening.of_inputs.matrix, np.eye(3) / largest, atol=1e-12)


@pytest.mark.parametrize("floor", [1e-2, FLOOR, 1e-8])
@pytest.mark.parametrize(
    ("facts", "dim_in", "dim_out", "candidates"), [(5, 9, 9, None), (1, 4, 3, 2), (30, 6, 8, 3)]
)
def test_fewer_vectors_than_dimensions(facts, dim_in, dim_out, candidates, floor):
    problem = OriginalProblem.gaussian(facts, dim_in, dim_out, candidates=candidates, seed=4)
    white, whitening = whitened(problem, floor=floor)
    for stretch, rows in (
        (whitening.of_inputs, white.inputs),
        (whitening.of_outputs, white.outputs),
    ):
        assert stretch.condition <= (1 + 1e-12) / floor
        assert stretch.condition == pytest.approx(np.linalg.cond(stretch.matrix), rel=1e-6)
        sizes = np.linalg.svd(rows, compute_uv=False) / np.sqrt(len(rows))
        # One in every direction there is, and nothing but rounding in those there are not.
        rounding = 1e-14 / floor
        assert np.all((abs(sizes - 1) < rounding) | (sizes < rounding)), sizes
    assert whitening.of_outputs.condition == pytest.approx(1 / floor, rel=1e-9)


def test_a_constant_coordinate_and_an_unused_one():
    rng = np.random.default_rng(0)
    inputs, outputs = rng.standard_normal((12, 4)), rng.standard_normal((12, 4))
    inputs[:, 2], outputs[:, 1] = 0.0, 7.0
    white, whitening = whitened(OriginalProblem(inputs, outputs))
    np.testing.assert_allclose(white.inputs[:, 2], 0, atol=1e-8)
    np.testing.assert_allclose(white.outputs[:, 1], 0, atol=1e-8)
    for stretch in (whitening.of_inputs, whitening.of_outputs):
        assert stretch.condition == pytest.approx(1 / FLOOR, rel=1e-12)
        np.testing.assert_allclose(stretch.inverse @ stretch.matrix, np.eye(4), atol=1e-9)


def test_nothing_to_whiten():
    problem = OriginalProblem(np.zeros((3, 2)), np.ones((3, 4)))
    white, whitening = whitened(problem)
    assert whitening.condition == 1
    np.testing.assert_array_equal(white.inputs, 0)
    np.testing.assert_array_equal(white.outputs, 0)
    assert white.impossible_pair() == problem.impossible_pair()


@pytest.mark.parametrize("dim", [1, 3, 8, 13])
def test_equal_outputs_stay_equal_to_the_last_bit(dim):
    rng = np.random.default_rng(dim)
    # Matrix products round the last of an odd number of rows in another way than the others.
    outputs = np.repeat(rng.standard_normal((1, dim)), 37, axis=0)
    outputs[1::2] = rng.standard_normal((18, dim))
    problem = OriginalProblem(rng.standard_normal((37, 4)), outputs)
    white, _ = whitened(problem)
    assert (white.outputs[::2] == white.outputs[0]).all()
    assert len(np.unique(white.outputs, axis=0)) == 19
    assert white.impossible_pair() == problem.impossible_pair() is not None


def test_a_zero_input_stays_zero():
    inputs = np.random.default_rng(0).standard_normal((9, 4))
    inputs[5] = 0
    white, _ = whitened(OriginalProblem(inputs, np.eye(9)))
    assert not white.inputs[5].any()
    assert white.impossible_pair() == (5, 0)


# Weights.


@pytest.mark.parametrize("spread", [1.0, 1e2, 1e4])
@pytest.mark.parametrize("candidates", [None, 4, 30])
def test_score_differences_stay_what_they_were(spread, candidates):
    _, problem = skewed(20, 5, 3, candidates=candidates, spread=spread, seed=5)
    white, whitening = whitened(problem)
    rng = np.random.default_rng(6)
    for _ in range(3):
        inside = rng.standard_normal((3, 5))
        gaps = all_gaps(white, inside)
        back = all_gaps(problem, whitening.weights_back(inside))
        np.testing.assert_allclose(back, gaps, atol=1e-15 * whitening.condition * abs(gaps).max())
        weights = rng.standard_normal((3, 5))
        gaps = all_gaps(problem, weights)
        forward = all_gaps(white, whitening.weights_forward(weights))
        np.testing.assert_allclose(forward, gaps, atol=1e-11 * abs(gaps).max())


def test_weights_return_from_a_round_trip():
    _, problem = skewed(20, 5, 3, spread=1e3, seed=5)
    whitening = Whitening.of(problem)
    weights = np.random.default_rng(7).standard_normal((3, 5))
    there = whitening.weights_back(whitening.weights_forward(weights))
    np.testing.assert_allclose(there, weights, atol=1e-8)
    back = whitening.weights_forward(whitening.weights_back(weights))
    np.testing.assert_allclose(back, weights, atol=1e-8)


@st.composite
def awkward(draw):
    """Small problems with mixed units, missing directions and shared outputs."""
    facts, candidates = draw(st.integers(1, 12)), draw(st.integers(2, 12))
    dim_in, dim_out = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    units = st.lists(st.sampled_from([0.0, 1e-3, 0.1, 1.0, 30.0]), min_size=5, max_size=5)
    inputs = rng.standard_normal((facts, dim_in)) * draw(units)[:dim_in]
    outputs = rng.standard_normal((candidates, dim_out)) * draw(units)[:dim_out]
    outputs += draw(st.sampled_from([0.0, 1.0, 50.0]))
    problem = OriginalProblem(inputs, outputs, rng.integers(candidates, size=facts))
    return problem, rng.standard_normal((dim_out, dim_in))


@settings(max_examples=60, deadline=None)
@given(awkward(), st.sampled_from([1e-4, 1e-2, 0.5, 1.0]))
def test_any_problem_is_whitened_invertibly(drawn, floor):
    problem, weights = drawn
    white, whitening = whitened(problem, floor=floor)
    for stretch in (whitening.of_inputs, whitening.of_outputs):
        assert 1 <= stretch.condition <= (1 + 1e-12) / floor
        unit = np.eye(len(stretch.factors))
        np.testing.assert_allclose(stretch.matrix @ stretch.inverse, unit, atol=1e-14 / floor)
    for rows in (white.inputs, white.outputs):
        assert np.linalg.eigvalsh(moments(rows)).max() < 1 + 1e-9
    there = whitening.weights_back(whitening.weights_forward(weights))
    np.testing.assert_allclose(there, weights, atol=1e-13 * whitening.condition)
    gaps, scores = all_gaps(problem, weights), problem.inputs @ weights.T @ problem.outputs.T
    moved = all_gaps(white, whitening.weights_forward(weights))
    np.testing.assert_allclose(moved, gaps, atol=1e-11 * (abs(scores).max() + 1e-30))


# Refusals.


@pytest.mark.parametrize("floor", [0, -1, 1.5, 1e-16, np.nan, np.inf, "small", None, True])
def test_impossible_floors_are_named(floor):
    problem = OriginalProblem.gaussian(5, 3, seed=0)
    with pytest.raises(BadArgumentError, match="floor = "):
        whitened(problem, floor=floor)
    with pytest.raises(BadArgumentError, match="floor = "):
        Whitening.of(problem, floor=floor)


@pytest.mark.parametrize("shape", [(3, 4), (4,), (2, 3, 4), (1, 3), (4, 1)])
def test_weights_of_another_shape_are_refused(shape):
    whitening = Whitening.of(OriginalProblem.gaussian(9, 3, 4, seed=0))
    for way in (whitening.weights_back, whitening.weights_forward):
        with pytest.raises(BadArgumentError, match=r"weights\.shape = .* must be \(4, 3\)"):
            way(np.zeros(shape))


@pytest.mark.parametrize("dims", [(4, 3), (3, 3), (4, 4)])
def test_problems_of_another_shape_are_refused(dims):
    whitening = Whitening.of(OriginalProblem.gaussian(9, 3, 4, seed=0))
    with pytest.raises(BadArgumentError, match=r"must be \(4, 3\)"):
        whitening.applied(OriginalProblem.gaussian(9, *dims, seed=0))
