"""A method of one's own, and what the registry says of a method: nothing else is known of it."""

import pickle
import sys

import numpy as np
import pytest
from drawn import gaussian

from simonides import AssociativeMemory, OriginalProblem, gradient, verify
from simonides.memory.shortfall import NotAllStoredWarning

MODULE = """
import numpy as np

def least_squares(problem, scale=2.0):
    return scale * problem.target_outputs.T @ np.linalg.pinv(problem.inputs).T

def seeded(problem, *, rank=None, seed=0, start=None):
    seeded.seen = (rank, seed, start is not None)
    return np.random.default_rng(seed).standard_normal((problem.dim_out, problem.dim_in))
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return the name of a module that the package does not know."""
    (tmp_path / "rules_of_mine.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "rules_of_mine"
    sys.modules.pop("rules_of_mine", None)


@pytest.mark.parametrize("whiten", [False, True])
def test_a_method_of_one_s_own_stores_and_is_proved(own, whiten):
    X, Y = gaussian(8, 20)
    memory = AssociativeMemory(f"{own}:least_squares", whiten=whiten).fit(X, Y)
    assert memory.score(X, Y) == 1
    assert verify(memory.certificate_, memory.problem()).valid
    memory.add(*gaussian(2, 20, seed=1)).forget([0])
    assert memory.n_stored_ == 9
    narrow = AssociativeMemory(f"{own}:least_squares", rank=5).fit(X[:3], Y[:3])
    assert narrow.factors_[0].shape == (20, 5)


def test_it_is_passed_what_it_takes_and_promises_nothing(own):
    X, Y = gaussian(20, 12)
    memory = AssociativeMemory(f"{own}:seeded", rank=3, random_state=7)
    with pytest.warns(NotAllStoredWarning, match="method='low_rank' may"):
        memory.fit(X, Y)
    assert sys.modules[own].seeded.seen == (3, 7, False)
    with pytest.warns(NotAllStoredWarning):
        memory.add(X[:1], targets=[4])
    assert sys.modules[own].seeded.seen == (3, 7, True)


def test_it_is_pickled_and_saved_by_its_name_and_not_imported_by_a_file(own, tmp_path):
    X, Y = gaussian(8, 20)
    memory = AssociativeMemory(f"{own}:least_squares").fit(X, Y)
    path, frozen = memory.save(tmp_path / "memory.npz"), pickle.dumps(memory)
    del sys.modules[own]
    for again in (AssociativeMemory.load(path), pickle.loads(frozen)):
        np.testing.assert_array_equal(again.predict(X), np.arange(8))
        assert again.method == f"{own}:least_squares"
        assert own not in sys.modules
    again.add(*gaussian(2, 20, seed=1))
    assert again.n_stored_ == 10


def test_low_rank_without_a_rank_is_of_full_rank():
    X, Y = gaussian(20, 8)
    memory = AssociativeMemory("low_rank").fit(X, Y)
    left, right = memory.factors_
    assert left.shape == right.shape == (8, 8)
    assert memory.score(X, Y) == 1
    assert memory.capacity_.setting.rank is None


def test_a_decision_is_verified_once(monkeypatch):
    calls = []

    def counted(*arguments, **options):
        calls.append(arguments)
        return verify(*arguments, **options)

    monkeypatch.setattr("simonides.solvers.deciding.proof.verify", counted)
    memory = AssociativeMemory().fit(*gaussian(20, 12))
    assert len(calls) == 1
    assert calls[0][0] is memory.certificate_


def test_a_loss_is_passed_on_and_kept(tmp_path):
    X, Y = gaussian(20, 12)
    memory = AssociativeMemory("gradient", loss="squared_hinge").fit(X, Y)
    assert memory.score(X, Y) == 1
    trained = gradient(OriginalProblem(X, Y), loss="squared_hinge", seed=0)
    np.testing.assert_array_equal(memory.weights_, trained.weights)
    assert AssociativeMemory.load(memory.save(tmp_path / "a.npz")).loss == "squared_hinge"
    for method, loss in (
        ("hebbian", "squared_hinge"),
        ("gradient", "none"),
        ("gradient", object()),
    ):
        with pytest.raises(ValueError, match="loss = "):
            AssociativeMemory(method, loss=loss).fit(X, Y)
