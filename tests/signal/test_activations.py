"""Pair moments of activations against known values, two-dimensional quadrature and sampling."""

import math

import numpy as np
import pytest
from scipy import integrate, special

from simonides.signal.activations import pair_moments

FUNCTIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * special.ndtr(x),
    "tanh": np.tanh,
}


def product(activation, variance, cosine):
    found = pair_moments(activation, np.array(variance), np.array(1 - cosine))
    return float(found.square - found.contrast)


def test_known_values():
    assert 2 * product("relu", 1.0, 0.0) == pytest.approx(0.318310, abs=5e-7)
    assert 2 * product("relu", 1.0, 0.5) == pytest.approx(0.608998, abs=5e-7)
    gelu = pair_moments("gelu", np.array(1.0), np.array(0.5))
    assert float(gelu.square) == pytest.approx(0.425221, abs=6e-7)
    assert product("gelu", 1.0, 0.5) == pytest.approx(0.227295, abs=6e-7)


@pytest.mark.parametrize("activation", FUNCTIONS)
@pytest.mark.parametrize(("variance", "cosine"), [(0.3, 0.0), (1.0, 0.6), (9.0, 0.95)])
def test_products_agree_with_sampled_pairs(activation, variance, cosine):
    rng = np.random.default_rng(5)
    common, own, other = rng.standard_normal((3, 400_000))
    scale = math.sqrt(variance)
    fields = [
        scale * (math.sqrt(cosine) * common + math.sqrt(1 - cosine) * part) for part in (own, other)
    ]
    first, second = map(FUNCTIONS[activation], fields)
    values = first * second
    error = values.std() / math.sqrt(values.size)
    assert abs(values.mean() - product(activation, variance, cosine)) < 4 * error


@pytest.mark.parametrize("activation", FUNCTIONS)
def test_slopes_are_derivatives_of_the_product(activation):
    # Price's theorem: d E[f f'] / dc = q E[f'(h) f'(h')].
    variance, cosine, step = 1.7, 0.4, 1e-4
    change = product(activation, variance, cosine + step) - product(
        activation, variance, cosine - step
    )
    slope = float(pair_moments(activation, np.array(variance), np.array(1 - cosine)).slope_product)
    assert change / (2 * step) == pytest.approx(variance * slope, rel=1e-6)


@pytest.mark.parametrize("variance", [1.0, 9.0, 25.0])
def test_tanh_is_resolved_also_where_it_is_steep(variance):
    def density(z):
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    scale = math.sqrt(variance)
    found = pair_moments("tanh", np.array(variance), np.array(0.0))
    slope = integrate.quad(lambda z: density(z) / math.cosh(scale * z) ** 4, -12, 12, limit=400)[0]
    square = integrate.quad(lambda z: density(z) * math.tanh(scale * z) ** 2, -12, 12, limit=400)[0]
    assert float(found.slope_square) == pytest.approx(slope, rel=1e-7)
    assert float(found.square) == pytest.approx(square, rel=1e-8)


@pytest.mark.parametrize("activation", FUNCTIONS)
def test_gaps_keep_their_digits(activation):
    gaps = np.array([1e-3, 1e-9, 1e-15])
    found = pair_moments(activation, np.array(2.0), gaps)
    first_order = 2.0 * found.slope_square * gaps
    # ReLU's slope jumps, which leaves a correction of order sqrt(gap).
    np.testing.assert_allclose(found.contrast, first_order, rtol=3e-2)
    np.testing.assert_allclose(found.contrast[1:], first_order[1:], rtol=1e-4)
