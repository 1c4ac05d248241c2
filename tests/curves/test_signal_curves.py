"""Tables of signals in transformers hold what theory and networks say."""

import math

import numpy as np
import pytest

from simonides.curves.catalogue import CURVES
from simonides.signal.attention.softmax import row_moments
from simonides.signal.maps.architecture import Architecture
from simonides.signal.paper import curves as signal
from simonides.signal.propagation import propagate


def test_attention_is_that_of_orthogonal_tokens():
    table = signal.attention(100).where("tokens", 512.0)
    row = table.records()[20]
    exact = row_moments(row["beta"] ** 2 * math.log(512), 512)
    assert row["participation"] == exact.participation
    assert np.all(np.diff(table["participation"]) > 0)
    assert np.all(np.diff(table["entropy_fraction"]) < 0)


@pytest.mark.slow
def test_networks_lie_on_the_curves():
    for name, column in (("depth", "cosine"), ("gradients", "query")):
        table = CURVES[name].table()
        gap = np.abs(table[column] - table[f"{column}_simulated"])
        # Small networks: the finite-size error of theory plus four standard errors.
        scale = 1.0 if name == "depth" else table["query"].max()
        assert np.all(gap < 0.12 * scale + 4 * table[f"{column}_simulated_stderr"]), name


def test_a_propagation_becomes_one_row_a_block():
    way = propagate(Architecture(tokens=16, dim=64, layers=4))
    table = signal.propagation_table(way)
    assert len(table) == 4
    np.testing.assert_array_equal(table["cosine"], way.cosine[1:])
    np.testing.assert_array_equal(table["gradient"], way.gradients.tokens[:-1])
