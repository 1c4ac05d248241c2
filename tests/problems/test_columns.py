"""Units of coordinates: exact, invertible, and what verdicts should not depend on."""

from __future__ import annotations

import numpy as np
import pytest

from simonides.certificate import verify
from simonides.problems.original import OriginalProblem
from simonides.problems.units import Units
from simonides.solvers.deciding.decide import decide
from simonides.solvers.solution import Verdict


def stretched(facts, decades, side, seed=0):
    problem = OriginalProblem.gaussian(facts, 6, seed=seed)
    units = np.random.default_rng(seed).permutation(np.logspace(0, decades, 6))
    inputs = problem.inputs * units if side == "inputs" else problem.inputs
    outputs = problem.outputs * units if side == "outputs" else problem.outputs
    return OriginalProblem(inputs, outputs)


@pytest.mark.parametrize("side", ["inputs", "outputs"])
@pytest.mark.parametrize("decades", [0, 7, 60])
def test_columns_come_to_about_unit_size(side, decades):
    problem = stretched(40, decades, side)
    scaled = Units.of(problem).applied(problem)
    for rows in (scaled.inputs, scaled.outputs - scaled.outputs.mean(axis=0)):
        sizes = np.sqrt(np.mean(rows**2, axis=0))
        assert ((sizes >= 2**-0.5) & (sizes <= 2**0.5)).all()


def test_nothing_is_rounded_and_scores_stay_as_they_are():
    problem = stretched(20, 12, "inputs")
    units = Units.of(problem)
    scaled = units.applied(problem)
    np.testing.assert_array_equal(np.ldexp(scaled.inputs, units.of_inputs), problem.inputs)
    np.testing.assert_array_equal(np.ldexp(scaled.outputs, units.of_outputs), problem.outputs)
    weights = np.random.default_rng(1).standard_normal((6, 6))
    back = units.weights_back(weights)
    np.testing.assert_array_equal(units.weights_forward(back), weights)
    np.testing.assert_allclose(
        problem.inputs @ back.T @ problem.outputs.T,
        scaled.inputs @ weights.T @ scaled.outputs.T,
        rtol=1e-9,
        atol=1e-12,
    )


def test_who_owns_what_is_kept():
    problem = OriginalProblem(np.eye(3) * 5, [[1.0], [300.0]], [0, 1, 1])
    scaled = Units.of(problem).applied(problem)
    assert scaled.targets.tolist() == [0, 1, 1]
    paired = OriginalProblem.gaussian(4, 3, seed=0)
    assert Units.of(paired).applied(paired).all_compete


def test_columns_without_anything_in_them():
    problem = OriginalProblem([[1e-9, 0.0], [2e-9, 0.0]], [[7.0, 7.0], [7.0, 7.0]])
    units = Units.of(problem)
    assert units.of_inputs[1] == units.of_inputs[0] < -20
    assert units.of_outputs.tolist() == [0, 0]
    assert units.spread == 0
    assert units.left_alone().of_inputs.tolist() == [0, 0]


@pytest.mark.parametrize("side", ["inputs", "outputs"])
@pytest.mark.parametrize("decades", [7, 13])
@pytest.mark.parametrize(("facts", "seed"), [(14, 0), (14, 2), (26, 0)])
def test_a_verdict_does_not_depend_on_units(side, decades, facts, seed):
    plain = decide(OriginalProblem.gaussian(facts, 6, seed=seed))
    assert plain.verdict is (Verdict.STORABLE if facts == 14 else Verdict.NOT_STORABLE)
    problem = stretched(facts, decades, side, seed)
    decision = decide(problem)
    assert decision.verdict is plain.verdict
    assert decision.solution.steps < 1.5 * plain.solution.steps + 5
    assert verify(decision.certificate, problem).valid


def shrunk(facts, size, *sides):
    problem = OriginalProblem.gaussian(facts, 6, seed=0)
    one = np.append(size, np.ones(5))
    return OriginalProblem(
        problem.inputs * (one if "inputs" in sides else 1.0),
        problem.outputs * (one if "outputs" in sides else 1.0),
    )


@pytest.mark.parametrize("size", [1e-155, 1e-200, 1e-300, 1e-310])
def test_columns_whose_squares_underflow_have_a_size(size):
    problem = shrunk(40, size, "inputs", "outputs")
    units = Units.of(problem)
    assert units.spread == pytest.approx(-2 * np.log2(size), abs=4)
    scaled = units.applied(problem)
    for rows in (scaled.inputs, scaled.outputs - scaled.outputs.mean(axis=0)):
        sizes = np.sqrt(np.mean(rows**2, axis=0))
        assert ((sizes >= 2**-0.51) & (sizes <= 2**0.51)).all()


def test_weights_beyond_all_numbers_come_back_as_a_direction():
    units = Units.of(shrunk(40, 1e-200, "inputs", "outputs"))
    weights = units.weights_back(np.ones((6, 6)))
    assert np.isfinite(weights).all()
    assert weights[0, 0] == np.abs(weights).max() > 0.1
    assert weights[0, 1] / weights[0, 0] == pytest.approx(1e-200, rel=10)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("side", ["inputs", "outputs"])
@pytest.mark.parametrize("size", [1e-140, 1e-162, 1e-250])
@pytest.mark.parametrize("facts", [14, 26])
def test_nor_on_one_tiny_unit(side, size, facts):
    problem = shrunk(facts, size, side)
    decision = decide(problem)
    assert decision.verdict is (Verdict.STORABLE if facts == 14 else Verdict.NOT_STORABLE)
    assert verify(decision.certificate, problem).valid


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sides", [("inputs",), ("outputs",), ("inputs", "outputs")])
@pytest.mark.parametrize(
    ("size", "margin_gap"),
    [(1e-150, None), (1e-155, 0.5), (1e-162, None), (1e-200, 0.5), (1e-300, None), (1e-320, 0.5)],
)
def test_units_beyond_the_range_of_proofs_never_turn_a_verdict(sides, size, margin_gap):
    decision = decide(shrunk(14, size, *sides), margin_gap=margin_gap, max_steps=100)
    assert decision.verdict in {Verdict.STORABLE, Verdict.UNDECIDED}
    full = decide(shrunk(26, size, *sides), max_steps=100)
    assert full.verdict in {Verdict.NOT_STORABLE, Verdict.UNDECIDED}


def test_a_tiny_column_that_is_not_needed_does_no_harm():
    inputs = OriginalProblem.gaussian(8, 6, seed=0).inputs
    tiny = np.random.default_rng(1).standard_normal((8, 1)) * 1e-310
    problem = OriginalProblem(np.hstack([inputs, tiny]), np.hstack([inputs, tiny]))
    assert decide(problem).verdict is not Verdict.NOT_STORABLE


@pytest.mark.filterwarnings("error")
def test_outputs_far_from_zero_and_close_together():
    problem = OriginalProblem.gaussian(14, 6, seed=0)
    far = np.column_stack([np.full(14, 2.0**220), problem.outputs * 1e-20])
    assert decide(OriginalProblem(problem.inputs, far)).verdict is not Verdict.NOT_STORABLE


def test_a_start_may_have_rows_as_short_as_it_likes():
    problem = shrunk(14, 1e-200, "inputs", "outputs")
    start = np.diag([1.0, 1e-90, 1.0, 1.0, 1.0, 1.0])
    assert decide(problem, start=start).verdict is Verdict.UNDECIDED
    with pytest.raises(ValueError, match="start = 1e-80 must be zero, or of a size"):
        decide(problem, start=1e-80 * np.eye(6))
