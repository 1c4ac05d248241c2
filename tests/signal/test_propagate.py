"""The forward and backward maps: published digits, exact special cases, limits and warnings."""

import math
from dataclasses import replace

import numpy as np
import pytest

from simonides.signal import Architecture, ClassThresholds, PoorTheoryWarning, propagate
from simonides.signal.attention.softmax import row_moments

# The setting of the paper's first figure.
FIGURE = Architecture(
    tokens=512, dim=720, layers=50, hidden=720, value_variance=0.2, value_bias_variance=4e-4,
    mlp_in_variance=0.2, mlp_out_variance=0.2, mlp_bias_variance=4e-4, cosine=0.026, beta=0.5,
)  # fmt: skip
# And of its comparison of LayerNorm placements.
NORMS = Architecture(
    tokens=512, dim=720, layers=100, hidden=720, value_variance=1.0, mlp_in_variance=0.2,
    mlp_out_variance=0.2, mlp_bias_variance=4e-4, cosine=0.2, beta=0.1,
)  # fmt: skip
TENS = [10, 20, 30, 40, 50]
SMALL = Architecture(tokens=64, dim=256, layers=4, cosine=0.2, beta=0.8)


@pytest.mark.parametrize(
    ("beta", "expected"),
    [(0.5, [0.2643, 0.7127, 0.9408, 0.9901, 0.9984]), (3.0, [0.1483, 0.3666, 0.6784, 0.9266, 0.9876])],
)  # fmt: skip
def test_cosine_through_depth_with_infinitely_many_tokens(beta, expected):
    with pytest.warns(PoorTheoryWarning, match="infinitely many tokens"):
        way = propagate(replace(FIGURE, beta=beta), method="asymptotic")
    np.testing.assert_allclose(way.cosine[TENS], expected, atol=6e-5)


@pytest.mark.slow
def test_cosine_through_depth_with_512_tokens():
    way = propagate(replace(FIGURE, beta=3.0))
    expected = [0.1450, 0.3469, 0.6392, 0.8988, 0.9824]
    np.testing.assert_allclose(way.cosine[TENS], expected, atol=6e-5)


@pytest.mark.parametrize(
    ("norm", "centred", "expected"),
    [("pre", False, 0.9909), ("post", True, 0.5250), ("pre", True, 0.4096)],
)
def test_where_layer_norm_stands(norm, centred, expected):
    with pytest.warns(PoorTheoryWarning):
        way = propagate(replace(NORMS, norm=norm, centred=centred), method="asymptotic")
    assert way.cosine[-1] == pytest.approx(expected, abs=6e-5)


def test_one_post_norm_attention_layer_by_hand():
    network = replace(SMALL, layers=1, activation=None, attention_skip=1.5, beta=0.0)
    way = propagate(network)
    # Even attention: every token becomes the mean of all.
    q = 1.5**2 + (0.2 + 0.8 / 64)
    p = 1.5**2 * 0.2 + (0.2 + 0.8 / 64)
    assert way.cosine[1] == pytest.approx(p / q, rel=1e-9)
    assert way.entropy[0] == pytest.approx(math.log(64))
    assert way.participation[0] == pytest.approx(1 / 64)


def test_a_bias_of_the_values_passes_the_output_projection():
    network = replace(
        SMALL, layers=1, activation=None, norm="pre", attention_skip=0.0, beta=0.0,
        value_bias_variance=0.6, output_variance=0.5,
    )  # fmt: skip
    # Even attention: the mean of all tokens, and the bias, both projected.
    assert propagate(network).norm[1] == pytest.approx(0.5 * (0.2 + 0.8 / 64 + 0.6), rel=1e-9)


def test_pre_norm_attention_conserves_the_gap_up_to_participation():
    network = replace(
        SMALL, tokens=10**8, dim=10**8, activation=None, norm="pre", beta=0.1, layers=8
    )
    way = propagate(network)
    np.testing.assert_allclose(way.norm * (1 - way.cosine), 0.8, rtol=1e-5)
    cosine, norm = 0.2, 1.0
    for layer in range(8):
        norm += cosine
        cosine = 1 - 0.8 / norm
        assert way.norm[layer + 1] == pytest.approx(norm, rel=1e-5)


