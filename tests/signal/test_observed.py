"""Classes read off networks: against planted measurements, and against theory on small grids."""

import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from simonides.signal import Architecture, ClassThresholds, critical_beta, propagate, simulate
from simonides.signal.diagram import trainability_diagram
from simonides.signal.networks.simulation import freezing_entropy, observed
from simonides.signal.outcome import OUTCOMES

pytestmark = pytest.mark.filterwarnings("ignore::simonides.signal.notes.PoorTheoryWarning")

BLOCKS = Architecture(tokens=64, dim=128, layers=12, hidden=128, cosine=0.1)


def run(*, cosine=0.5, entropy=3.5, gradient=1.0):
    """Return what a simulation of three layers might have measured."""
    mean = SimpleNamespace(
        cosine=np.array([0.1, 0.2, 0.3, cosine]),
        entropy=np.array([4.0, entropy, 4.0]),
        gradient=np.array([gradient, 1.0, 1.0, 1.0]),
    )
    return SimpleNamespace(architecture=replace(BLOCKS, layers=3), mean=mean)


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        ({}, "trainable"),
        ({"cosine": 0.995}, "rank collapse"),
        ({"entropy": 1.0}, "entropy collapse"),
        ({"gradient": 200.0}, "exploding gradients"),
        ({"gradient": math.inf}, "exploding gradients"),
        ({"gradient": 0.004}, "vanishing gradients"),
        ({"cosine": 0.995, "entropy": 1.0, "gradient": 200.0}, "rank collapse"),
    ],
)
def test_planted_measurements_have_their_class(measured, expected):
    assert observed(run(**measured)) == expected


def test_thresholds_are_the_user_s():
    assert observed(run(gradient=200.0), ClassThresholds(gradient_decades=3)) == "trainable"


def test_attention_freezes_in_networks_where_theory_says():
    # At the critical beta the predicted entropy is the one at which networks count as frozen.
    critical = critical_beta(BLOCKS.cosine)
    way = propagate(replace(BLOCKS, layers=1, beta=critical))
    assert way.entropy[0] == pytest.approx(freezing_entropy(64), rel=1e-9)
    assert freezing_entropy(64) < propagate(replace(BLOCKS, layers=1, beta=1.4)).entropy[0]


def test_networks_without_gradients_have_no_class():
    with pytest.raises(ValueError, match="call simulate with backward=True"):
        observed(simulate(replace(BLOCKS, layers=1), range(2), backward=False))


WEAK = {"norm": "pre", "layers": 8, "value_variance": 0.01, "mlp_out_variance": 0.01}
TANH = {"activation": "tanh", "mlp_out_variance": 2.0, "mlp_skip": 1.0, "attention_skip": 2.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "axis", "values", "classes"),
    [
        ({}, "skip", (0.5, 0.9, 1.8, 4.0), {"rank collapse", "entropy collapse", "trainable"}),
        (
            WEAK,
            "skip",
            (0.7, 1.0, 1.4),
            {"vanishing gradients", "trainable", "exploding gradients"},
        ),
        (TANH, "mlp_in_variance", (0.5, 8.0, 32.0), {"trainable", "exploding gradients"}),
    ],
    ids=["post", "weak", "tanh"],
)
def test_every_class_agrees_with_networks_on_a_grid(change, axis, values, classes):
    network, betas = replace(BLOCKS, **change), (0.3, 0.9, 4.0)
    diagram = trainability_diagram(network, ("beta", betas), (axis, values))
    seen, errors = set(), []
    for (row, value), (column, beta) in product(enumerate(values), enumerate(betas)):
        names = ("attention_skip", "mlp_skip") if axis == "skip" else (axis,)
        networks = simulate(replace(network, beta=beta, **dict.fromkeys(names, value)), range(3))
        predicted = OUTCOMES[diagram.outcome[row, column]]
        assert observed(networks) == predicted, (beta, value)
        seen.add(str(predicted))
        errors.append(networks.mean.cosine[-1] - diagram.cosine[row, column])
    assert classes <= seen
    # Small chaotic networks scatter most.
    assert np.sqrt(np.mean(np.square(errors))) < (0.12 if axis == "mlp_in_variance" else 0.03)
