"""An activation from outside the package: theory, networks and diagrams run with it."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from simonides.failures import BadArgumentError
from simonides.signal import Architecture, propagate, simulate, trainability_diagram
from simonides.signal.maps.activations import ACTIVATIONS, Activation, activation_named

MODULE = """
import math
import numpy as np
from scipy import special
from simonides.signal.maps.activations import Activation

def function(field):
    return special.erf(field), 2 / math.sqrt(math.pi) * np.exp(-field * field)

ERF = Activation("erf", function, torch=("torch:erf",))
NOT_ONE = abs
NUMBER = 3
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    (tmp_path / "own_erf.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_erf", raising=False)
    return tmp_path


def network():
    return Architecture(
        tokens=24, dim=192, layers=4, hidden=256, activation="own_erf:ERF", norm="pre", beta=0.5
    )


def test_its_moments_are_those_of_the_error_function(outside):
    variance, gap = np.array(1.3), np.array([1.0, 0.4, 1e-6])
    moments = activation_named("own_erf:ERF").pair_values(variance, gap)
    square, products = (
        np.arcsin(2 * covariance / (1 + 2 * variance)) * 2 / math.pi
        for covariance in (variance, variance * (1 - gap))
    )
    np.testing.assert_allclose(moments.square, np.full(3, square), rtol=1e-9)
    np.testing.assert_allclose(moments.contrast[:2], (square - products)[:2], rtol=1e-5)


def test_theory_agrees_with_networks(outside):
    theory, run = propagate(network()), simulate(network(), range(6))
    gap = np.abs(theory.cosine - run.mean.cosine)
    # Four standard errors, and what 192 dimensions change.
    assert np.all(gap < 4 * run.stderr.cosine + 0.02)
    ratio = theory.gradients.tokens / run.mean.gradient
    np.testing.assert_allclose(ratio, 1, atol=0.15)


@pytest.mark.skipif(find_spec("torch") is None, reason="needs the torch extra")
def test_networks_in_torch_are_the_same(outside):
    numpy, torch = (simulate(network(), range(2), backend=name) for name in ("numpy", "torch"))
    np.testing.assert_allclose(torch.mean.cosine, numpy.mean.cosine, rtol=1e-4)
    np.testing.assert_allclose(torch.mean.gradient, numpy.mean.gradient, rtol=1e-3)


def test_a_diagram_is_what_single_networks_are(outside):
    diagram = trainability_diagram(
        network(), ("beta", [0.3, 3.0]), ("mlp_in_variance", [0.5, 4.0]), method="exact"
    )
    single = propagate(replace(network(), beta=3.0, mlp_in_variance=4.0))
    assert diagram.cosine[1, 1] == pytest.approx(single.cosine[-1])
    assert diagram.names()[1][1] == single.outcome


@pytest.mark.slow
def test_the_command_line_takes_it(outside):
    code = "from simonides.cli import main; main()"
    sizes = ("--layers", "2", "--dim", "32", "--tokens", "8", "--activation", "own_erf:ERF")
    done = subprocess.run(
        [sys.executable, "-c", code, "signal", "propagate", *sizes, "--json"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(outside), *sys.path])},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["architecture"]["activation"] == "own_erf:ERF"


def test_one_that_is_registered_has_a_plain_name(monkeypatch):
    cube = Activation("cube", lambda field: (field**3, 3 * field**2))
    monkeypatch.setitem(ACTIVATIONS, "cube", cube)
    network = Architecture(tokens=8, dim=64, layers=1, activation="cube")
    assert propagate(network).cosine.shape == (2,)
    with pytest.raises(BadArgumentError, match="with a function in torch"):
        cube.in_torch()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_erf:NOTHING", "module:function that can be imported"),
        ("no_such_module:ERF", "module:function that can be imported"),
        ("own_erf:NUMBER", "it is a int"),
        ("own_erf:NOT_ONE", "one of 'relu', 'gelu', 'tanh', None"),
    ],
)
def test_what_is_no_activation_is_refused(outside, name, message):
    with pytest.raises(BadArgumentError, match=message):
        Architecture(tokens=8, dim=32, layers=1, activation=name)
