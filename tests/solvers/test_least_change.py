"""The least change: against another solver, in its limits, with proofs of both sides."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import nnls

from simonides import (
    BadArgumentError,
    Claim,
    DecoupledProblem,
    OriginalProblem,
    Status,
    decide,
    least_change,
    maximum_margin,
    verify,
    verify_change,
)
from simonides.certificate import Certificate
from simonides.solvers.change import constraints as module
from simonides.solvers.change import kernels


def shortest(problem, offsets, metric, margins):
    """Return the least length by Lawson and Hanson's algorithm for the least distance to a polyhedron."""
    root = np.linalg.cholesky(np.eye(problem.dim_in) if metric is None else metric)
    inputs = np.linalg.solve(root, problem.inputs.T).T
    rows, wanted = [], []
    for fact, own in enumerate(problem.targets):
        for rival in np.delete(np.arange(problem.candidates), own):
            difference = problem.outputs[own] - problem.outputs[rival]
            rows.append(np.outer(difference, inputs[fact]).ravel())
            wanted.append(margins[fact] * np.linalg.norm(difference) - difference @ offsets[fact])
    matrix = np.vstack((np.array(rows).T, wanted))
    right = np.append(np.zeros(len(matrix) - 1), 1.0)
    rest = matrix @ nnls(matrix, right, maxiter=10**5)[0] - right
    return float(np.linalg.norm(rest[:-1] / rest[-1]))


def drawn(facts, dim_in, dim_out, candidates, seed, *, weighed):
    draws = np.random.default_rng(seed)
    problem = OriginalProblem.gaussian(facts, dim_in, dim_out, candidates=candidates, seed=seed)
    offsets = draws.standard_normal((facts, dim_out))
    margins = draws.uniform(0.05, 0.3, facts)
    sample = draws.standard_normal((dim_in, 2 * dim_in))
    metric = sample @ sample.T / (2 * dim_in) + 0.1 * np.eye(dim_in) if weighed else None
    return problem, offsets, metric, margins


SHAPES = [(20, 12, 12, 20), (12, 6, 9, 9), (8, 20, 5, 30), (25, 10, 8, 6), (3, 4, 2, 2)]


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_as_short_as_another_solver_finds(shape, weighed):
    case = drawn(*shape, seed=3, weighed=weighed)
    problem = case[0]
    solution = least_change(*case, gap=1e-3)
    expected = shortest(*case)
    assert solution.status is Status.STORED
    assert solution.recalled == problem.facts
    assert solution.change_lower <= expected * (1 + 1e-9)
    assert expected <= solution.change * (1 + 1e-9) <= 1.001 * (1 + 1e-6) * expected
    proved = verify_change(solution.change_certificate, problem)
    assert proved.valid
    assert proved.margin > 1 - 1e-9
    assert proved.change_lower == pytest.approx(solution.change_lower, rel=1e-9)
    assert proved.change_upper == pytest.approx(solution.change, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 30.0, 1e4])
def test_margins_of_any_size_beside_offsets_converge(scale):
    problem, offsets, metric, margins = drawn(20, 12, 12, 20, seed=11, weighed=True)
    case = problem, offsets, metric, scale * margins
    solution = least_change(*case)
    assert solution.status is Status.STORED
    assert shortest(*case) == pytest.approx(solution.change, rel=0.0101)
    assert solution.change_lower >= 0.99 * solution.change


def test_the_change_is_measured_by_the_metric_on_the_inputs_as_they_are():
    problem, offsets, metric, margins = drawn(20, 12, 12, 20, seed=5, weighed=True)
    solution = least_change(problem, offsets, metric, margins)
    change = solution.weights
    assert solution.change == pytest.approx(np.sqrt(np.trace(change @ metric @ change.T)))
    images = offsets + problem.inputs @ change.T
    assert problem.recall(images).recalled == problem.facts


def test_without_offsets_it_is_the_largest_margin():
    problem = OriginalProblem.gaussian(30, 12, seed=3)
    lengths = np.linalg.norm(problem.inputs, axis=1)
    solution = least_change(problem, margin=lengths, gap=1e-4)
    margin = maximum_margin(problem, gap=1e-4)
    assert solution.change_lower <= 1 / margin.margin_lower * (1 + 1e-9)
    assert solution.change >= 1 / margin.margin_upper * (1 - 1e-9)


