"""The estimator stores, recalls, proves, and behaves as scikit-learn's do."""

import pickle

import numpy as np
import pytest
from drawn import fitted, gaussian, shared
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from simonides import AssociativeMemory, capacity, verify
from simonides.certificate import Claim
from simonides.memory.shortfall import NotAllStoredWarning
from simonides.solvers.methods import METHODS


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("whiten", [False, True])
def test_every_method_stores_what_is_easy(method, whiten):
    memory, X, Y = fitted(
        10, 20, method=method, whiten=whiten, rank=5 if method == "low_rank" else None
    )
    assert memory.score(X, Y) == 1
    assert memory.n_stored_ == 10
    assert not memory.failed_.size
    assert verify(memory.certificate_, memory.problem()).valid


def test_recall_is_the_definition():
    memory, X, Y = fitted()
    scores = X @ memory.weights_.T @ Y.T
    np.testing.assert_allclose(memory.decision_function(X), scores)
    np.testing.assert_array_equal(memory.predict(X), scores.argmax(axis=1))
    top = memory.predict_topk(X, 3)
    np.testing.assert_array_equal(top, np.argsort(-scores, axis=1)[:, :3])


def test_outputs_and_targets_say_the_same_as_their_embeddings():
    X, outputs, targets = shared(60, 15, 12)
    named = AssociativeMemory().fit(X, outputs=outputs, targets=targets)
    spelled = AssociativeMemory().fit(X, outputs[targets])
    np.testing.assert_array_equal(named.predict(X), targets)
    np.testing.assert_array_equal(spelled.outputs_[spelled.predict(X)], outputs[targets])
    assert named.score(X, targets) == named.score(X, outputs[targets]) == 1
    counts = np.bincount(targets, minlength=12)
    assert named.capacity_.facts == capacity(15, target_counts=counts).facts
    assert named.capacity_.facts < capacity(15, candidates=12).facts
    as_y = AssociativeMemory().fit(X, targets, outputs=outputs)
    np.testing.assert_array_equal(as_y.weights_, named.weights_)


def test_an_embedding_that_is_no_output_is_not_recalled():
    memory, X, Y = fitted()
    assert memory.score(X[:4], np.concatenate((Y[:3], Y[3:4] + 1))) == 0.75


def test_theory_is_that_of_the_shape():
    X = gaussian(15, 12)[0]
    Y = gaussian(15, 9)[1]
    memory = AssociativeMemory(rank=6).fit(X, Y)
    assert memory.capacity_.facts == capacity(12, 9, rank=6).facts
    assert memory.load_ == pytest.approx(15 * np.log(15) / 108)
    left, right = memory.factors_
    assert (left.shape, right.shape) == ((9, 6), (12, 6))
    np.testing.assert_allclose(memory.weights_, left @ right.T)


def test_a_rule_with_a_rank_is_the_best_approximation_of_that_rank():
    full, X, Y = fitted(8, 40, method="hebbian")
    narrow = AssociativeMemory("hebbian", rank=6).fit(X, Y)
    values = np.linalg.svd(full.weights_, compute_uv=False)
    error = np.linalg.norm(full.weights_ - narrow.weights_)
    assert error == pytest.approx(np.sqrt(np.sum(values[6:] ** 2)))


def test_normalised_outputs_win_by_direction_alone():
    X, Y = gaussian(30, 12)
    Y = Y * np.linspace(0.1, 10, 30)[:, None]
    memory = AssociativeMemory(normalize_outputs=True).fit(X, Y)
    images = X @ memory.weights_.T
    cosines = images @ (Y / np.linalg.norm(Y, axis=1, keepdims=True)).T
    np.testing.assert_array_equal(cosines.argmax(axis=1), np.arange(30))
    np.testing.assert_array_equal(memory.outputs_, Y)
    assert memory.score(X, Y) == 1


@pytest.mark.slow
def test_a_margin_is_asked_of_every_fact():
    memory, X, Y = fitted(30, 20, margin=0.5)
    scores = memory.decision_function(X)
    scores -= scores.mean(axis=1, keepdims=True)
    unit = np.sqrt(np.mean(scores[~np.eye(30, dtype=bool)] ** 2))
    own = np.diag(scores).copy()
    np.fill_diagonal(scores, -np.inf)
    assert ((own - scores.max(axis=1)) / unit).min() >= 0.5
    assert memory.capacity_.setting.margin == 0.5
    with pytest.warns(NotAllStoredWarning):
        asked_too_much = AssociativeMemory(margin=3.0).fit(X, Y)
    assert asked_too_much.n_stored_ < 30


@pytest.mark.parametrize("method", ["gradient", "cross_entropy"])
def test_a_random_state_is_a_seed(method):
    X, Y = gaussian(20, 12)
    fits = [
        AssociativeMemory(method, rank=5, random_state=state).fit(X, Y).weights_
        for state in (3, 3, np.int64(3))
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    np.testing.assert_array_equal(fits[0], fits[2])
    for state in (np.random.default_rng(0), np.random.RandomState(0)):
        AssociativeMemory(method, rank=5, random_state=state).fit(X, Y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::simonides.memory.shortfall.NotAllStoredWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learn_s_own_checks():
    # One-dimensional outputs, which the checks use, store their two extremes only: hence the warnings.
    # No check is expected to fail. The one left out needs SCIPY_ARRAY_API in the environment.
    results = check_estimator(AssociativeMemory(), on_fail=None, on_skip=None)
    outcomes = {result["check_name"]: result["status"] for result in results}
    assert len(outcomes) > 35
    assert {name for name, outcome in outcomes.items() if outcome == "failed"} == set()
    assert {name for name, outcome in outcomes.items() if outcome != "passed"} <= {
        "check_array_api_input"
    }


def test_clones_and_pickles():
    memory, X, _ = fitted(rank=8)
    again = clone(memory)
    assert again.get_params() == memory.get_params()
    assert not hasattr(again, "weights_")
    thawed = pickle.loads(pickle.dumps(memory))
    np.testing.assert_array_equal(thawed.decision_function(X), memory.decision_function(X))


@pytest.mark.slow
def test_in_a_pipeline_and_under_cross_validation():
    rng = np.random.default_rng(0)
    outputs = rng.standard_normal((5, 8))
    targets = np.tile(np.arange(5), 20)
    X = outputs[targets] @ rng.standard_normal((8, 10)) + 0.1 * rng.standard_normal((100, 10))
    pipe = make_pipeline(StandardScaler(), AssociativeMemory())
    assert pipe.fit(X, outputs[targets]).score(X, outputs[targets]) == 1
    scores = cross_val_score(pipe, X, outputs[targets], cv=4)
    assert scores.min() > 0.9  # clusters far apart: what is learned holds for their other members
    search = GridSearchCV(AssociativeMemory(), {"method": ["margin", "feasibility"]}, cv=3)
    assert search.fit(X, outputs[targets]).best_score_ > 0.9


def test_what_the_caller_does_to_the_inputs_later_changes_nothing():
    X, Y = gaussian(20, 10)
    kept = X.copy()
    memory = AssociativeMemory().fit(X, Y)
    X[:] = 0
    Y[:] = 0
    np.testing.assert_array_equal(memory.predict(kept), np.arange(20))
    assert verify(memory.certificate_, memory.problem()).claim is Claim.STORABLE


def test_progress_shows_a_bar_and_only_then(capsys):
    fitted(progress=True)
    assert "storing" in capsys.readouterr().err
    fitted()
    assert capsys.readouterr().err == ""
