"""Verdicts on odd vectors: zeros, twins, lines, one dimension, and lengths of any size."""

from __future__ import annotations

import numpy as np
import pytest
from definition import (
    BOTH,
    KINDS,
    assert_proved,
    linear_program_stores,
    proved_verdict,
)

from simonides.problems.contradictions import opposed
from simonides.problems.original import OriginalProblem
from simonides.solvers.solution import Verdict


def gaussian_arrays(facts, dim, seed):
    problem = OriginalProblem.gaussian(facts, dim, seed=seed)
    return problem.inputs.copy(), problem.outputs.copy()


@pytest.mark.parametrize("facts", [6, 40])
@pytest.mark.parametrize("seed", range(4))
def test_an_input_given_twice(facts, seed):
    inputs, outputs = gaussian_arrays(facts, 10, seed)
    inputs[1] = inputs[0]
    targets = np.arange(facts)
    assert proved_verdict(OriginalProblem(inputs, outputs, targets)) is Verdict.NOT_STORABLE
    targets[1] = targets[0]
    problem = OriginalProblem(inputs, outputs, targets)
    without = OriginalProblem(np.delete(inputs, 1, axis=0), outputs, np.delete(targets, 1))
    assert proved_verdict(problem) is proved_verdict(without)
    if facts == 6:
        assert proved_verdict(problem) is Verdict.STORABLE


@pytest.mark.parametrize("facts", [6, 15, 40])
@pytest.mark.parametrize("seed", range(4))
def test_an_output_given_twice_is_never_storable(facts, seed):
    inputs, outputs = gaussian_arrays(facts, 10, seed)
    outputs[1] = outputs[0]
    assert proved_verdict(OriginalProblem(inputs, outputs)) is Verdict.NOT_STORABLE


def test_an_output_given_twice_that_no_fact_wants():
    inputs, outputs = gaussian_arrays(6, 10, 0)
    outputs[1] = outputs[0]
    problem = OriginalProblem(inputs, outputs, [2, 3, 4, 5, 2, 3])
    assert proved_verdict(problem) is Verdict.STORABLE


@pytest.mark.parametrize("factor", [3.0, 0.25])
def test_parallel_inputs(factor):
    inputs, outputs = gaussian_arrays(6, 10, 0)
    inputs[1] = factor * inputs[0]
    assert proved_verdict(OriginalProblem(inputs, outputs)) is Verdict.NOT_STORABLE
    assert proved_verdict(OriginalProblem(inputs, outputs, [0, 0, 2, 3, 4, 5])) is Verdict.STORABLE


def test_opposite_inputs():
    inputs, outputs = gaussian_arrays(6, 10, 0)
    inputs[1] = -inputs[0]
    assert proved_verdict(OriginalProblem(inputs, outputs)) is Verdict.STORABLE
    same = OriginalProblem(inputs, outputs, [0, 0, 2, 3, 4, 5])
    assert proved_verdict(same) is Verdict.NOT_STORABLE


def test_inputs_on_one_line():
    # A line holds two facts: the most extreme outputs along one direction.
    rng = np.random.default_rng(0)
    inputs = np.outer([1.0, -2.0], rng.standard_normal(4))
    outputs = np.eye(4)
    assert proved_verdict(OriginalProblem(inputs, outputs)) is Verdict.STORABLE
    inputs = np.outer([1.0, -2.0, 3.0], rng.standard_normal(4))
    assert proved_verdict(OriginalProblem(inputs, outputs)) is Verdict.NOT_STORABLE


