"""What facts cost among given outputs: simplices, quadratic programs, free offsets, refusals."""

import numpy as np
import pytest
from scipy import optimize

from simonides import BadArgumentError, capacity, capacity_for_outputs
from simonides.theory.cone import statistical_dimension
from simonides.theory.outputs import Cells, nearest, whitened

# Four standard errors: one false alarm in 16,000 checks, and seeds are fixed.
SIGMAS = 4


def even(candidates, dim, seed=0):
    return np.random.default_rng(seed).standard_normal((candidates, dim))


@pytest.mark.parametrize("candidates", [2, 3, 12])
def test_orthogonal_outputs_cost_what_theory_says(candidates):
    # In these coordinates a cell is the retrieval cone itself.
    cells = Cells(np.eye(candidates), np.arange(candidates))
    cost = cells.price(np.random.default_rng(0), 3000, cells.no_offset)
    assert abs(cost.value - statistical_dimension(candidates)) < SIGMAS * cost.stderr


@pytest.mark.parametrize(("candidates", "dim"), [(2, 1), (2, 7), (9, 8), (9, 30)])
def test_outputs_in_general_position_that_a_map_makes_orthogonal(candidates, dim):
    facts = capacity_for_outputs(even(candidates, dim), 20, samples=3000)
    expected = 20 * (candidates - 1) / statistical_dimension(candidates)
    assert abs(facts.value - expected) < SIGMAS * facts.stderr
    assert expected == pytest.approx(capacity(20, dim, candidates=candidates).facts)


@pytest.mark.slow
def test_gaussian_outputs_hold_what_capacity_says():
    facts = capacity_for_outputs(even(1000, 100), 50, samples=2000)
    expected = capacity(50, 100, candidates=1000).facts
    # Their scores are nearly independent: what is left is below two percent, as at other seeds.
    assert abs(facts.value - expected) < SIGMAS * facts.stderr + 0.02 * expected


def test_the_nearest_point_is_that_of_a_quadratic_program():
    outputs, targets, images = even(40, 6), np.arange(12), even(12, 6, seed=1)
    for target, image, point in zip(
        targets, images, nearest(outputs, targets, images), strict=True
    ):
        sides = np.delete(outputs[target] - outputs, target, axis=0)
        optimum = optimize.minimize(
            lambda z, image=image: 0.5 * np.sum((z - image) ** 2),
            np.zeros(6),
            jac=lambda z, image=image: z - image,
            constraints={"type": "ineq", "fun": lambda z, sides=sides: sides @ z},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-14},
        )
        np.testing.assert_allclose(point, optimum.x, atol=1e-5)
        assert (sides @ point).min() > -1e-7


def test_points_are_optimal_among_many_rivals():
    outputs = even(3000, 10)
    outputs[5] = outputs[4] + 1e-3  # a close rival
    targets, images = np.repeat([4, 5, 6], 10), even(30, 10, seed=2)
    points = nearest(outputs, targets, images)
    leads = points @ outputs.T - np.einsum("ij,ij->i", points, outputs[targets])[:, None]
    assert leads.max() < 1e-6
    # What a projection on a cone leaves is orthogonal to it.
    np.testing.assert_allclose(np.einsum("ij,ij->i", points, images - points), 0, atol=1e-9)


def test_invertible_maps_change_nothing():
    outputs = even(60, 5) ** 3
    mapped = outputs @ even(5, 5, seed=3) + 7.0
    first, second = whitened(outputs), whitened(mapped)
    np.testing.assert_allclose(first @ first.T, second @ second.T, atol=1e-8)
    # Empty directions are left out.
    wide = np.hstack([outputs, outputs[:, :2]])
    assert whitened(wide).shape == first.shape


def test_an_offset_helps_where_few_outputs_are_targets():
    # With the others sent far below a choice between two is left, which an endless offset comes to.
    plain, helped = (
        capacity_for_outputs(np.eye(6), 8, [0, 1], offset=offset, samples=2000)
        for offset in (False, True)
    )
    assert abs(plain.value - 8 * 5 / statistical_dimension(6)) < SIGMAS * plain.stderr
    endless = 7 * 5 / statistical_dimension(2)
    assert 2 * plain.value < helped.value < endless + SIGMAS * helped.stderr


def test_no_other_offset_costs_less():
    cells = Cells(whitened(even(50, 10) ** 3), np.arange(3))
    rng = np.random.default_rng(0)
    best = cells.best_offset(rng, 2000)
    least = cells.price(np.random.default_rng(1), 4000, best)
    for step in (-best, *(0.7 * np.eye(10)[:4])):
        other = cells.price(np.random.default_rng(1), 4000, best + step)
        assert other.value > least.value


def test_an_offset_alone_recalls_the_only_target():
    outputs = np.vstack([10 * np.eye(3)[:1], even(50, 3)])
    assert capacity_for_outputs(outputs, 8, [0], offset=True, samples=100).value == np.inf


def test_an_offset_only_costs_its_dimension_where_outputs_are_even():
    simplex = np.eye(6)
    plain, helped = (
        capacity_for_outputs(simplex, 8, offset=offset, samples=3000) for offset in (False, True)
    )
    error = np.hypot(helped.stderr, plain.stderr)
    assert abs(helped.value - 7 / 8 * plain.value) < SIGMAS * error + 0.02 * plain.value


def test_the_same_seed_gives_the_same_answer():
    outputs = even(30, 4)
    first, second = (capacity_for_outputs(outputs, 3, samples=50) for _ in range(2))
    assert first == second != capacity_for_outputs(outputs, 3, samples=50, seed=1)


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("outputs", lambda: capacity_for_outputs([1.0, 2.0], 3)),
        ("outputs", lambda: capacity_for_outputs([["a"]], 3)),
        ("outputs", lambda: capacity_for_outputs(np.ones((4, 2)), 3)),
        ("outputs", lambda: capacity_for_outputs([[1.0], [np.nan]], 3)),
        ("dim_in", lambda: capacity_for_outputs(np.eye(3), 0)),
        ("targets", lambda: capacity_for_outputs(np.eye(3), 3, [3])),
        ("targets", lambda: capacity_for_outputs(np.eye(3), 3, [])),
        ("targets", lambda: capacity_for_outputs(np.eye(3), 3, [0.5])),
        ("samples", lambda: capacity_for_outputs(np.eye(3), 3, samples=1)),
        ("seed", lambda: capacity_for_outputs(np.eye(3), 3, seed=-1)),
        ("dim_in", lambda: capacity_for_outputs(np.eye(3), 1, offset=True)),
    ],
)
def test_refusals_name_the_argument(argument, call):
    with pytest.raises(BadArgumentError) as refusal:
        call()
    assert refusal.value.argument == argument
