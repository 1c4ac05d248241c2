"""Trainability diagrams: every point is what `propagate` says, any two axes, all points at once."""

from dataclasses import replace

import numpy as np
import pytest

from simonides.signal import Architecture, Axis, propagate, propagation, trainability_diagram
from simonides.signal.outcome import OUTCOMES

pytestmark = [
    pytest.mark.slow,  # the first one computes a table
    pytest.mark.filterwarnings("ignore::simonides.signal.notes.PoorTheoryWarning"),
]
BLOCKS = Architecture(tokens=64, dim=256, layers=6, cosine=0.1)


def assert_agrees(diagram, row, column, here):
    exact = propagate(here)
    assert diagram.cosine[row, column] == pytest.approx(exact.cosine[-1], abs=2e-4)
    assert diagram.least_entropy[row, column] == pytest.approx(
        exact.entropy_fraction.min(), abs=2e-4
    )
    assert diagram.gradient[row, column] == pytest.approx(exact.gradients.tokens[0], rel=0.02)
    assert OUTCOMES[diagram.outcome[row, column]] == exact.outcome
    first = np.flatnonzero(exact.beta > exact.beta_critical)
    assert diagram.frozen_layer[row, column] == (first[0] + 1 if first.size else 0)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_points_are_what_propagate_says(norm):
    betas, skips = np.linspace(0.2, 3, 4), np.linspace(0.5, 3, 3)
    network = replace(BLOCKS, norm=norm)
    diagram = trainability_diagram(network, ("beta", betas), ("skip", skips))
    for row, skip in enumerate(skips):
        for column, beta in enumerate(betas):
            here = replace(network, beta=beta, attention_skip=skip, mlp_skip=skip)
            assert_agrees(diagram, row, column, here)


@pytest.mark.parametrize(
    ("x", "y", "activation"),
    [
        (("layers", [2, 5]), ("beta", [0.5, 2.0, 3.0]), "relu"),
        (("value_variance", [0.5, 2.0]), ("layers", [1, 4]), "gelu"),
        (("heads", [1, 4]), ("layers", [2, 3]), "tanh"),
        (("output_variance", [0.5, 2.0]), ("cosine", [0.0, 0.6]), "gelu"),
        (("mlp_in_variance", [0.5, 2.0]), ("mlp_bias_variance", [0.0, 0.1]), "tanh"),
        (("mlp_in_variance", [0.5, 2.0]), ("mlp_out_variance", [0.5, 2.0]), "relu"),
    ],
)
def test_any_two_axes(x, y, activation):
    network = replace(BLOCKS, activation=activation)
    diagram = trainability_diagram(network, x, y)
    for row, y_value in enumerate(y[1]):
        for column, x_value in enumerate(x[1]):
            assert_agrees(diagram, row, column, replace(network, **{x[0]: x_value, y[0]: y_value}))


@pytest.mark.parametrize(
    ("activation", "x", "y"),
    [("gelu", "beta", "skip"), ("tanh", "mlp_in_variance", "mlp_bias_variance")],
)
def test_a_large_diagram_asks_for_attention_once_a_layer(monkeypatch, activation, x, y):
    network = replace(BLOCKS, layers=24, activation=activation)
    ranges = {"beta": (0.1, 4), "skip": (0.2, 5)}
    axes = [(name, np.linspace(*ranges.get(name, (0.1, 3)), 60)) for name in (x, y)]
    table, shapes = propagation.statistics_of(network, "table"), []

    def counted(variance, correlation):
        shapes.append(np.shape(correlation))
        return table(variance, correlation)

    monkeypatch.setattr(propagation, "statistics_of", lambda *_args, **_options: counted)
    classes = trainability_diagram(network, *axes)
    assert len(shapes) == 24
    assert classes.outcome.shape == (60, 60)
    if (x, y) == ("beta", "skip"):
        names = {str(name) for row in classes.names() for name in row}
        assert {"trainable", "rank collapse"} <= names


@pytest.mark.parametrize(
    ("x", "y", "named"),
    [
        (("betta", [1]), ("skip", [1]), "axis = 'betta'"),
        (("beta", []), ("skip", [1]), "values = "),
        (("beta", [1]), ("beta", [1]), "y_axis = 'beta'"),
        (("skip", [1]), ("attention_skip", [1]), "y_axis = 'attention_skip' must be another"),
        (("mlp_skip", [1]), ("skip", [1]), "y_axis = 'skip' must be another"),
        (("beta", [-1]), ("skip", [1]), "beta = -1"),
        (("cosine", [0.5, 1.0]), ("skip", [1]), "cosine = 1.0"),
        (("tokens", [1]), ("skip", [1]), "tokens = 1"),
    ],
)
def test_bad_axes_are_named(x, y, named):
    with pytest.raises(ValueError, match=named):
        trainability_diagram(BLOCKS, x, y)


def test_notes_are_those_of_the_points_not_of_the_network_they_vary():
    frozen = replace(BLOCKS, beta=3.0)
    weak = ("value_variance", [0.5, 4.0])
    assert not trainability_diagram(frozen, ("value_variance", [0.5]), ("layers", [4])).notes
    (said,) = trainability_diagram(frozen, weak, ("layers", [4])).notes
    assert "weak skip" in said
    # The skip is weak where nothing is frozen, and strong where all is.
    apart = trainability_diagram(
        replace(BLOCKS, mlp_skip=3.0, cosine=0.0), ("beta", [0.5]), ("attention_skip", [0.5, 3.0])
    )
    assert not apart.notes
    (small,) = trainability_diagram(BLOCKS, ("dim", [32, 256]), ("layers", [4])).notes
    assert "small dimension" in small
    (centred,) = trainability_diagram(
        replace(BLOCKS, centred=True), ("beta", [0.5, 3.0]), ("layers", [4])
    ).notes
    assert "centred" in centred


@pytest.mark.parametrize("y", ["skip", "layers"])
def test_out_of_time_there_are_the_rows_that_are_done(monkeypatch, y):
    axes = ("beta", [0.5, 2.0, 3.0]), (y, [1.0, 2.0, 3.0, 4.0, 5.0])
    whole = trainability_diagram(BLOCKS, *axes)
    monkeypatch.setattr("simonides.signal.diagram._TOGETHER", 6)
    again = trainability_diagram(BLOCKS, *axes)  # two rows at a time
    np.testing.assert_array_equal(again.gradient, whole.gradient)
    part, rows = trainability_diagram(BLOCKS, *axes, time_limit=0), 2 if y == "skip" else 1
    assert part.y_axis.values == (1.0, 2.0)[:rows]
    np.testing.assert_array_equal(part.gradient, whole.gradient[:rows])
    assert part.notes[0] == f"Out of time: these are {rows} of 5 rows."
    assert not any("Out of time" in note for note in again.notes)


def test_an_axis_is_a_name_and_values():
    axis = Axis.of("beta", range(3))
    assert axis.values == (0.0, 1.0, 2.0)
    diagram = trainability_diagram(BLOCKS, axis, ("skip", [1.0]))
    assert diagram.x_axis == axis
