"""The least change of a bounded rank: planted changes, another solver, its limits, and both proofs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from simonides import (
    BadArgumentError,
    OriginalProblem,
    Status,
    least_change,
    verify_change,
)
from simonides.solvers.change.tangent import Product


def drawn(facts, dim_in, dim_out, candidates, seed, *, weighed=False):
    draws = np.random.default_rng(seed)
    problem = OriginalProblem.gaussian(facts, dim_in, dim_out, candidates=candidates, seed=seed)
    offsets = draws.standard_normal((facts, dim_out))
    sample = draws.standard_normal((dim_in, 2 * dim_in))
    metric = sample @ sample.T / (2 * dim_in) + 0.1 * np.eye(dim_in) if weighed else None
    return problem, offsets, metric, draws.uniform(0.05, 0.3, facts)


def planted(facts, dim, candidates, rank, seed):
    """Return facts that a change of a rank, also returned, stores with the margins they have by it."""
    draws = np.random.default_rng(seed)
    change = draws.standard_normal((dim, rank)) @ draws.standard_normal((rank, dim)) / dim**0.5
    inputs, outputs = (draws.standard_normal((n, dim)) for n in (facts, candidates))
    offsets = draws.standard_normal((facts, dim))
    images = offsets + inputs @ change.T
    scores = images @ outputs.T
    targets = scores.argmax(1)
    margins = np.empty(facts)
    for fact, target in enumerate(targets):
        apart = np.delete(outputs[target] - outputs, target, axis=0)
        margins[fact] = (apart @ images[fact] / np.linalg.norm(apart, axis=1)).min()
    return OriginalProblem(inputs, outputs, targets), offsets, margins, change


def holds(solution, problem, rank):
    assert solution.status is Status.STORED
    assert solution.recalled == problem.facts
    assert np.linalg.matrix_rank(solution.weights) <= rank
    left, right = solution.factors
    assert (left.shape[1], right.shape[1]) == (rank, rank)
    np.testing.assert_allclose(left @ right.T, solution.weights, atol=1e-12)
    proved = verify_change(solution.change_certificate, problem)
    assert proved.valid
    assert proved.margin > 1 - 1e-9
    assert proved.change_upper == pytest.approx(solution.change, rel=1e-9)
    assert proved.change_lower == pytest.approx(solution.change_lower, rel=1e-9)
    assert proved.change_lower <= proved.change_upper


@pytest.mark.parametrize("rank", [1, 2, 4])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_change_that_was_planted_is_not_much_longer_than_needed(rank, seed):
    problem, offsets, margins, change = planted(30, 16, 40, rank, seed)
    solution = least_change(problem, offsets, None, margins, rank=rank)
    holds(solution, problem, rank)
    # Not convex: that of the whole problem is as short, and what is found may be a little longer.
    assert solution.change <= 1.1 * np.linalg.norm(change)


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("shape", [(20, 12, 9, 20), (8, 20, 5, 30)])
def test_the_largest_rank_is_no_bound(shape, weighed):
    case = drawn(*shape, seed=3, weighed=weighed)
    free = least_change(*case)
    solution = least_change(*case, rank=min(shape[1:3]))
    holds(solution, case[0], min(shape[1:3]))
    assert solution.change == pytest.approx(free.change, rel=0.011)
    assert solution.change <= 1.01 * solution.change_lower


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("shape", [(24, 16, 12, 60), (10, 20, 12, 200)])
def test_a_rank_is_kept_in_any_metric(shape, weighed):
    case = drawn(*shape, seed=5, weighed=weighed)
    change, metric = {}, np.eye(shape[1]) if case[2] is None else case[2]
    for rank in (3, 6):
        solution = least_change(*case, rank=rank)
        holds(solution, case[0], rank)
        change[rank] = solution.change
        weights = solution.weights
        assert change[rank] == pytest.approx(np.sqrt(np.trace(weights @ metric @ weights.T)))
    assert least_change(*case).change < change[6] < change[3]


def test_it_is_as_short_as_the_best_of_several_starts_of_another_solver():
    problem, offsets, _, margins = drawn(8, 5, 4, 8, seed=2)
    apart = problem.target_outputs[:, None] - problem.outputs
    spans = np.linalg.norm(apart, axis=2)
    rivals = spans > 0

    def change(numbers):
        left, right = numbers[:8].reshape(4, 2), numbers[8:].reshape(2, 5)
        return left @ right

    def slack(numbers):
        images = offsets + problem.inputs @ change(numbers).T
        leads = np.einsum("ijk,ik->ij", apart, images) - margins[:, None] * spans
        return leads[rivals]

    lengths = []
    draws = np.random.default_rng(0)
    for _ in range(12):
        end = minimize(
            lambda numbers: np.square(change(numbers)).sum(), draws.standard_normal(18),
            method="SLSQP", constraints={"type": "ineq", "fun": slack}, options={"maxiter": 300},
        )  # fmt: skip
        if slack(end.x).min() > -1e-7:
            lengths.append(np.sqrt(end.fun))
    solution = least_change(problem, offsets, None, margins, rank=2, gap=1e-3)
    holds(solution, problem, 2)
    assert solution.change <= 1.02 * np.median(lengths)
    assert solution.change >= 0.99 * min(lengths)


def test_a_rank_that_is_too_small_is_not_called_stored():
    # A matrix of rank one gives only two of the targets the highest score.
    problem = OriginalProblem.gaussian(20, 16, 12, candidates=30, seed=0)
    solution = least_change(problem, margin=0.1, rank=1)
    assert solution.status is Status.STOPPED
    assert solution.recalled < 20
    assert np.linalg.matrix_rank(solution.weights) == 1
    assert not verify_change(solution.change_certificate, problem).valid
    assert least_change(problem, margin=0.1).status is Status.STORED


def test_what_no_rank_stores_is_refuted():
    problem = OriginalProblem.gaussian(20, 4, seed=1)
    offsets = np.random.default_rng(2).standard_normal((20, 4))
    solution = least_change(problem, offsets, margin=0.1, rank=2)
    assert solution.status is Status.INFEASIBLE
    assert solution.change_lower > 1e6
    outputs = problem.outputs.copy()
    outputs[3] = outputs[7]
    twins = OriginalProblem(problem.inputs, outputs, problem.targets)
    solution = least_change(twins, offsets, margin=0.1, rank=2)
    assert solution.status is Status.INFEASIBLE
    assert solution.multipliers.facts.tolist() == [3, 7]


def test_facts_that_are_recalled_already_need_no_change():
    problem, offsets, margins, change = planted(10, 8, 12, 2, 0)
    images = offsets + problem.inputs @ change.T
    solution = least_change(problem, images, margin=0.5 * margins, rank=2)
    assert (solution.status, solution.change) == (Status.STORED, 0.0)
    assert not solution.weights.any()


def test_cut_short_the_best_so_far_is_returned():
    case = drawn(24, 16, 12, 60, seed=5)
    whole = least_change(*case, rank=3)
    feasible = next(step.step for step in whole.history if step.step > 30 and not step.violations)
    for limit in (0, 5, feasible):
        solution = least_change(*case, rank=3, max_steps=limit)
        assert solution.steps == limit
        assert np.linalg.matrix_rank(solution.weights) <= 3
    timed = least_change(*case, rank=3, time_limit=0)
    assert timed.timed_out
    assert timed.recalled < 24

    def watch(progress):
        if progress.step == whole.steps - 5:
            raise KeyboardInterrupt

    stopped = least_change(*case, rank=3, watch=watch)
    assert stopped.interrupted
    assert stopped.status is Status.STORED
    holds(stopped, case[0], 3)


def test_products_project_and_retract():
    draws = np.random.default_rng(0)
    matrix, other = draws.standard_normal((2, 7, 9))
    product = Product.nearest(matrix, 3)
    np.testing.assert_allclose(product.projected(product.matrix), product.matrix, atol=1e-12)
    tangent_part = product.projected(other)
    np.testing.assert_allclose(product.projected(tangent_part), tangent_part, atol=1e-12)
    assert np.vdot(tangent_part, other - tangent_part) == pytest.approx(0, abs=1e-12)
    near = product.retracted(product.matrix + tangent_part)
    expected = Product.nearest(product.matrix + tangent_part, 3).matrix
    np.testing.assert_allclose(near.matrix, expected, atol=1e-10)
    # Matrices of the rank nearby are in the tangent space up to second order.
    step = 1e-4 * other
    nearby = Product.nearest(product.matrix + step, 3).matrix - product.matrix
    assert np.linalg.norm(nearby - product.projected(nearby)) < 1e-6


def test_ranks_that_no_matrix_has_are_refused():
    problem = OriginalProblem.gaussian(5, 4, seed=0)
    for rank in (0, 5, 1.5):
        with pytest.raises(BadArgumentError, match="rank"):
            least_change(problem, rank=rank)