def test_score_variance_and_critical_beta_follow_the_cosine():
    way = propagate(SMALL)
    gaps = 1 - way.cosine[:-1]
    np.testing.assert_allclose(way.variance, 0.64 * math.log(64) * gaps, rtol=1e-12)
    np.testing.assert_allclose(way.beta_critical, np.sqrt(2 / gaps), rtol=1e-12)
    first = row_moments(float(way.variance[0]), 64)
    assert way.entropy[0] == pytest.approx(first.entropy)
    assert way.entropy_fraction[0] == pytest.approx(first.entropy / math.log(64))


@pytest.mark.slow  # computes a table the first time
def test_the_table_agrees_with_exact_values():
    exact, table = propagate(SMALL), propagate(SMALL, method="table")
    np.testing.assert_allclose(table.cosine, exact.cosine, atol=1e-4)
    np.testing.assert_allclose(table.gradients.tokens, exact.gradients.tokens, rtol=1e-2)


def test_heads_and_an_output_projection_of_gain_one_change_little():
    single, many = propagate(SMALL), propagate(replace(SMALL, heads=8, output_variance=1.0))
    np.testing.assert_allclose(many.cosine, single.cosine, atol=2e-3)
    assert np.any(many.cosine != single.cosine), "norms differ less where more heads are averaged"


def test_finite_width_vanishes_with_the_width():
    plain = propagate(SMALL).cosine
    gaps = [
        np.max(np.abs(propagate(replace(SMALL, dim=dim), finite_width=True).cosine - plain))
        for dim in (64, 4096)
    ]
    assert gaps[1] < gaps[0] / 30
    assert gaps[0] > 1e-4


def test_skip_alone_changes_nothing():
    for norm in ("pre", "post"):
        idle = replace(SMALL, norm=norm, value_variance=0.0, mlp_out_variance=0.0)
        way = propagate(idle)
        np.testing.assert_allclose(way.cosine, 0.2, rtol=1e-12)
        np.testing.assert_allclose(way.gradients.tokens, 1.0, rtol=1e-12)
        assert way.outcome == "trainable"


def test_layers_may_have_betas_of_their_own():
    betas = [0.1, 0.5, 1.0, 0.2]
    way = propagate(SMALL, betas=betas)
    np.testing.assert_array_equal(way.beta, betas)
    assert way.entropy[2] < way.entropy[3]
    same = propagate(SMALL, betas=[0.8] * 4)
    np.testing.assert_array_equal(same.cosine, propagate(SMALL).cosine)
    with pytest.raises(ValueError, match=r"betas = 3 must be as many as there are layers, 4"):
        propagate(SMALL, betas=[1.0] * 3)
    with pytest.raises(ValueError, match=r"betas = -1"):
        propagate(SMALL, betas=[1.0, 1.0, -1, 1.0])


def test_gradient_of_even_attention_by_hand():
    network = replace(
        SMALL, layers=1, activation=None, attention_skip=2.0, beta=0.0, value_variance=0.5
    )
    way = propagate(network)
    total = 4.0 + 0.5 * (0.2 + 0.8 / 64)
    expected = (4.0 + 0.5 / 64) / total
    assert way.gradients.tokens[0] == pytest.approx(expected, rel=1e-9)
    assert way.gradients.coherence[0] == pytest.approx(0.5 / 64 / total, rel=1e-9)
    assert way.gradients.query[0] == 0
    value = network.dim**2 * 64 * (0.2 + 0.8 / 64) / total
    assert way.gradients.value[0] == pytest.approx(value, rel=1e-9)


def test_three_paths_back_through_frozen_attention():
    # b² = 8, so m = 1/2, Y = 1/2 and the factor is m(1 - m)/3 = 1/12; gap 1/2.
    network = Architecture(
        tokens=10**9, dim=10**9, layers=1, activation=None, cosine=0.5, beta=4.0,
        norm="pre", attention_skip=0.0,
    )  # fmt: skip
    with pytest.warns(PoorTheoryWarning):
        gradient = propagate(network, method="asymptotic").gradients.tokens[0]
    scores = 16 * math.log(1e9)
    assert gradient == pytest.approx(0.5 + scores * (0.25 + 0.5) / 12, rel=1e-6)


