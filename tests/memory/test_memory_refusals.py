"""Bad input is refused by name, with what would do instead."""

import numpy as np
import pytest
from drawn import gaussian, shared
from sklearn.exceptions import NotFittedError

from simonides import AssociativeMemory

X, Y = gaussian(10, 8)
OUTPUTS = shared(10, 8, 6)[1]
TARGETS = np.arange(10) % 6


def spoiled(array, value):
    array = array.copy()
    array[2, 1] = value
    return array


HIDING = np.ma.masked_invalid(spoiled(X, np.nan))


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"X": spoiled(X, np.nan), "y": Y}, r"X\[2, 1\] = nan must be finite, .*: clean the data"),
        ({"X": spoiled(X, np.inf), "y": Y}, r"X\[2, 1\] = inf must be finite, .*: clean the data"),
        ({"X": spoiled(X, 1e300), "y": Y}, r"X\[2\] = 1e\+300 must be zero, or of a size"),
        ({"X": X, "y": spoiled(Y, np.nan)}, r"y\[2, 1\] = nan must be finite"),
        ({"X": X, "y": spoiled(Y, -np.inf)}, r"y\[2, 1\] = -inf must be finite"),
        ({"X": spoiled(X.astype(object), 2**53 + 1), "y": Y}, r"X\[2, 1\] = 9007199254740993 must"),
        ({"X": spoiled(X.astype(object), 10**30).tolist(), "y": Y}, r"X\[2, 1\] = 10{30} must"),
        ({"X": HIDING, "y": Y}, "masked entries of X = 1 must be none: fill them or drop"),
        ({"X": [*HIDING], "y": Y}, "masked entries of X = 1 must be none"),
        ({"X": X, "y": HIDING}, "masked entries of y = 1 must be none"),
        ({"X": X + 1j, "y": Y}, "X must be a matrix .*: Complex data not supported$"),
        ({"X": X, "y": Y[:9]}, r"y.shape = \(9, 8\) must be with 10 rows"),
        ({"X": X[:0], "y": Y[:0]}, "X must be a matrix .* 0 sample"),
        ({"X": X[:, :0], "y": Y}, "X must be a matrix .* 0 feature"),
        ({"X": X, "y": Y[:, :0]}, r"y.shape = \(10, 0\)"),
        ({"X": X[0], "y": Y}, r"X must be a matrix .*, got 1D array instead\. Reshape your data"),
        ({"X": X, "y": Y[0]}, r"y.shape = \(8,\) must be with 10 rows"),
        ({"X": X, "y": Y[None]}, r"y.shape = \(1, 10, 8\) must be with 10 rows"),
        ({"X": X, "y": X[:, :, None]}, r"must be two-dimensional: .* outputs= and targets="),
        ({"X": X, "y": X[:, 0]}, "y must be labels, .* Unknown label type: continuous"),
        ({"X": X, "y": np.ones(10)}, "one distinct output"),
        (
            {"X": X, "outputs": OUTPUTS, "y": ["odd", "even"] * 5},
            r"outputs.shape = \(6, \d\) must be with 2 rows: one for each distinct label",
        ),
        ({"X": [[1.0, 2.0], [3.0]], "y": Y}, "X must be a matrix of numbers"),
        ({"X": X, "y": [[1.0, 2.0], [3.0]]}, "y = .* must be rows of equal length"),
        ({"X": X, "outputs": OUTPUTS, "targets": [[1], [2, 3]]}, "targets = .* of equal length"),
        ({"X": X, "outputs": OUTPUTS, "targets": []}, r"targets.shape = \(0,\) must be \(10,\)"),
        ({"X": X, "outputs": OUTPUTS, "y": TARGETS + 1}, r"y\[5\] = 6 must be from 0 to 5"),
        ({"X": X}, "requires y"),
        ({"X": X, "y": Y.astype(object)}, "y = dtype.* must be an array of real numbers"),
        ({"X": X, "y": np.array([["a"] * 8] * 10)}, "real numbers"),
        ({"X": X, "y": np.ones((10, 8))}, "one distinct output"),
        ({"X": X, "outputs": OUTPUTS}, "targets = None must be given once"),
        ({"X": X, "targets": TARGETS}, "outputs = None must be given with targets"),
        ({"X": X, "y": Y, "outputs": OUTPUTS, "targets": TARGETS}, "given once"),
        ({"X": X, "outputs": OUTPUTS, "targets": TARGETS + 1}, r"targets\[5\] = 6 .* 0 to 5"),
        ({"X": X, "outputs": OUTPUTS, "targets": TARGETS - 1}, r"targets\[0\] = -1"),
        ({"X": X, "outputs": OUTPUTS, "targets": TARGETS[:9]}, r"targets.shape = \(9,\)"),
        ({"X": X, "outputs": OUTPUTS, "targets": TARGETS / 1}, "an array of integers"),
        ({"X": X, "outputs": OUTPUTS, "targets": [2**70] * 10}, "an array of integers"),
        (
            {"X": X, "outputs": OUTPUTS, "targets": np.full(10, 2**64 - 1, dtype=np.uint64)},
            r"targets\[0\] = 18446744073709551615",
        ),
        ({"X": X, "outputs": OUTPUTS.astype(object), "targets": TARGETS}, "outputs = dtype"),
        (
            {"X": X, "outputs": OUTPUTS[[0, 1, 2, 3, 4, 1]], "targets": TARGETS},
            r"outputs\[5\] = 'outputs\[1\]' must be another vector, .* neither is ever stored",
        ),
    ],
)
def test_arrays_that_are_no_facts(arrays, reason):
    memory = AssociativeMemory()
    with pytest.raises(ValueError, match=reason):
        memory.fit(**arrays)
    with pytest.raises(NotFittedError):
        memory.predict(X)


