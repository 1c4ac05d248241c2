"""Architectures refuse what no network can have, and say what can."""

import math

import numpy as np
import pytest

from simonides.signal import Architecture

SIZES = {"tokens": 64, "dim": 48, "layers": 3}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"tokens": 1}, "tokens = 1 must be a whole number of at least 2"),
        ({"tokens": 2.5}, "tokens = 2.5"),
        ({"dim": 0}, "dim = 0"),
        ({"layers": -1}, "layers = -1"),
        ({"heads": 5}, "heads = 5 must be a divisor of dim = 48"),
        ({"hidden": 0}, "hidden = 0"),
        ({"beta": -0.1}, "beta = -0.1"),
        ({"beta": math.nan}, "beta = nan"),
        ({"value_variance": -1.0}, "value_variance = -1.0"),
        ({"output_variance": -1.0}, "output_variance = -1.0"),
        ({"mlp_in_variance": math.inf}, "mlp_in_variance = inf"),
        ({"mlp_bias_variance": -1e-9}, "mlp_bias_variance = -1e-09"),
        ({"attention_skip": -2}, "attention_skip = -2"),
        ({"cosine": 1.0}, "cosine = 1.0 must be a finite number at least 0 and below 1"),
        ({"cosine": -0.2}, "cosine = -0.2"),
        ({"input_variance": 0}, "input_variance = 0"),
        ({"norm": "middle"}, "norm = 'middle' must be one of pre, post"),
        (
            {"activation": "swish"},
            "activation = 'swish' must be one of 'relu', 'gelu', 'tanh', None",
        ),
        ({"causal": 1}, "causal = 1 must be True or False"),
    ],
)
def test_bad_input_is_named(change, named):
    with pytest.raises(ValueError, match=named):
        Architecture(**{**SIZES, **change})


def test_numbers_of_any_type_are_kept_as_python_s_own():
    network = Architecture(tokens=np.int64(64), dim=48.0, layers=3, beta=np.float32(0.5))
    assert type(network.tokens) is int
    assert type(network.dim) is int
    assert type(network.beta) is float


def test_derived_sizes():
    network = Architecture(**SIZES, heads=4, value_variance=2.0, output_variance=0.5, beta=2.0)
    assert network.head_dim == 12
    assert network.hidden_dim == 192
    assert network.attention_variance == 1.0
    assert network.score_gain == pytest.approx(2 * math.sqrt(math.log(64)))