def test_tokens_that_lean_towards_their_query():
    # Off the diagonal, E (sum A E)² / v² is what keys of equal norm add at finite dimension.
    from simonides.signal.attention.asymptotic import at_finite_width
    from simonides.signal.propagation import statistics_of

    variance, tokens, samples = 3.0, 16, 200_000
    scores = math.sqrt(variance) * np.random.default_rng(2).standard_normal((samples, tokens))
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    pulled = weights * scores
    values = (pulled.sum(axis=1) ** 2 - (pulled**2).sum(axis=1)) / variance
    network = Architecture(tokens=tokens, dim=10**6, layers=1)
    plain = statistics_of(network, "exact")
    at = np.array(variance), np.array(0.3)
    added = network.dim * (at_finite_width(plain, network)(*at).excess - plain(*at).excess)
    # The head's own correction, of order 1/d_h = 1/d, is in both; it is taken out by its rule.
    from simonides.signal.attention.asymptotic import _averaged

    added -= network.dim * (_averaged(plain, *at, network.dim).excess - plain(*at).excess)
    error = values.std() / math.sqrt(samples)
    assert abs(float(added) - values.mean()) < 4 * error + 1e-3


def test_query_gradients_above_and_below_freezing():
    # Orthogonal tokens, averaged loss: T ||dW_Q||² / (d² sqrt(log T)) tends to (b_c/3)(1 - b_c/b).
    def scaled(beta):
        network = Architecture(
            tokens=10**9, dim=10**9, layers=1, activation=None, cosine=0.0, beta=beta,
            norm="pre", attention_skip=0.0,
        )  # fmt: skip
        gradient = propagate(network, method="asymptotic").gradients.query[0]
        return float(gradient) / (1e9 * 1e18 * math.sqrt(math.log(1e9)))

    with pytest.warns(PoorTheoryWarning):
        above = scaled(3.0)
    with pytest.warns(PoorTheoryWarning):
        below = scaled(1.0)
    critical = math.sqrt(2)
    assert above == pytest.approx(critical / 3 * (1 - critical / 3.0), rel=1e-6)
    assert below < 1e-8


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"attention_skip": 3.0, "mlp_skip": 3.0}, "trainable"),
        ({"attention_skip": 0.2, "mlp_skip": 0.2}, "rank collapse"),
        ({"attention_skip": 3.0, "mlp_skip": 3.0, "beta": 2.0}, "entropy collapse"),
        ({"norm": "pre", "attention_skip": 3.0, "mlp_skip": 3.0, "layers": 8}, "exploding gradients"),
        ({"norm": "pre", "attention_skip": 0.7, "mlp_skip": 0.7, "value_variance": 0.01,
          "mlp_out_variance": 0.01, "layers": 8}, "vanishing gradients"),
    ],
)  # fmt: skip
def test_classes(change, expected):
    assert propagate(replace(SMALL, layers=change.pop("layers", 6), **change)).outcome == expected


def test_a_stream_that_leaves_all_bounds_explodes():
    way = propagate(replace(SMALL, norm="pre", layers=60, attention_skip=1e3, mlp_skip=1e3))
    assert way.outcome == "exploding gradients"
    assert np.all(np.isfinite(way.cosine))


def test_thresholds_move_the_classes():
    network = replace(SMALL, layers=3, attention_skip=2.0, mlp_skip=2.0)
    assert propagate(network).outcome == "trainable"
    strict = propagate(network, thresholds=ClassThresholds(cosine_gap=0.9))
    assert strict.outcome == "rank collapse"
    sharp = propagate(network, thresholds=ClassThresholds(entropy_fraction=0.99))
    assert sharp.outcome == "entropy collapse"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"beta": 4.0, "attention_skip": 0.5}, "Frozen attention with a weak skip"),
        ({"causal": True}, "Causal mask"),
        ({"dim": 8}, "predicted gradients are too large"),
    ],
)
def test_poor_regimes_are_announced(change, match):
    with pytest.warns(PoorTheoryWarning) as caught:
        way = propagate(replace(SMALL, layers=2, **change))
    assert any(match in str(warning.message) for warning in caught)
    assert any(match in note for note in way.notes)


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="method = 'guess'"):
        propagate(SMALL, method="guess")
