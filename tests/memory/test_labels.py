"""Labels, as scikit-learn's classifiers take them."""

from decimal import Decimal

import numpy as np
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from simonides import AssociativeMemory, BadArgumentError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 40))
NUMBERS = RNG.integers(7, size=60)
NAMES = np.array([f"word {9 - number}" for number in NUMBERS])


@pytest.mark.parametrize(
    "labels",
    [NUMBERS, 3 * NUMBERS - 5, NAMES, NAMES.astype(object), NAMES.tolist(), NUMBERS > 2],
    ids=["numbers", "gaps", "text", "objects", "list", "truth values"],
)
def test_labels_come_back_as_they_were_given(labels):
    memory = AssociativeMemory().fit(X, labels)
    assert memory.classes_.tolist() == sorted(set(np.asarray(labels).tolist()))
    assert memory.predict(X).tolist() == np.asarray(labels).tolist()
    assert memory.score(X, labels) == 1.0
    assert memory.predict_topk(X, 2)[:, 0].tolist() == np.asarray(labels).tolist()
    assert memory.decision_function(X).shape == (60, len(memory.classes_))
    np.testing.assert_array_equal(memory.outputs_, np.eye(len(memory.classes_)))


def test_inputs_may_be_decimal_numbers():
    """As tables from databases hold them; only whole numbers are known to be meant to the last digit."""
    rounded = X.round(2)
    decimals = np.vectorize(Decimal, otypes=[object])(rounded.astype(str))
    np.testing.assert_array_equal(AssociativeMemory().fit(decimals, NAMES).inputs_, rounded)


def test_a_wrong_label_counts_as_wrong():
    memory = AssociativeMemory().fit(X, NAMES)
    other = NAMES.copy()
    other[:15] = "unheard of"
    other[15:30] = np.where(NAMES[15:30] == "word 9", "word 8", "word 9")
    assert memory.score(X, other) == 0.5


def test_labels_of_another_kind_are_refused_and_never_all_wrong():
    with pytest.raises(BadArgumentError, match="in classes_"):
        AssociativeMemory().fit(X, NAMES).score(X, NUMBERS)


def test_numbers_of_outputs_that_were_found_among_rows_are_refused():
    table = RNG.standard_normal((7, 10))
    memory = AssociativeMemory().fit(X, table[NUMBERS])
    assert memory.score(X, table[NUMBERS]) == 1.0
    with pytest.raises(BadArgumentError, match="embeddings, as fit was given"):
        memory.score(X, NUMBERS)
    numbered = AssociativeMemory().fit(X, outputs=table, targets=NUMBERS)
    assert numbered.score(X, NUMBERS) == 1.0
    assert AssociativeMemory().fit(X, X).score(X, np.arange(60)) == 1.0


def test_labels_with_outputs_of_their_own():
    table = RNG.standard_normal((7, 10))
    memory = AssociativeMemory().fit(X, NAMES, outputs=table)
    np.testing.assert_array_equal(memory.outputs_, table)
    assert memory.classes_.tolist() == sorted(set(NAMES))
    assert memory.score(X, NAMES) == 1.0
    assert memory.score(X, table[np.searchsorted(memory.classes_, NAMES)]) == 1.0


def test_a_pipeline_and_cross_validation():
    centres = 6 * RNG.standard_normal((7, 40))
    rows = centres[NUMBERS] + X
    model = make_pipeline(StandardScaler(), AssociativeMemory())
    assert model.fit(rows, NAMES).score(rows, NAMES) == 1.0
    assert set(model.predict(rows)) == set(NAMES)
    assert cross_val_score(model, rows, NAMES, cv=3).mean() > 0.5


def test_labelled_facts_are_added_and_forgotten():
    memory = AssociativeMemory().fit(X[:50], NAMES[:50]).add(X[50:], NAMES[50:])
    assert memory.score(X, NAMES) == 1.0
    with pytest.raises(BadArgumentError, match=r"y\[1\] = 'new' must be among classes_"):
        memory.add(X[:2], [NAMES[0], "new"])
    assert memory.forget([0]).score(X[1:], NAMES[1:]) == 1.0


def test_new_embeddings_have_no_label():
    table = np.eye(7)[np.unique(NAMES, return_inverse=True)[1]]
    memory = AssociativeMemory().fit(X[:50], NAMES[:50]).add(X[50:], table[50:])
    assert memory.score(X, NAMES) == 1.0
    with pytest.raises(BadArgumentError, match="fit again, with all labels"):
        memory.add(X[:1], np.full((1, 7), 2.0))


@pytest.mark.parametrize("labels", [NUMBERS, 1.0 * NUMBERS, NAMES], ids=["int", "float", "text"])
def test_labels_are_saved(labels, tmp_path):
    memory = AssociativeMemory().fit(X, labels)
    again = AssociativeMemory.load(memory.save(tmp_path / "memory.npz"))
    assert again.classes_.dtype.kind == labels.dtype.kind
    np.testing.assert_array_equal(again.predict(X), labels)
    assert again.score(X, labels) == 1.0


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_labels_are_refused(missing):
    labels = np.array(["a", missing, "c"] * 4, dtype=object)
    with pytest.raises(ValueError, match="none of them missing"):
        AssociativeMemory().fit(np.eye(12), labels)


@pytest.mark.parametrize("words", [False, True], ids=["numbers", "words"])
def test_a_column_of_labels_is_one_of_labels(words):
    X = np.random.default_rng(0).standard_normal((12, 6))
    labels = np.arange(12) % 3
    labels = np.array(["a", "b", "c"])[labels] if words else labels
    with pytest.warns(DataConversionWarning):
        memory = AssociativeMemory().fit(X, labels[:, None])
    np.testing.assert_array_equal(memory.classes_, np.unique(labels))
    np.testing.assert_array_equal(memory.predict(X), labels)
    with pytest.warns(DataConversionWarning):
        assert memory.score(X, labels[:, None]) == 1


def test_a_column_of_real_numbers_stays_one_of_vectors():
    X, y = np.random.default_rng(0).standard_normal((2, 2, 6))
    assert AssociativeMemory().fit(X, y[:, :1]).outputs_.shape == (2, 1)
