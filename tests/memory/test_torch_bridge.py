"""To PyTorch and back: scores agree."""

import numpy as np
import pytest
from drawn import fitted

from simonides import AssociativeMemory

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("rank", [None, 8])
def test_scores_agree_there_and_back(rank):
    memory, X, Y = fitted(rank=rank)
    layer = memory.to_torch()
    with torch.no_grad():
        scores = layer(torch.tensor(X)).numpy() @ Y.T
    np.testing.assert_allclose(scores, memory.decision_function(X), atol=1e-12)
    back = AssociativeMemory.from_linear(layer, Y)
    np.testing.assert_array_equal(back.predict(X), memory.predict(X))
    assert back.rank == rank
    assert back.capacity_.setting.candidates == 20


def test_a_layer_alone_is_scored_by_what_it_puts_out():
    layer = torch.nn.Linear(5, 7, bias=False)
    memory = AssociativeMemory.from_linear(layer)
    X = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    with torch.no_grad():
        expected = layer(torch.tensor(X)).numpy()
    np.testing.assert_allclose(memory.decision_function(X), expected, atol=1e-6)
    assert (memory.n_stored_, memory.load_) == (0, 0)


def test_a_layer_without_facts_is_told_where_to_get_them():
    memory = AssociativeMemory.from_linear(torch.nn.Linear(5, 7, bias=False))
    for act in (memory.diagnose, lambda: memory.add(np.ones((1, 5)), targets=[0])):
        with pytest.raises(ValueError, match="a layer comes without facts; fit a memory") as caught:
            act()
        assert "facts=True" not in str(caught.value)


def test_a_layer_that_is_no_memory_is_refused():
    with pytest.raises(ValueError, match=r"layer.bias"):
        AssociativeMemory.from_linear(torch.nn.Linear(3, 4))
    with pytest.raises(ValueError, match=r"nn\.Linear"):
        AssociativeMemory.from_linear(torch.nn.ReLU())


@pytest.mark.parametrize(
    ("shapes", "reason"),
    [(((3, 4), (5, 3)), "one feeds the other"), (((3, 9), (9, 3)), "into one nn.Linear")],
)
def test_two_layers_that_are_no_factors_are_refused(shapes, reason):
    layers = [torch.nn.Linear(*shape, bias=False) for shape in shapes]
    with pytest.raises(ValueError, match=reason):
        AssociativeMemory.from_linear(torch.nn.Sequential(*layers))
