"""Facts come and go; what is known stays known, and what is forgotten is gone."""

import numpy as np
import pytest
from drawn import fitted, gaussian, shared

from simonides import AssociativeMemory, verify


def test_added_facts_join_those_stored():
    memory, X, Y = fitted(20, 20)
    more_X, more_Y = gaussian(15, 20, seed=1)
    more_Y[3] = Y[5]  # an output that is there already
    memory.add(more_X, more_Y)
    assert memory.score(X, Y) == memory.score(more_X, more_Y) == 1
    assert len(memory.outputs_) == 34
    assert memory.predict(more_X[3:4]) == [5]
    assert memory.predict(more_X[4:5]) == [23]
    assert verify(memory.certificate_, memory.problem()).valid


def test_adding_what_is_stored_already_changes_nothing():
    memory, X, _ = fitted(30, 20)
    before = memory.weights_
    memory.add(1.1 * X[:5], targets=np.arange(5))
    assert memory.n_iter_ == 0
    direction = np.vdot(before, memory.weights_) / np.linalg.norm(before)
    assert direction / np.linalg.norm(memory.weights_) == pytest.approx(1)
    assert memory.n_stored_ == 35


@pytest.mark.parametrize(("rank", "facts"), [(None, 230), (20, 200)])
def test_a_warm_start_saves_steps(rank, facts):
    # Of one instance the numbers of steps depend on the processor's rounding.
    saved = 0
    for seed in range(5):
        X, Y = gaussian(facts, 40, seed=seed)
        cold = AssociativeMemory(rank=rank).fit(X, Y)
        warm = AssociativeMemory(rank=rank).fit(X[:-2], Y[:-2]).add(X[-2:], Y[-2:])
        assert warm.score(X, Y) == 1
        saved += cold.n_iter_ - warm.n_iter_
    assert saved > 0


def test_added_rows_that_repeat_a_new_output_share_it():
    memory, _, _ = fitted(20, 20)
    more_X, more_Y = gaussian(4, 20, seed=1)
    memory.add(more_X, more_Y[[0, 1, 0, 1]])
    assert memory.targets_[-4:].tolist() == [20, 21, 20, 21]
    np.testing.assert_array_equal(memory.outputs_[20:], more_Y[:2])


@pytest.mark.parametrize("method", ["feasibility", "hebbian"])
def test_what_is_forgotten_is_gone_and_the_rest_is_not(method):
    X, Y = gaussian(120, 60)
    if method == "hebbian":
        X, Y = X[:30], Y[:30]
    memory = AssociativeMemory(method).fit(X, Y)
    memory.forget(range(10))
    assert memory.score(X[10:], Y[10:]) == 1
    assert memory.n_stored_ == len(X) - 10
    # Nothing is left but chance, one in thirty or less a fact.
    assert memory.score(X[:10], Y[:10]) <= 0.2


def test_forgetting_so_much_that_nothing_is_left_starts_anew():
    X, outputs, targets = shared(60, 8, 6)
    X[20:] = X[0] + 0.01 * X[20:]
    targets[20:] = targets[0]
    memory = AssociativeMemory().fit(X, outputs=outputs, targets=targets)
    memory.forget(np.arange(1, 20))
    assert memory.n_stored_ == 41


@pytest.mark.parametrize(
    ("indices", "reason"),
    [([20], r"indices\[0\] = 20"), ([-1], "-1"), ([0.5], "integers"), (range(20), "all 20 facts")],
)
def test_what_cannot_be_forgotten(indices, reason):
    memory, _, _ = fitted()
    with pytest.raises(ValueError, match=reason):
        memory.forget(indices)


def test_what_cannot_be_added():
    memory, X, Y = fitted()
    for arguments, reason in (
        ({"X": X}, "targets = None"),
        ({"X": X, "y": Y, "targets": np.arange(20)}, "not both"),
        ({"X": X, "y": Y[:3]}, "with 20 rows"),
        ({"X": X, "y": Y[:, :3]}, "with 12 columns"),
        ({"X": X[:2], "targets": [0, 20]}, r"targets\[1\] = 20"),
        ({"X": X[:, :3], "y": Y}, "3 features"),
    ):
        with pytest.raises(ValueError, match=reason):
            memory.add(**arguments)
    assert memory.n_stored_ == 20