def test_a_refused_fit_leaves_a_memory_as_it_was():
    memory = AssociativeMemory().fit(X, Y)
    with pytest.raises(ValueError, match=r"y\.shape"):
        memory.fit(X[:, :3], Y[:9])
    with pytest.raises(ValueError, match="rank = 8 must be at most 3"):
        memory.set_params(rank=8).fit(X[:, :3], Y)
    assert memory.predict(X).tolist() == list(range(10))


@pytest.mark.parametrize(
    ("indices", "reason"),
    [
        ([99], r"indices\[0\] = 99 must be from 0 to 9: it numbers a fact"),
        ([[1, 2]], r"indices.shape = \(1, 2\) must be one-dimensional"),
        ([[1], [2, 3]], "indices = .* must be rows of equal length"),
        ([0.5], "an array of integers"),
        (range(10), "keep one at least"),
    ],
)
def test_facts_that_are_not_there_cannot_be_forgotten(indices, reason):
    memory = AssociativeMemory().fit(X, Y)
    with pytest.raises(ValueError, match=reason):
        memory.forget(indices)
    assert memory.forget([]).predict(X).tolist() == list(range(10))


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"X": spoiled(X, np.nan), "y": Y}, r"X\[2, 1\] = nan"),
        ({"X": spoiled(X, 1e300), "y": Y}, r"X\[2\] = 1e\+300"),
        ({"X": X}, "targets = None must be given, or y, but not both: pass one of the two"),
    ],
)
def test_what_is_added_is_named_as_it_was_passed(arrays, reason):
    memory = AssociativeMemory().fit(X, Y)
    with pytest.raises(ValueError, match=reason):
        memory.add(**arrays)
    assert len(memory.targets_) == 10


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"method": "magic"}, "method = 'magic'"),
        ({"method": "no_such_module:rule"}, "method = 'no_such_module:rule'"),
        ({"method": "margin", "rank": 2}, "method='low_rank'"),
        ({"rank": 0}, "rank = 0"),
        ({"rank": 9}, "at most 8"),
        ({"rank": 2.5}, "rank = 2.5"),
        ({"margin": -1}, "margin = -1"),
        ({"margin": np.nan}, "margin = nan"),
        ({"whiten": "yes"}, "whiten = 'yes'"),
        ({"max_memory": -5}, "max_memory = -5"),
        ({"random_state": "luck"}, "random_state = 'luck'"),
    ],
)
def test_options_that_make_no_sense(options, reason):
    with pytest.raises(ValueError, match=reason):
        AssociativeMemory(**options).fit(X, Y)


def test_a_memory_that_is_empty_recalls_nothing():
    for act in (lambda m: m.predict(X), lambda m: m.diagnose(), lambda m: m.save("memory.npz")):
        with pytest.raises(NotFittedError):
            act(AssociativeMemory())


def test_more_than_there_is():
    memory = AssociativeMemory().fit(X, Y)
    with pytest.raises(ValueError, match="k = 11 must be at most 10"):
        memory.predict_topk(X, 11)
    with pytest.raises(ValueError, match="has 3 features"):
        memory.predict(X[:, :3])
    with pytest.raises(ValueError, match=r"y.shape = \(9, 8\)"):
        memory.score(X, Y[:9])
    with pytest.raises(ValueError, match=r"y\[0\] = .* must be in classes_"):
        memory.score(X, TARGETS + 0.5)
    with pytest.raises(ValueError, match="noise = -1"):
        memory.recall_under_noise([-1.0])


def test_memory_is_refused_before_it_is_taken():
    with pytest.raises(ValueError, match=r"max_memory = 1000 must be at least .* block by block"):
        AssociativeMemory(max_memory=1000).fit(X, Y)
    memory = AssociativeMemory().fit(X, Y).set_params(max_memory=100)
    with pytest.raises(ValueError, match="800 bytes for all scores"):
        memory.decision_function(X)
    assert memory.predict(X).tolist() == list(range(10))