def test_facts_that_are_recalled_already_need_no_change():
    problem = OriginalProblem.gaussian(10, 8, seed=0)
    planted = np.random.default_rng(0).standard_normal((8, 8)) * 0.1
    offsets = decide(problem).solution.weights @ problem.inputs.T
    solution = least_change(problem, 100 * offsets.T, margin=1e-9)
    assert (solution.steps, solution.change, solution.recalled) == (0, 0.0, 10)
    assert not solution.weights.any()
    # What is off by a planted change needs no more than to undo it.
    moved = 100 * offsets.T + problem.inputs @ planted.T
    undone = least_change(problem, moved, margin=1e-3)
    assert undone.recalled == 10
    assert undone.change <= np.linalg.norm(planted) * 1.01


def test_what_cannot_be_stored_is_refuted_by_the_proof_of_a_decision():
    problem = OriginalProblem.gaussian(20, 4, seed=1)
    offsets = np.random.default_rng(2).standard_normal((20, 4))
    solution = least_change(problem, offsets, margin=0.1)
    assert solution.status is Status.INFEASIBLE
    assert solution.change_lower > 1e6
    pairs = solution.multipliers
    certificate = Certificate(
        Claim.NOT_STORABLE,
        problem.fingerprint(),
        pair_facts=pairs.facts,
        pair_rivals=pairs.rivals,
        multipliers=pairs.values,
    )
    assert verify(certificate, problem).valid
    proved = verify_change(solution.change_certificate, problem)
    assert not proved.valid
    assert proved.change_lower > 1e6


def test_equal_outputs_and_an_input_of_zero_are_infeasible():
    draws = np.random.default_rng(0)
    inputs, outputs = draws.standard_normal((6, 5)), draws.standard_normal((8, 5))
    twins = OriginalProblem(inputs, outputs[[0, 1, 2, 3, 4, 5, 6, 3]], np.arange(6))
    silent = OriginalProblem(inputs * [[1], [1], [0], [1], [1], [1]], outputs, np.arange(6))
    offsets = draws.standard_normal((6, 5))
    for problem in (twins, silent):
        solution = least_change(problem, offsets, margin=0.1)
        assert solution.status is Status.INFEASIBLE
        assert solution.change_lower > 1e100
        proved = verify_change(solution.change_certificate, problem)
        assert not proved.valid
        assert proved.change_lower > 1e100
    # Where the offset alone is right an input of zero is no obstacle.
    heard = OriginalProblem(inputs, outputs, np.arange(6))
    offsets[2] = 100 * decide(heard).solution.weights @ inputs[2]
    assert least_change(silent, offsets, margin=0.1).recalled == 6


def test_margins_that_are_not_kept_are_not_called_stored():
    problem = OriginalProblem.gaussian(20, 10, 12, candidates=30, seed=0)
    offsets = np.random.default_rng(0).standard_normal((20, 12))
    few, enough = (least_change(problem, offsets, margin=0.1, max_steps=n) for n in (30, 400))
    assert few.recalled == enough.recalled == 20
    assert few.status is Status.STOPPED
    assert verify_change(few.change_certificate, problem).margin < 1
    assert enough.status is Status.STORED
    assert verify_change(enough.change_certificate, problem).margin > 1 - 1e-9


def test_an_equation_that_is_solved_already_is_solved_more_strictly():
    """Four facts in which one more constraint changes the equations by less than they may leave."""
    draws = np.random.default_rng(351)
    shape = draws.integers(1, 6), draws.integers(1, 6), draws.integers(2, 7)
    facts, (dim_in, dim_out, candidates) = int(draws.integers(1, 8)), map(int, shape)
    problem = OriginalProblem.gaussian(facts, dim_in, dim_out, candidates=candidates, seed=351)
    offsets = draws.standard_normal((facts, dim_out)) * 10 ** draws.uniform(-2, 2)
    sample = draws.standard_normal((dim_in, dim_in + 2))
    metric = sample @ sample.T * 10 ** draws.uniform(-3, 3)
    margins = np.full(facts, draws.uniform(0.01, 2)) if draws.random() >= 0.5 else np.ones(facts)
    solution = least_change(problem, offsets, metric, margins)
    assert solution.status is Status.STORED
    least = shortest(problem, offsets, metric, margins)
    assert solution.change == pytest.approx(least, rel=0.0101)


def test_where_too_many_rivals_are_close_the_highest_lead_to_the_same_change(monkeypatch):
    case = drawn(20, 12, 12, 40, seed=7, weighed=True)
    expected = least_change(*case, gap=1e-3).change
    monkeypatch.setattr(module, "_MOST_CLOSE", 2)
    monkeypatch.setattr(module, "_HIGHEST_RIVALS", 2)
    assert least_change(*case, gap=1e-3).change == pytest.approx(expected, rel=1e-3)


