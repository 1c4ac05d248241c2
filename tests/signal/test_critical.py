"""Critical strengths: published digits, the recursions they solve, and conversions both ways."""

import math
from dataclasses import replace

import numpy as np
import pytest

from simonides.signal import (
    Architecture,
    beta_of_std,
    chaotic_residual,
    critical_beta,
    critical_residual,
    propagate,
    recommend,
    std_of_beta,
)
from simonides.signal.critical import mlp_stretch

TANH = Architecture(
    tokens=512, dim=512, layers=10, activation="tanh", mlp_in_variance=9.0, mlp_out_variance=3.0
)


@pytest.mark.parametrize(
    ("layers", "expected"), [(6, 0.962), (12, 1.504), (24, 2.231), (48, 3.230)]
)
def test_critical_residual(layers, expected):
    assert critical_residual(layers) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize("layers", [3, 12])
def test_critical_residual_is_where_theory_s_own_recursion_reaches_the_target(layers):
    skip = critical_residual(layers, value_variance=0.7, cosine=0.2, target=0.8)
    cosine = 0.2
    for _ in range(layers):
        cosine = cosine * (skip**2 + 0.7) / (skip**2 + 0.7 * cosine)
    assert cosine == pytest.approx(0.8, rel=1e-12)
    network = Architecture(
        tokens=10**6, dim=10**6, layers=layers, activation=None, beta=0.0,
        value_variance=0.7, cosine=0.2, attention_skip=skip,
    )  # fmt: skip
    assert propagate(network).cosine[-1] == pytest.approx(0.8, abs=1e-5)


def test_a_chaotic_mlp_has_a_critical_skip_of_its_own():
    stretch = mlp_stretch(TANH)
    assert stretch == pytest.approx(1.763002, abs=2e-6)
    assert chaotic_residual(TANH) == pytest.approx(1.144820, abs=2e-6)
    # A Gauss-Hermite rule of 80 points does not resolve tanh' at this steepness, and gives 1.7126.
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    slope = weights @ (1 / np.cosh(3 * nodes) ** 4)
    square = weights @ np.tanh(3 * nodes) ** 2
    assert (1 + 27 * slope) / (1 + 3 * square) == pytest.approx(1.7126, abs=6e-5)


@pytest.mark.parametrize(("factor", "grows"), [(0.97, False), (1.03, True)])
def test_at_the_chaotic_skip_a_small_gap_neither_grows_nor_shrinks(factor, grows):
    skip = factor * chaotic_residual(TANH)
    # Beta 0 is plain averaging over so many keys that none counts.
    network = replace(TANH, tokens=10**8, dim=10**8, beta=0.0, attention_skip=skip, cosine=1 - 1e-6)
    gaps = 1 - propagate(network).cosine
    assert bool(gaps[-1] > gaps[1]) is grows


def test_relu_is_never_chaotic():
    assert math.isinf(chaotic_residual(replace(TANH, activation="relu")))
    assert mlp_stretch(replace(TANH, activation="relu", mlp_skip=0.0)) == pytest.approx(1.0)


def test_standard_deviations_of_known_models():
    assert beta_of_std(0.02, 768, 512) == pytest.approx(0.123, abs=5e-4)
    assert beta_of_std(1 / math.sqrt(768), 768, 512) == pytest.approx(0.400, abs=5e-4)


@pytest.mark.parametrize("beta", [0.01, 1.0, 7.0])
def test_conversions_undo_each_other(beta):
    std = std_of_beta(beta, 300, 77)
    assert beta_of_std(std, 300, 77) == pytest.approx(beta, rel=1e-12)
    assert beta_of_std(2 * std, 300, 77, key_std=std / 2) == pytest.approx(beta, rel=1e-12)


def test_critical_beta_grows_as_tokens_align():
    assert critical_beta(0.0) == pytest.approx(math.sqrt(2))
    assert critical_beta(0.9) == pytest.approx(math.sqrt(20))
    assert critical_beta(0.0, norm=2.0) == pytest.approx(math.sqrt(2) / 2)


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", None])
def test_what_is_recommended_reaches_the_target_and_trains(norm, activation):
    network = Architecture(tokens=64, dim=128, layers=30, norm=norm, activation=activation)
    advice = recommend(network, target=0.8)
    assert advice.propagation.outcome == "trainable"
    # Exact statistics say the same as the table that was searched.
    assert propagate(advice.architecture).cosine[-1] == pytest.approx(0.8, abs=2e-3)
    assert advice.architecture.beta == pytest.approx(0.5 * critical_beta(0.1))
    assert advice.layer_beta[0] == pytest.approx(advice.architecture.beta)
    assert np.all(np.diff(advice.layer_beta) > 0)
    assert advice.std == pytest.approx(std_of_beta(advice.architecture.beta, 128, 64))
    alone = propagate(advice.architecture, betas=advice.layer_beta)
    assert alone.outcome == "trainable"


@pytest.mark.slow
def test_where_tokens_part_with_depth_a_later_layer_sets_beta():
    network = Architecture(
        tokens=64, dim=128, layers=6, norm="pre", activation=None, centred=True, cosine=0.8
    )
    advice = recommend(network)
    way = advice.propagation
    assert way.cosine[-1] < 0.8, "tokens part"
    assert advice.beta_critical < critical_beta(0.8)
    assert np.all(way.beta <= 0.5 * way.beta_critical * (1 + 1e-9))
    assert way.beta == pytest.approx(0.5 * way.beta_critical.min(), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("safety", [0.5, 1.0])
def test_betas_of_layers_are_the_fraction_asked_for_with_these_betas(safety):
    network = Architecture(tokens=64, dim=128, layers=12)
    advice = recommend(network, safety=safety)
    way = propagate(advice.architecture, betas=advice.layer_beta.tolist(), method="table")
    assert advice.layer_beta == pytest.approx(safety * way.beta_critical, rel=1e-5)


@pytest.mark.slow
def test_biases_are_scaled_with_the_branch_they_belong_to():
    network = Architecture(
        tokens=64, dim=128, layers=24, norm="pre", activation=None, value_bias_variance=1.0
    )
    advice = recommend(network).architecture
    assert advice.value_variance < 1
    assert advice.value_bias_variance == pytest.approx(advice.value_variance)


@pytest.mark.slow
def test_a_target_out_of_reach_is_named_with_what_keeps_it_there():
    network = Architecture(tokens=64, dim=128, layers=24, norm="pre", mlp_bias_variance=5.0)
    with pytest.raises(ValueError, match=r"target = 0\.9 must .*: .*lower mlp_bias_variance"):
        recommend(network)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: critical_beta(1.0), "cosine = 1.0"),
        (lambda: critical_beta(-0.1), "cosine = -0.1"),
        (lambda: critical_residual(0), "layers = 0"),
        (lambda: critical_residual(4, cosine=0.5, target=0.4), "target = 0.4"),
        (lambda: critical_residual(4, value_variance=-1), "value_variance = -1"),
        (lambda: std_of_beta(-1, 10, 10), "beta = -1"),
        (lambda: std_of_beta(1, 10, 1), "tokens = 1"),
        (lambda: beta_of_std(-0.02, 10, 10), "std = -0.02"),
        (lambda: recommend(TANH, target=0.05), "target = 0.05"),
        (lambda: recommend(TANH, safety=0), "safety = 0"),
    ],
)
def test_bad_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