def test_an_output_between_others_is_never_first():
    outputs = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    rng = np.random.default_rng(0)
    assert (
        proved_verdict(OriginalProblem(rng.standard_normal((3, 8)), outputs))
        is Verdict.NOT_STORABLE
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_zero_input_is_never_storable(seed):
    for facts in (6, 15, 40):
        inputs, outputs = gaussian_arrays(facts, 10, seed)
        inputs[2] = 0
        assert proved_verdict(OriginalProblem(inputs, outputs)) is Verdict.NOT_STORABLE


def test_nothing_but_zeros():
    inputs, outputs = gaussian_arrays(5, 3, 0)
    assert proved_verdict(OriginalProblem(0 * inputs, outputs)) is Verdict.NOT_STORABLE
    assert proved_verdict(OriginalProblem(inputs, 0 * outputs)) is Verdict.NOT_STORABLE


def test_a_zero_output_is_an_output_like_others():
    inputs, outputs = gaussian_arrays(6, 10, 0)
    outputs[3] = 0
    assert proved_verdict(OriginalProblem(inputs, outputs)) is Verdict.STORABLE


@pytest.mark.parametrize("facts", [6, 40])
def test_zero_weights_are_a_start_like_others(facts):
    problem = OriginalProblem.gaussian(facts, 8 if facts == 6 else 5, seed=0)
    start = np.zeros((problem.dim_out, problem.dim_in))
    assert proved_verdict(problem, start=start) is proved_verdict(problem)


@BOTH
def test_one_fact_and_one_rival_is_storable(kind):
    for seed in range(5):
        problem = KINDS[kind].gaussian(1, 3, candidates=2, seed=seed)
        assert proved_verdict(problem) is Verdict.STORABLE
        assert proved_verdict(KINDS[kind].gaussian(5, 3, seed=seed).prefix(1)) is Verdict.STORABLE


@BOTH
def test_fewer_facts_than_dimensions_are_storable(kind):
    # Inputs are independent, so any images can be had; targets are extreme in so many dimensions.
    for seed in range(5):
        assert proved_verdict(KINDS[kind].gaussian(8, 12, 30, seed=seed)) is Verdict.STORABLE


@pytest.mark.parametrize("dims", [(1, 1), (1, 5), (5, 1)])
@BOTH
def test_one_dimension(kind, dims):
    for seed in range(6):
        problem = KINDS[kind].gaussian(3, *dims, seed=seed)
        expected = Verdict.STORABLE if linear_program_stores(problem) else Verdict.NOT_STORABLE
        assert proved_verdict(problem) is expected


@pytest.mark.parametrize("start", [None, "ones", "zeros"])
@pytest.mark.parametrize("margin_gap", [None, 1e-2])
def test_targets_that_are_all_zero(start, margin_gap):
    # Whatever scores below zero: one weight, minus one, does it.
    problem = OriginalProblem([[1.0, 0.0], [1.0, 1.0]], [[0.0], [1.0], [2.0]], [0, 0])
    begin = None if start is None else getattr(np, start)((1, 2))
    assert proved_verdict(problem, start=begin, margin_gap=margin_gap) is Verdict.STORABLE


def test_contradictions_beside_facts_at_rest():
    # Two facts cancel exactly; when the others hold, the gradient is exactly zero.
    inputs = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    problem = OriginalProblem(inputs, np.array([[1.0], [0.0]]), [0, 0, 0, 0])
    assert proved_verdict(problem) is Verdict.NOT_STORABLE
    inputs = [[2.0, 0.0], [1.0, -2.0], [-1.0, -2.0], [1.0, 0.0]]
    problem = OriginalProblem(inputs, [[2.0, 2.0, 0.0], [0.0, -2.0, 1.0]], [0, 1, 1, 1])
    assert proved_verdict(problem) is Verdict.NOT_STORABLE


def test_nearly_equal_outputs_give_no_wrong_verdict():
    for closeness in (1e-3, 1e-6, 1e-9, 1e-12, 1e-15):
        for facts in (8, 26):
            inputs, outputs = gaussian_arrays(facts, 6, 1)
            outputs[1] = outputs[0] * (1 + closeness * outputs[1])
            verdict = proved_verdict(OriginalProblem(inputs, outputs), max_steps=60)
            if closeness >= 1e-6:
                assert verdict is (Verdict.STORABLE if facts == 8 else Verdict.NOT_STORABLE)


@pytest.mark.slow
def test_small_whole_numbers_against_linear_programming():
    # Ties, zeros, twins and lines in all combinations; margins are far from rounding.
    rng, stored = np.random.default_rng(0), []
    for _ in range(70):
        facts, dim_in, dim_out = rng.integers(1, 13), *rng.integers(1, 5, 2)
        candidates, largest = rng.integers(2, 7), rng.integers(1, 4)
        problem = OriginalProblem(
            rng.integers(-largest, largest + 1, (facts, dim_in)),
            rng.integers(-largest, largest + 1, (candidates, dim_out)),
            rng.integers(0, candidates, facts),
        )
        expected = linear_program_stores(problem)
        assert proved_verdict(problem) is (Verdict.STORABLE if expected else Verdict.NOT_STORABLE)
        stored.append(expected)
    assert 10 < stored.count(True) < 60


# Units and lengths.


@pytest.mark.parametrize("scale", [1e-60, 1e-18, 1e-2, 1e3, 1e18, 1e60])
@pytest.mark.parametrize("facts", [12, 26])
def test_units_do_not_matter(facts, scale):
    problem = OriginalProblem.gaussian(facts, 6, seed=1)
    expected = proved_verdict(problem)
    assert expected is not Verdict.UNDECIDED
    assert proved_verdict(OriginalProblem(problem.inputs * scale, problem.outputs)) is expected
    assert proved_verdict(OriginalProblem(problem.inputs, problem.outputs * scale)) is expected


@pytest.mark.parametrize("decades", [2, 5, 20, 69])
@pytest.mark.parametrize("facts", [12, 26])
def test_lengths_of_inputs_do_not_matter(facts, decades):
    problem = OriginalProblem.gaussian(facts, 6, seed=1)
    lengths = 10 ** np.random.default_rng(0).uniform(-decades, decades, (facts, 1))
    lengths[:2, 0] = 10.0**-decades, 10.0**decades
    units = problem.inputs / np.abs(problem.inputs).max(axis=1, keepdims=True)
    scaled = OriginalProblem(units * lengths, problem.outputs)
    assert proved_verdict(scaled) is proved_verdict(problem) is not Verdict.UNDECIDED


@pytest.mark.parametrize("decades", [1, 5, 25, 60])
def test_outputs_of_very_different_lengths_give_no_wrong_verdict(decades):
    # Here lengths do matter; linear programming is no judge of such numbers, proofs are.
    for facts in (4, 12, 26):
        problem = OriginalProblem.gaussian(facts, 6, seed=1)
        lengths = 10 ** np.random.default_rng(0).uniform(-decades, decades, (facts, 1))
        stretched = OriginalProblem(problem.inputs, problem.outputs * lengths)
        assert_proved(stretched, max_steps=40)


@pytest.mark.parametrize("shift", [10.0, 1e2, 1e4])
@pytest.mark.parametrize("facts", [12, 26])
def test_a_shift_of_all_outputs_does_not_matter(facts, shift):
    problem = OriginalProblem.gaussian(facts, 6, seed=1)
    shifted = OriginalProblem(problem.inputs, problem.outputs + shift)
    assert proved_verdict(shifted) is proved_verdict(problem)


@pytest.mark.parametrize(
    ("of_inputs", "of_outputs"),
    [pytest.param(1e-170, 1.0, id="inputs"), pytest.param(1.0, 1e-170, id="outputs")],
)
def test_vectors_that_would_underflow_are_refused(of_inputs, of_outputs):
    with pytest.raises(ValueError, match=r"\[0\] = 1e-170 must be zero, or of a size"):
        OriginalProblem(np.eye(3) * of_inputs, np.eye(3) * of_outputs)
    assert (
        proved_verdict(OriginalProblem(np.eye(3) * of_inputs**0.4, np.eye(3))) is Verdict.STORABLE
    )


@pytest.mark.parametrize("scale", [1e100, 1e160])
def test_vectors_that_would_overflow_are_refused(scale):
    with pytest.raises(ValueError, match="must be zero, or of a size"):
        OriginalProblem(np.eye(3) * scale, np.eye(3) * scale)
    large = np.eye(3) * scale**0.4
    assert proved_verdict(OriginalProblem(large, large)) is Verdict.STORABLE


def planted_and_opposed(factor, seed, facts=150, dim=20, apart=0.0, kind=np.float64):
    """Facts that some weights store, and one more: a multiple of an input, with the wrong target for it.

    Their directions may be a little apart, and inputs of another kind of number.
    """
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((dim, dim))
    inputs, outputs = rng.standard_normal((2, facts, dim))
    targets = (inputs @ weights.T @ outputs.T).argmax(axis=1)
    fact = int(rng.integers(facts))
    target = targets[fact] if factor < 0 else (targets[fact] + 1 + rng.integers(facts - 1)) % facts
    inputs = inputs.astype(kind)
    multiple = kind(factor) * inputs[fact] * (1 + apart * rng.standard_normal(dim)).astype(kind)
    return OriginalProblem(np.vstack([inputs, multiple]), outputs, np.append(targets, target))


@pytest.mark.parametrize("factor", [0.01, 100.0, 0.5, 3.0, 4.0, -3.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_multiple_of_an_input_with_another_target_is_refuted(factor, seed):
    # Without a look at pairs about one in five stays open, as rounding lets all facts look recalled.
    problem = planted_and_opposed(factor, seed)
    decision = assert_proved(problem, threads=1)
    assert decision.verdict is Verdict.NOT_STORABLE
    assert decision.solution.recalled < problem.facts


@pytest.mark.parametrize("apart", [1e-14, 1e-13, 1e-12])
@pytest.mark.parametrize("seed", [6, 12, 14])
def test_a_margin_far_below_the_tolerance_is_refuted_or_proved(apart, seed):
    # Weights recall all facts by less than can be proved: a bound on any margin tells.
    decision = assert_proved(planted_and_opposed(0.7, seed, apart=apart), threads=1)
    assert decision.verdict is not Verdict.UNDECIDED


@pytest.mark.parametrize("factor", [0.01, 3.0, -3.0])
def test_two_facts_that_exclude_each_other_are_a_proof_without_a_search(factor):
    problem = planted_and_opposed(factor, 0)
    decision = assert_proved(problem, max_steps=0)
    assert decision.verdict is Verdict.NOT_STORABLE
    assert len(decision.certificate.multipliers) == 2
    assert decision.margin_upper < 1e-13  # what rounding leaves of 151 facts
    assert assert_proved(problem, method="hebbian").verdict is Verdict.NOT_STORABLE
    assert assert_proved(problem, rank=3, max_steps=0).verdict is Verdict.NOT_STORABLE


@pytest.mark.parametrize("factor", [0.01, 3.0, -3.0])
def test_facts_that_exclude_each_other_in_single_precision_are_a_proof_at_a_tolerance_above_it(
    factor,
):
    # In exact arithmetic weights may store both, by a margin below what single precision rounds off.
    for seed in range(5):
        problem = planted_and_opposed(factor, seed, kind=np.float32)
        assert opposed(problem.inputs, problem.targets) is None
        decision = assert_proved(problem, tolerance=1e-6, max_steps=0)
        assert decision.verdict is Verdict.NOT_STORABLE
        assert len(decision.certificate.multipliers) == 2


def test_facts_that_exclude_each_other_are_not_recalled_by_rounding_at_any_tolerance():
    for seed in range(6):
        problem = planted_and_opposed(3.0, seed, facts=30, dim=8)
        decision = assert_proved(problem, tolerance=1e-15, max_steps=60)
        assert decision.solution.recalled < problem.facts, seed


@pytest.mark.parametrize("factor", [1 + 1e-9, -1.0])
def test_multiples_that_agree_exclude_nothing(factor):
    inputs, _ = gaussian_arrays(6, 10, 0)
    targets = np.arange(6)
    inputs[4] = factor * inputs[2]
    targets[4] = targets[2] if factor > 0 else 4
    assert opposed(inputs, targets) is None
    inputs[4, 3] *= 1 + 1e-13  # another direction, by more than rounding
    assert opposed(inputs, np.arange(6)) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_opposed_facts_are_found_among_many_of_one_direction(sign):
    direction = np.random.default_rng(0).standard_normal(12)
    lengths = np.random.default_rng(1).lognormal(0, 5, 400)
    inputs, targets = lengths[:, None] * direction, np.zeros(400, dtype=int)
    assert opposed(inputs, targets) is None
    inputs[137] *= sign
    targets[137] = 1 if sign > 0 else 0
    assert 137 in opposed(inputs, targets)


@pytest.mark.parametrize(
    ("apart", "expected"), [(1e-200, Verdict.NOT_STORABLE), (5e-324, Verdict.UNDECIDED)]
)
def test_outputs_that_differ_by_less_than_squares_can_tell(apart, expected):
    rng = np.random.default_rng(4)
    inputs, outputs = rng.standard_normal((2, 8, 3))
    outputs[1] = outputs[0]
    outputs[:2, 0] = 0.0, apart
    with np.errstate(all="raise", under="ignore"):
        assert proved_verdict(OriginalProblem(inputs, outputs)) is expected
