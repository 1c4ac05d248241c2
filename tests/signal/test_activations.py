"""Pair moments of activations against known values, two-dimensional quadrature and sampling."""

import math

import numpy as np
import pytest
from scipy import integrate, special

from simonides.signal.maps.activations import ACTIVATIONS, Activation
from simonides.signal.maps.architecture import MOST_GAIN
from simonides.signal.maps.pair_moments import MOST_VARIANCE, slope_product

FUNCTIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * special.ndtr(x),
    "tanh": np.tanh,
}


def product(activation, variance, cosine):
    moments = ACTIVATIONS[activation].pair_values(np.array(variance), np.array(1 - cosine))
    return float(moments.square - moments.contrast)


def test_known_values():
    assert 2 * product("relu", 1.0, 0.0) == pytest.approx(0.318310, abs=5e-7)
    assert 2 * product("relu", 1.0, 0.5) == pytest.approx(0.608998, abs=5e-7)
    gelu = ACTIVATIONS["gelu"].pair_values(np.array(1.0), np.array(0.5))
    assert float(gelu.square) == pytest.approx(0.425221, abs=6e-7)
    assert product("gelu", 1.0, 0.5) == pytest.approx(0.227295, abs=6e-7)


@pytest.mark.parametrize(
    ("activation", "variance", "cosine"),
    [("relu", 0.3, 0.0), ("gelu", 1.0, 0.6), ("tanh", 9.0, 0.95)],
)
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
    slope = float(
        ACTIVATIONS[activation].pair_slopes(np.array(variance), np.array(1 - cosine)).product
    )
    assert change / (2 * step) == pytest.approx(variance * slope, rel=1e-6)


@pytest.mark.parametrize("variance", [1.0, 9.0, 25.0])
def test_tanh_is_resolved_also_where_it_is_steep(variance):
    def density(z):
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    scale = math.sqrt(variance)
    place = np.array(variance), np.array(0.0)
    slope = integrate.quad(lambda z: density(z) / math.cosh(scale * z) ** 4, -12, 12, limit=400)[0]
    square = integrate.quad(lambda z: density(z) * math.tanh(scale * z) ** 2, -12, 12, limit=400)[0]
    assert float(ACTIVATIONS["tanh"].pair_slopes(*place).square) == pytest.approx(slope, rel=2e-8)
    assert float(ACTIVATIONS["tanh"].pair_values(*place).square) == pytest.approx(square, rel=2e-8)


