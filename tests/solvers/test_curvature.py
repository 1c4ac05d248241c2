"""The curvature of the hinge: its products in both precisions, and the threads that share them."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from definition import BOTH, KINDS
from dense_hinge import CASES, EXACT, make, residuals_of, rows_of, weights_of

from simonides.problems.original import OriginalProblem
from simonides.solvers.hinge import curvature as module
from simonides.solvers.hinge.curvature import Curvature
from simonides.solvers.hinge.hinge import SLACK_PRICE, Hinge, HingeProblem
from simonides.threads import blocks, crew


@CASES
@EXACT
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_the_curvature_against_dense_arithmetic(kind, facts, candidates, precision, exact):
    problem, weights = make(kind, facts, candidates), weights_of(0.3)
    hinge = Hinge.at(HingeProblem(problem, map, exact), weights)
    curvature = Curvature(hinge, precision)
    residuals = residuals_of(problem, weights, exact)
    active = rows_of(problem, exact)[residuals > 0]
    owners = np.repeat(np.arange(facts), len(residuals) // facts)[residuals > 0]
    same = (owners[:, None] == owners) / (
        np.bincount(owners, minlength=facts)[owners] + SLACK_PRICE
    )
    # It sets the unit of the damping; pairs have length one, or up to the root of two.
    trace = np.trace(active.T @ active)
    assert trace / 2 <= curvature.trace * (1 + 1e-12)
    if exact:
        assert curvature.trace == pytest.approx(trace, rel=1e-12)
    direction = weights_of(1.0, seed=2)
    product = curvature(direction.astype(precision))
    assert product.dtype == precision
    leads = active @ direction.ravel()
    expected = (active.T @ (leads - same @ leads)).reshape(3, 4)
    # Differences of outputs cancel, by at most the ratio of lengths to spans: a few here.
    error = np.linalg.norm(product - expected) / max(np.linalg.norm(expected), 1e-9)
    assert error < 200 * np.finfo(precision).eps


@CASES
def test_the_curvature_is_the_derivative_of_the_gradient(kind, facts, candidates):
    # The hinge is piecewise quadratic: over a step that changes no active pair, exactly.
    task, weights = HingeProblem(make(kind, facts, candidates), map), weights_of(0.3)
    hinge, direction = Hinge.at(task, weights), weights_of(1e-6, seed=2)
    ahead = Hinge.at(task, weights + direction)
    np.testing.assert_array_equal(ahead.scan.pairs.rivals, hinge.scan.pairs.rivals)
    np.testing.assert_array_equal(ahead.scan.pairs.pointer, hinge.scan.pairs.pointer)
    change = ahead.gradient - hinge.gradient
    np.testing.assert_allclose(
        change, Curvature(hinge, np.float64)(direction), rtol=1e-6, atol=1e-14
    )


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@BOTH
def test_leaving_out_inactive_facts_changes_nothing(kind, precision, monkeypatch):
    problem = KINDS[kind].gaussian(700, 4, 3, candidates=3, seed=0)
    # All facts are active at small weights; few, in the middle of others, at large ones.
    share = {}
    for scale in (0.1, 50.0):
        hinge = Hinge.at(
            HingeProblem(problem, map), scale * problem.target_outputs.T @ problem.inputs
        )
        share[scale] = np.count_nonzero(np.diff(hinge.scan.pairs.pointer)) / 700
        direction = weights_of(1.0, seed=2).astype(precision)
        results = []
        for threshold in (0.0, 2.0):
            monkeypatch.setattr(module, "_SPARSE_ROWS", threshold)
            curvature = Curvature(hinge, precision)
            assert curvature.rows == (700 if threshold == 0 else round(700 * share[scale]))
            results.append(curvature(direction))
        np.testing.assert_allclose(
            *results, rtol=0, atol=1e-4 if precision is np.float32 else 1e-11
        )
    assert share[50.0] < 0.8


def test_the_curvature_without_any_active_pair_is_zero():
    problem = OriginalProblem(np.eye(1, 4), np.eye(2, 3), [0])
    hinge = Hinge.at(HingeProblem(problem, map), 100 * np.outer([1.0, -1.0, 0.0], [1.0, 0, 0, 0]))
    assert (len(hinge.scan.pairs), hinge.objective, hinge.lost) == (0, 0.0, 0)
    assert not hinge.gradient.any()
    assert not Curvature(hinge, np.float64)(weights_of(1.0)).any()
    assert hinge.margin_upper == np.inf
    assert (
        0 < hinge.margin_lower <= 1 / np.sqrt(2)
    )  # the one pair's own, of which only a bound is known
    assert len(hinge.multipliers().values) == 0


@pytest.mark.parametrize(
    ("scale", "precision"),
    [(1e-15, np.float32), (1e15, np.float32), (1e-60, np.float64), (1e60, np.float64)],
)
def test_outputs_in_other_units_have_the_same_curvature(scale, precision):
    # Constraints have no unit.
    problem, weights = make("original", 8), weights_of(0.3)
    scaled = OriginalProblem(problem.inputs, problem.outputs * scale)
    direction = weights_of(1.0, seed=2).astype(precision)
    plain, rescaled = (
        Curvature(Hinge.at(HingeProblem(each, map), weights), precision)(direction)
        for each in (problem, scaled)
    )
    np.testing.assert_allclose(plain, rescaled, rtol=1e-3, atol=1e-4)


def many(kind, each):
    """A problem of several blocks, at a point where most facts are active."""
    problem = KINDS[kind].gaussian(900, 4, 3, candidates=5, seed=0)
    return Hinge.at(HingeProblem(problem, each), 0.1 * problem.target_outputs.T @ problem.inputs)


@BOTH
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_sharing_changes_no_bit(kind, precision, monkeypatch):
    monkeypatch.setattr("simonides.threads._LEAST_ROWS", 64)
    assert len(blocks(900)) > 5
    directions = [weights_of(1.0, seed=seed).astype(precision) for seed in range(5)]
    alone = Curvature(many(kind, map), precision)
    expected = [alone(direction) for direction in directions]
    for size in (1, 2, 3, 12):  # with and without a thread that has nothing to do
        with crew(size) as each:
            curvature = Curvature(many(kind, each), precision)
            for direction, product in zip(directions, expected, strict=True):
                np.testing.assert_array_equal(curvature(direction), product)


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_threads_are_free_again_after_an_error(error, monkeypatch):
    monkeypatch.setattr("simonides.threads._LEAST_ROWS", 64)
    before, expected = threading.active_count(), Curvature(many("original", map), np.float32)

    def fail(images, *_):
        raise error("no room")

    with crew(3) as each:
        curvature = Curvature(many("original", each), np.float32)
        with monkeypatch.context() as broken:
            broken.setattr(module.kernels, "curve", fail)
            with pytest.raises(error, match="no room"):
                curvature(weights_of(1.0))
        assert each(abs, range(-5, 0)) == [5, 4, 3, 2, 1]
        np.testing.assert_array_equal(curvature(weights_of(1.0)), expected(weights_of(1.0)))
    assert threading.active_count() == before
