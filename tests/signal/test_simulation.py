"""Theory against random networks: cosine through depth, attention, gradients, and classes.

Tolerances are the accuracy that was measured for each case, plus four standard errors of the mean over
networks: fixed seeds, so no false alarms.
"""

import math
import warnings
from dataclasses import fields, replace

import numpy as np
import pytest

from simonides.signal import Architecture, PoorTheoryWarning, propagate, simulate
from simonides.signal.diagram import trainability_diagram
from simonides.signal.networks.simulation import one_network, simulate_each

pytestmark = pytest.mark.filterwarnings("ignore::simonides.signal.notes.PoorTheoryWarning")

BLOCKS = Architecture(
    tokens=128, dim=256, layers=12, hidden=256, cosine=0.05, attention_skip=2.0, mlp_skip=2.0
)
PRE = {"norm": "pre", "attention_skip": 1.0, "mlp_skip": 1.0}


def rms(theory, run):
    return math.sqrt(np.mean((theory.cosine - run.mean.cosine) ** 2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "beta"),
    [
        ({}, 0.5),
        ({}, 3.0),
        (PRE, 1.5),
        (PRE, 3.0),
        ({"activation": "gelu", "mlp_skip": 1.0}, 0.5),
        ({"heads": 8, "output_variance": 1.0}, 1.5),
    ],
)
def test_full_blocks(change, beta):
    network = replace(BLOCKS, beta=beta, **change)
    run = simulate(network, range(3), backward=False)
    assert rms(propagate(network), run) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0.5, 1.5, 3.0])
def test_a_chaotic_mlp(beta):
    network = replace(
        BLOCKS,
        activation="tanh",
        mlp_in_variance=4.0,
        mlp_out_variance=2.0,
        mlp_skip=1.0,
        beta=beta,
    )
    assert rms(propagate(network), simulate(network, range(8), backward=False)) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "tolerance"), [(0.5, 0.02), (1.5, 0.03), (3.0, 0.045)])
def test_attention_and_skip_alone(beta, tolerance):
    network = replace(BLOCKS, activation=None, beta=beta)
    assert rms(propagate(network), simulate(network, range(3), backward=False)) < tolerance


@pytest.mark.slow
def test_without_a_skip_theory_is_worse_and_says_so():
    network = replace(BLOCKS, activation=None, beta=2.5, attention_skip=0.0, layers=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PoorTheoryWarning, match=r"by up to 0\.3"):
            propagate(network)
    error = np.abs(
        propagate(network).cosine - simulate(network, range(3), backward=False).mean.cosine
    )
    assert 0.1 < np.max(error) < 0.35


@pytest.mark.slow
def test_centred_attention():
    network = replace(
        BLOCKS, tokens=192, dim=384, hidden=384, centred=True, beta=1.5,
        attention_skip=1.0, mlp_skip=1.0,
    )  # fmt: skip
    run = simulate(network, range(3), backward=False)
    assert rms(propagate(network), run) < 0.02
    limit = propagate(network, method="asymptotic")
    assert rms(limit, run) > 0.05, "infinitely many tokens are far off here"
    frozen = replace(network, beta=3.0)
    run = simulate(frozen, range(8), backward=False)
    assert rms(propagate(frozen, finite_width=True), run) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0.5, 1.5, 3.0])
def test_late_positions_under_a_causal_mask(beta):
    network = replace(BLOCKS, causal=True, beta=beta)
    assert rms(propagate(network), simulate(network, range(3), backward=False)) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0.7, 2.0])
def test_one_layer_of_attention(beta):
    network = replace(BLOCKS, layers=1, dim=256, heads=8, beta=beta)
    run = simulate(network, range(16), backward=False)
    way = propagate(network, finite_width=True)
    plain = propagate(network)
    # Heads of dimension 32; the correction matters there.
    for name, tolerance in (("entropy", 0.022), ("participation", 0.08)):
        mean, error = getattr(run.mean, name)[0], getattr(run.stderr, name)[0]
        assert abs(getattr(way, name)[0] / mean - 1) < tolerance + 4 * error / mean, name
    off = [abs(answer.entropy[0] - run.mean.entropy[0]) for answer in (way, plain)]
    assert off[0] < off[1]


@pytest.mark.slow
def test_the_norm_of_what_attention_puts_out_needs_the_dimension():
    network = Architecture(
        tokens=256, dim=256, layers=1, activation=None, norm="pre", attention_skip=0.0,
        cosine=0.0, beta=0.7,
    )  # fmt: skip
    run = simulate(network, range(20), backward=False)
    plain, corrected = (propagate(network, finite_width=flag).norm[1] for flag in (False, True))
    assert plain / run.mean.norm[1] < 0.85
    assert corrected / run.mean.norm[1] == pytest.approx(1, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [0.5, 1.5, 3.0])