SLOPES = {
    "gelu": lambda x: special.ndtr(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "tanh": lambda x: 1 / np.cosh(x) ** 2,
}


def summed(function, variance, gap):
    """E f(h) f(h'), each field the sum of a common part and its own."""
    step = 0.25 / max(1, math.sqrt(variance))
    nodes = np.arange(-10, 10 + step, step)
    weights = step * np.exp(-nodes * nodes / 2) / math.sqrt(2 * math.pi)
    common = math.sqrt(variance * (1 - gap)) * nodes[:, None]
    own = math.sqrt(variance * gap) * nodes
    return float(weights @ (function(common + own) @ weights) ** 2)


@pytest.mark.parametrize("activation", SLOPES)
@pytest.mark.parametrize("variance", [1e-3, 0.3, 2.0, 30.0, 200.0])
def test_all_moments_agree_with_sums_over_both_fields(activation, variance):
    gaps = np.array([1.0, 0.6, 0.05])
    place = np.array(variance), gaps
    entry = ACTIVATIONS[activation]
    values, slopes = entry.pair_values(*place), entry.pair_slopes(*place)
    function, slope = FUNCTIONS[activation], SLOPES[activation]
    square, slope_square = (summed(part, variance, 0.0) for part in (function, slope))
    falls = [square - summed(function, variance, gap) for gap in gaps]
    products = [summed(slope, variance, gap) for gap in gaps]
    assert float(values.square) == pytest.approx(square, rel=2e-8)
    assert float(slopes.square) == pytest.approx(slope_square, rel=2e-8)
    np.testing.assert_allclose(values.contrast, falls, rtol=2e-8)
    np.testing.assert_allclose(slopes.product, products, rtol=2e-8)


def test_tanh_s_table_keeps_its_error_at_every_variance_and_gap():
    rng = np.random.default_rng(11)
    variance = np.exp(rng.uniform(math.log(1e-6), math.log(2e6), 120))
    gap = np.where(rng.random(120) < 0.5, rng.random(120), np.exp(rng.uniform(-23, 0, 120)))
    pairs = list(zip(variance, gap, strict=True))
    products = [slope_product(*pair) for pair in pairs]
    np.testing.assert_allclose(
        ACTIVATIONS["tanh"].pair_slopes(variance, gap).product, products, rtol=2e-8
    )
    falls = [fallen(*pair) for pair in pairs]
    np.testing.assert_allclose(
        ACTIVATIONS["tanh"].pair_values(variance, gap).contrast, falls, rtol=2e-8
    )


def fallen(variance, gap):
    """The contrast as the integral of the product of slopes, in a variable that resolves small gaps."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    length = math.log1p(variance * gap)
    inner = np.expm1((nodes + 1) / 2 * length)
    slopes = np.array([slope_product(variance, scaled / variance) for scaled in inner])
    return float(weights / 2 * length @ (slopes * (1 + inner)))


def test_the_table_reaches_the_largest_field_that_a_network_may_have():
    assert MOST_VARIANCE >= 2 * MOST_GAIN


def test_tanh_s_slopes_agree_with_another_quadrature():
    variance, gap = 3.0, 0.4

    def density(common, own):
        return math.exp(-(common**2 + own**2) / 2) / (2 * math.pi)

    def integrand(own, common):
        fields = (
            math.sqrt(variance) * common,
            math.sqrt(variance) * ((1 - gap) * common + math.sqrt(1 - (1 - gap) ** 2) * own),
        )
        return density(common, own) / (math.cosh(fields[0]) * math.cosh(fields[1])) ** 2

    whole, _ = integrate.dblquad(integrand, -9, 9, -9, 9, epsabs=1e-11, epsrel=1e-11)
    assert slope_product(variance, gap) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize("activation", ["gelu", "tanh"])
def test_steep_activations_become_those_with_a_corner(activation):
    # A GELU of a wide field is a ReLU, a tanh of one the sign.
    # What the corner's width of one adds falls like the inverse of the field's, or its square.
    variance, gaps = np.array(2e6), np.array([1.0, 0.5, 0.01])
    moments = ACTIVATIONS[activation].pair_values(variance, gaps).contrast
    if activation == "gelu":
        limit, error = (
            ACTIVATIONS["relu"].pair_values(variance, gaps).contrast,
            10 / float(variance),
        )
    else:
        limit, error = 1 - np.arcsin(1 - gaps) * 2 / math.pi, 10 / math.sqrt(float(variance))
    np.testing.assert_allclose(moments, limit, rtol=error)


@pytest.mark.parametrize(("activation", "slope"), [("gelu", 0.5), ("tanh", 1.0)])
def test_without_a_field_slopes_are_those_at_zero(activation, slope):
    place = np.array(0.0), np.array([0.0, 0.5])
    entry = ACTIVATIONS[activation]
    values, slopes = entry.pair_values(*place), entry.pair_slopes(*place)
    assert float(values.square) == 0
    np.testing.assert_array_equal(values.contrast, 0)
    np.testing.assert_allclose(slopes.product, slope**2, rtol=2e-8)
    assert float(slopes.square) == pytest.approx(slope**2, rel=2e-8)


@pytest.mark.parametrize("activation", FUNCTIONS)
def test_gaps_keep_their_digits(activation):
    gaps = np.array([1e-3, 1e-9, 1e-15])
    contrast = ACTIVATIONS[activation].pair_values(np.array(2.0), gaps).contrast
    first_order = (
        2.0 * float(ACTIVATIONS[activation].pair_slopes(np.array(2.0), np.array(0.0)).square) * gaps
    )
    # ReLU's slope jumps, which leaves a correction of order sqrt(gap).
    np.testing.assert_allclose(contrast, first_order, rtol=3e-2)
    np.testing.assert_allclose(contrast[1:], first_order[1:], rtol=1e-4)


@pytest.mark.parametrize(("activation", "error"), [("gelu", 1e-5), ("tanh", 1e-5), ("relu", 2e-2)])
@pytest.mark.parametrize("variance", [0.01, 1.0, 10.0])
def test_sums_over_the_function_come_near_the_closed_forms(activation, error, variance):
    entry = ACTIVATIONS[activation]
    place = np.array([[variance], [variance / 2]]), np.array([1.0, 0.3, 1e-3, 1e-9])
    plain = Activation(activation, entry.function)
    for moments in ("pair_values", "pair_slopes"):
        exact, summed_up = (getattr(kind, moments)(*place) for kind in (entry, plain))
        for name in vars(exact):
            whole = np.broadcast_to(getattr(exact, name), (2, 4))
            np.testing.assert_allclose(getattr(summed_up, name), whole, rtol=error)
