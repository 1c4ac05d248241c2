"""When not every fact fits: as many as can be, named, with a warning and a proof."""

import numpy as np
import pytest
from drawn import fitted, gaussian

from simonides import AssociativeMemory, OriginalProblem, capacity, verify
from simonides.certificate import Claim
from simonides.memory.facts import Facts
from simonides.memory.recipe import Recipe
from simonides.memory.shortfall import NotAllStoredWarning
from simonides.memory.storing import Storing
from simonides.solvers.rules.hebbian import hebbian
from simonides.solvers.training.cross_entropy import cross_entropy


@pytest.mark.slow
def test_beyond_capacity_most_is_stored_and_the_rest_named():
    X, Y = gaussian(60, 12)
    with pytest.warns(NotAllStoredWarning, match=r"of 60 facts .* \d+\.\d% above"):
        memory = AssociativeMemory().fit(X, Y)
    recalled = memory.predict(X) == np.arange(60)
    np.testing.assert_array_equal(np.flatnonzero(~recalled), memory.failed_)
    assert memory.n_stored_ == recalled.sum() == 60 - len(memory.failed_)
    # Chosen facts beat as many random ones as theory lets fit among 60 candidates, and training.
    assert memory.n_stored_ > capacity(12, candidates=60).facts
    assert memory.n_stored_ > cross_entropy(memory.problem()).recalled
    assert verify(memory.certificate_, memory.problem()).valid
    assert memory.certificate_.claim is Claim.NOT_STORABLE


def test_a_contradiction_costs_one_fact():
    X, Y = gaussian(20, 12)
    X[7] = X[3]
    with pytest.warns(NotAllStoredWarning, match="1 of 20 facts") as caught:
        memory = AssociativeMemory().fit(X, Y)
    assert memory.failed_.tolist() in ([3], [7])
    said = str(caught[0].message)
    assert (
        "rows 3 and 7 have equal inputs and different targets, which no weights can store" in said
    )
    assert "theory" not in said, "it is no matter of capacity"


def test_contradictions_are_said_beside_what_else_is_lost():
    X, Y = gaussian(60, 8)
    X[7] = X[9] = X[3]
    with pytest.warns(NotAllStoredWarning, match=r"rows 3 and 7 .* first of 2 such .* above"):
        AssociativeMemory(method="hebbian").fit(X, Y)


def test_equal_inputs_that_share_a_target_are_no_contradiction():
    X, Y = gaussian(60, 8)
    X[7], Y[7] = X[3], Y[3]
    X[5, 0], X[6] = 0.0, X[5]
    X[6, 0] = -0.0
    with pytest.warns(NotAllStoredWarning, match="rows 5 and 6 have equal inputs and different"):
        AssociativeMemory(method="hebbian").fit(X, Y)


def test_a_zero_input_is_the_one_that_fails():
    X, Y = gaussian(20, 12)
    X[5] = 0
    with pytest.warns(NotAllStoredWarning, match="row 5 of X is zero, to which all") as caught:
        memory = AssociativeMemory().fit(X, Y)
    assert memory.failed_.tolist() == [5]
    assert "theory" not in str(caught[0].message), "it is no matter of capacity"


def test_zero_inputs_are_said_beside_what_else_is_lost():
    X, Y = gaussian(60, 8)
    X[5] = X[9] = 0
    said = r"rows 5 and 9 have equal inputs.*; row 5 of X is zero \(the first of 2.*; theory"
    with pytest.warns(NotAllStoredWarning, match=said):
        AssociativeMemory(method="hebbian").fit(X, Y)


def test_an_output_between_others_fails():
    X, Y = gaussian(20, 12)
    Y[4] = (Y[1] + Y[2]) / 2
    with pytest.warns(NotAllStoredWarning, match="structure"):
        memory = AssociativeMemory().fit(X, Y)
    assert memory.failed_.tolist() == [4]


def test_a_rule_that_stores_less_says_what_would_store_more():
    with pytest.warns(NotAllStoredWarning, match="method='feasibility' stores all"):
        fitted(20, 12, method="hebbian")


@pytest.mark.slow
def test_beyond_capacity_at_bounded_rank():
    X, Y = gaussian(40, 12)
    with pytest.warns(NotAllStoredWarning):
        memory = AssociativeMemory(rank=4).fit(X, Y)
    assert 15 < memory.n_stored_ < 40
    assert np.linalg.matrix_rank(memory.weights_) == 4
    assert memory.certificate_ is None


@pytest.mark.parametrize(("facts", "all_fit"), [(60, True), (200, False)])
def test_nothing_more_is_tried_once_all_facts_are_stored(facts, all_fit, monkeypatch):
    # In 20 dimensions training stores 60 facts; 200 are too many. The first attempt is to lose some.
    tried = []

    def counted(part, recipe, start=None):
        tried.append(part.facts)
        return hebbian(part)

    monkeypatch.setattr("simonides.memory.storing.attempt", counted)
    problem = OriginalProblem(*gaussian(facts, 20))
    storing = Storing(Facts(problem.inputs, problem.outputs, problem.targets), Recipe())
    storing.search()
    assert hebbian(problem).recalled < facts
    assert bool(storing.outcome().stored.all()) == all_fit
    assert (len(tried) == 1) == all_fit


@pytest.mark.parametrize("method", ["feasibility", "margin", "cross_entropy", "gradient"])
def test_out_of_time_the_best_so_far_is_kept_and_said(method):
    X, Y = gaussian(200, 10)
    memory = AssociativeMemory(method, time_limit=0)
    with pytest.warns(NotAllStoredWarning, match="the time limit ended the search"):
        memory.fit(X, Y)
    assert memory.weights_.shape == (10, 10)
    assert memory.n_stored_ == 200 - len(memory.failed_)
    with pytest.raises(ValueError, match="time_limit = -1 must be"):
        memory.set_params(time_limit=-1).fit(X, Y)
    assert AssociativeMemory(method, time_limit=600).fit(X[:20], Y[:20]).n_stored_ == 20