def test_threads_change_nothing_that_counts():
    case = drawn(20, 12, 12, 20, seed=2, weighed=False)
    alone, both = (least_change(*case, threads=count) for count in (1, 2))
    np.testing.assert_allclose(alone.weights, both.weights, rtol=1e-6, atol=1e-9)


def test_out_of_time_it_returns_the_best_so_far():
    case = drawn(20, 12, 12, 20, seed=3, weighed=False)
    solution = least_change(*case, time_limit=0)
    assert solution.timed_out
    assert solution.recalled < 20
    few = least_change(*case, max_steps=3)
    assert few.steps == 3
    assert few.status is Status.STOPPED


def test_what_it_cannot_take_is_refused():
    problem, offsets, _, _ = drawn(5, 4, 4, 5, seed=0, weighed=False)
    for arguments, words in [
        ({"margin": 0.0}, "margin"),
        ({"margin": 1e300}, "margin"),
        ({"margin": [1.0, 2.0]}, r"margin\.shape"),
        ({"offsets": offsets[:3]}, r"offsets\.shape"),
        ({"metric": np.ones((4, 4)) - np.eye(4)}, "smallest eigenvalue of metric"),
        ({"metric": np.triu(np.ones((4, 4)))}, "symmetric"),
        ({"gap": 0.0}, "gap"),
    ]:
        with pytest.raises(BadArgumentError, match=words):
            least_change(problem, **arguments)
    with pytest.raises(BadArgumentError, match="shared candidates"):
        least_change(DecoupledProblem.gaussian(5, 4, seed=0))


def test_blocks_are_solved_one_by_one():
    draws = np.random.default_rng(0)
    targets, table = draws.standard_normal((4, 6)), draws.standard_normal((9, 6))
    counts = np.array([3, 0, 1, 5])
    pointer = np.concatenate(([0], np.cumsum(counts)))
    index = draws.integers(9, size=9)
    spans, squares = draws.uniform(1, 2, 9), draws.uniform(1, 2, 4)
    places = np.concatenate(([0], np.cumsum(counts**2)))
    factors, right = np.empty(places[-1]), draws.standard_normal((9, 2))
    kernels.factor_blocks(targets, table, pointer, index, spans, squares, 0.1, places, factors)
    solved = right.copy()
    kernels.solve_blocks(pointer, places, factors, solved)
    for fact, (first, last) in enumerate(pairwise(pointer)):
        rows = (targets[fact] - table[index[first:last]]) / spans[first:last, None]
        block = squares[fact] * rows @ rows.T + 0.1 * np.eye(last - first)
        np.testing.assert_allclose(block @ solved[first:last], right[first:last], atol=1e-12)


@pytest.mark.parametrize(("dim", "candidates"), [(24, 3000), (32, 6000)])
def test_candidates_that_lie_close_are_all_looked_at(dim, candidates):
    # As tokens do: far from the origin and near each other, so that by size alone all are close.
    rng = np.random.default_rng(0)
    outputs = 3 * rng.standard_normal(dim) + 0.2 * rng.standard_normal((candidates, dim))
    targets = rng.choice(candidates, 40, replace=False)
    problem = OriginalProblem(rng.standard_normal((40, 48)), outputs, targets)
    solution = least_change(problem, rng.standard_normal((40, dim)), margin=0.05, max_steps=100)
    assert solution.status is Status.STORED
    assert solution.change <= 1.01 * solution.change_lower


def test_near_twins_of_targets_hide_no_other_candidate():
    # They score nearly as high as their targets, which lead them all the same.
    rng = np.random.default_rng(0)
    own = rng.standard_normal((40, 24))
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    shrunk = own[:, None] * (1 - 0.01 * (1 + rng.random((40, 60, 1))))
    twins = shrunk + 0.001 * rng.standard_normal((40, 60, 24))
    others = 0.5 / 24**0.5 * rng.standard_normal((4000, 24))
    outputs = np.vstack((own, twins.reshape(-1, 24), others)) + 3 * rng.standard_normal(24)
    problem = OriginalProblem(rng.standard_normal((40, 48)), outputs, np.arange(40))
    images = 0.3 * rng.standard_normal((40, 24))
    solution = least_change(problem, images, margin=0.05, max_steps=80)
    assert solution.status is Status.STORED
    assert solution.change <= 1.01 * solution.change_lower


def test_facts_far_beyond_capacity_are_refused_early():
    rng = np.random.default_rng(0)
    outputs = rng.standard_normal((122, 16))
    problem = OriginalProblem(rng.standard_normal((200, 24)), outputs, rng.integers(122, size=200))
    solution = least_change(problem, rng.standard_normal((200, 16)), margin=0.05)
    assert solution.status is Status.INFEASIBLE
    assert solution.steps <= 20