def test_gradients_of_one_layer(beta):
    network = Architecture(
        tokens=256, dim=256, layers=1, activation=None, norm="pre", attention_skip=0.0,
        cosine=0.3, beta=beta,
    )  # fmt: skip
    run, theory = simulate(network, range(12)), propagate(network, finite_width=True).gradients
    pairs = {
        "query": (theory.query[0], run.mean.query[0], run.stderr.query[0]),
        "key": (theory.key[0], run.mean.key[0], run.stderr.key[0]),
        "value": (theory.value[0], run.mean.value[0], run.stderr.value[0]),
        "tokens": (theory.tokens[0], run.mean.gradient[0], run.stderr.gradient[0]),
    }
    for name, (theory, mean, error) in pairs.items():
        assert abs(theory / mean - 1) < 0.1 + 4 * error / mean, name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "beta", "factor"),
    [({}, 0.5, 1.15), ({}, 1.5, 2.3), (PRE, 1.5, 1.2), (PRE, 3.0, 2.2)],
)
def test_gradients_through_twelve_layers(change, beta, factor):
    network = replace(BLOCKS, beta=beta, **change)
    run = simulate(network, range(3))
    theory, mean = propagate(network).gradients.tokens[0], run.mean.gradient[0]
    allowed = math.log(factor) + 4 * run.stderr.gradient[0] / mean
    assert abs(math.log(theory / mean)) < allowed


@pytest.mark.slow
def test_query_gradients_of_deep_layers_come_out_low():
    network = replace(BLOCKS, tokens=96, dim=192, hidden=192, layers=16, beta=0.5)
    run = simulate(network, range(8))
    deep = slice(10, None)
    ratio = propagate(network).gradients.query[deep].sum() / run.mean.query[deep].sum()
    assert 0.4 < ratio < 0.7


@pytest.mark.slow
def test_entropy_over_a_grid():
    network = Architecture(tokens=64, dim=128, layers=6, hidden=128, cosine=0.1, attention_skip=1.5)
    betas = (0.3, 0.8, 1.4, 2.0, 3.0)
    diagram = trainability_diagram(network, ("beta", betas), ("mlp_skip", (1.0, 2.0)))
    errors = []
    for row, skip in enumerate((1.0, 2.0)):
        for column, beta in enumerate(betas):
            run = simulate(replace(network, beta=beta, mlp_skip=skip), range(2), backward=False)
            least = run.mean.entropy.min() / math.log(64)
            errors.append(least - diagram.least_entropy[row, column])
    assert math.sqrt(np.mean(np.square(errors))) < 0.02


SMALL = Architecture(tokens=5, dim=6, layers=2, heads=2, hidden=7, beta=1.5, cosine=0.3)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"norm": "pre", "activation": "gelu", "output_variance": 0.7},
        {"activation": None, "causal": True},
        {"activation": "tanh", "centred": True, "value_bias_variance": 0.2},
    ],
)
def test_the_way_back_is_the_derivative_of_the_way_forward(change):
    from simonides.signal.networks.network import draw_weights, run_block

    network = replace(SMALL, **change)
    rng = np.random.default_rng(0)
    x, sent = rng.standard_normal((2, network.tokens, network.dim))
    drawn = draw_weights(network, np.random.default_rng(7))
    weights = {role: matrix.astype(np.float64) for role, matrix in drawn.items()}
    gradient, of_weights = run_block(network, weights, x)[2](weights, sent)

    def slope(change_):
        return (change_(1e-5) - change_(-1e-5)) / 2e-5

    def loss(x, weights):
        return float(np.sum(sent * run_block(network, weights, x)[0]))

    direction = rng.standard_normal(x.shape)
    moved = slope(lambda e: loss(x + e * direction, weights))
    assert float(np.sum(gradient * direction)) == pytest.approx(moved, rel=1e-6)
    for role, of_role in zip(("query", "key", "value"), of_weights, strict=True):
        total = 0.0
        for place in np.ndindex(network.dim, network.dim):

            def nudge(e, role=role, place=place):
                matrix = weights[role].copy()
                matrix[place] += e
                return loss(x, weights | {role: matrix})

            total += slope(nudge) ** 2
        assert np.sum(of_role**2) == pytest.approx(total, rel=1e-5)


def test_the_same_seed_gives_the_same_network():
    first, again, other = (one_network(SMALL, seed) for seed in (3, 3, 4))
    for field in fields(first):
        np.testing.assert_array_equal(getattr(first, field.name), getattr(again, field.name))
    assert not np.array_equal(first.cosine, other.cosine)


def test_tokens_start_at_the_cosine_asked_for():
    network = replace(SMALL, tokens=200, dim=400, heads=1, cosine=0.4, layers=1, norm="pre")
    run = simulate(replace(network, input_variance=2.0), range(2), backward=False)
    assert run.mean.cosine[0] == pytest.approx(0.4, abs=0.01)
    assert run.mean.norm[0] == pytest.approx(2.0, rel=0.02)
    assert run.networks == 2
    assert np.all(run.mean.gradient == 0), "not asked for"


def test_several_architectures_are_run_as_each_alone():
    networks = [replace(SMALL, beta=beta) for beta in (0.5, 2.0, 3.0)]
    together = simulate_each(networks, range(3))
    for architecture, simulation in zip(networks, together, strict=True):
        alone = simulate(architecture, range(3))
        assert simulation.architecture == architecture
        assert np.array_equal(simulation.mean.cosine, alone.mean.cosine)
        assert np.array_equal(simulation.stderr.query, alone.stderr.query)


def test_one_network_has_no_error_and_is_refused():
    with pytest.raises(ValueError, match="seeds = 1 must be at least two"):
        simulate(SMALL, [1])
