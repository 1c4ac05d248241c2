"""Units of coordinates: exact, invertible, and what verdicts should not depend on."""

from __future__ import annotations

import numpy as np
import pytest

from simonides.certificate import verify
from simonides.problems.columns import Units
from simonides.problems.original import OriginalProblem
from simonides.solvers.decide import Verdict, decide


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
    assert Units.of(paired).applied(paired).paired


def test_columns_without_anything_in_them():
    problem = OriginalProblem([[1e-9, 0.0], [2e-9, 0.0]], [[7.0, 7.0], [7.0, 7.0]])
    units = Units.of(problem)
    assert units.of_inputs[1] == units.of_inputs[0] < -20
    assert units.of_outputs.tolist() == [0, 0]
    assert units.spread == 1
    assert units.left_alone().of_inputs.tolist() == [0, 0]


@pytest.mark.parametrize("side", ["inputs", "outputs"])
@pytest.mark.parametrize("decades", [7, 9, 13])
@pytest.mark.parametrize(("facts", "seed"), [(14, 0), (14, 2), (26, 0)])
def test_a_verdict_does_not_depend_on_units(side, decades, facts, seed):
    expected = decide(OriginalProblem.gaussian(facts, 6, seed=seed)).verdict
    assert expected is (Verdict.STORABLE if facts == 14 else Verdict.NOT_STORABLE)
    problem = stretched(facts, decades, side, seed)
    found = decide(problem)
    assert found.verdict is expected
    assert found.solution.steps < 100  # of 400: not where a search gives up
    assert verify(found.certificate, problem).valid
