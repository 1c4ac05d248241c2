"""Conjugate gradients against dense solves, and how they end."""

from __future__ import annotations

import numpy as np
import pytest

from simonides.solvers.hinge.conjugate_gradients import conjugate_gradients


def positive(rng, size, condition=50.0):
    basis, _ = np.linalg.qr(rng.standard_normal((size, size)))
    return (basis * np.geomspace(1, condition, size)) @ basis.T


@pytest.mark.parametrize("shape", [(1,), (12,), (3, 4), (5, 1)])
@pytest.mark.parametrize(
    ("precision", "forcing"), [(np.float64, 1e-12), (np.float64, 1e-3), (np.float32, 1e-4)]
)
def test_against_a_dense_solve(shape, precision, forcing):
    rng = np.random.default_rng(0)
    size = int(np.prod(shape))
    matrix, right = positive(rng, size), rng.standard_normal(shape)
    direction, count = conjugate_gradients(
        lambda x: (matrix.astype(precision) @ x.ravel()).reshape(shape),
        right.astype(precision),
        forcing=forcing,
        longest=100,
    )
    assert direction.dtype == precision
    assert direction.shape == shape
    exact = np.linalg.solve(matrix, right.ravel())
    left = np.linalg.norm(matrix @ direction.ravel() - right.ravel()) / np.linalg.norm(right)
    assert left <= 1.1 * forcing + 20 * np.finfo(precision).eps * 50
    # The error is the residual times at most the inverse of the smallest eigenvalue, which is one.
    error = np.linalg.norm(direction.ravel() - exact) / np.linalg.norm(right)
    assert error <= 1.1 * forcing + 20 * np.finfo(precision).eps * 50
    assert 1 <= count <= 3 * size


def test_one_eigenvalue_takes_one_iteration():
    direction, count = conjugate_gradients(lambda x: 4 * x, np.ones(9), forcing=1e-9, longest=50)
    assert count == 1
    np.testing.assert_allclose(direction, 0.25)


def test_the_iteration_limit():
    rng = np.random.default_rng(1)
    matrix, right = positive(rng, 30, 1e6), rng.standard_normal(30)
    for longest in (0, 1, 5):
        direction, count = conjugate_gradients(
            lambda x: matrix @ x, right, forcing=1e-12, longest=longest
        )
        assert count == longest
    assert direction @ right > 0  # downhill at any time
    none, _ = conjugate_gradients(lambda x: matrix @ x, right, forcing=1e-12, longest=0)
    assert not none.any()


def test_what_is_given_is_not_changed():
    right = np.ones(4)
    conjugate_gradients(lambda x: 2 * x, right, forcing=1e-9, longest=9)
    assert right.tolist() == [1.0] * 4


@pytest.mark.parametrize("sign", [-1.0, 0.0, np.nan])
def test_an_operator_that_is_not_positive_ends_it(sign):
    direction, count = conjugate_gradients(lambda x: sign * x, np.ones(4), forcing=1e-9, longest=50)
    assert count == 0
    assert not direction.any()


def test_an_indefinite_operator_leaves_what_was_found_before():
    values = np.array([1.0, 2.0, 3.0, -0.5])
    right = np.array([1.0, 1.0, 1.0, 0.1])
    direction, count = conjugate_gradients(lambda x: values * x, right, forcing=1e-12, longest=50)
    assert 0 < count < 4
    assert np.isfinite(direction).all()
    assert direction @ right > 0


def test_nothing_to_solve_takes_nothing():
    direction, count = conjugate_gradients(lambda x: x, np.zeros(3), forcing=0.1, longest=50)
    assert (direction.tolist(), count) == ([0.0] * 3, 0)
