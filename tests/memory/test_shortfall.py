"""What is said when facts fail: only what is true of the case, and what to do about it."""

import re

import numpy as np
import pytest
from drawn import gaussian

from simonides import AssociativeMemory, OriginalProblem, capacity, verify
from simonides.certificate import Claim
from simonides.memory.recipe import Recipe
from simonides.memory.shortfall import NotAllStoredWarning, shortfall
from simonides.memory.storing import attempt

STRUCTURE = "structure that random ones lack"


def said(facts: int, theory, **options: bool) -> str:
    return shortfall(facts, facts - 1, theory, **options)


def test_structure_is_blamed_only_well_below_capacity_and_with_a_proof():
    assert STRUCTURE in said(60, capacity(20), refuted=True)
    assert "certificate_ proves it" in said(60, capacity(20), refuted=True)
    near = said(84, capacity(20), refuted=True)  # of 86.9
    assert STRUCTURE not in near
    assert "scatter" in near
    assert "leave out those that failed" in near
    # Twenty times as many dimensions scatter a twentieth as much.
    assert STRUCTURE in said(round(0.95 * capacity(400).facts), capacity(400), refuted=True)
    undecided = said(60, capacity(20))
    assert STRUCTURE not in undecided
    assert "was not decided; try whiten=True" in undecided


def test_where_theory_may_be_off_it_says_so():
    assert "or theory is off" in said(3, capacity(2), refuted=True)
    assert "or theory is off" in said(60, capacity(15, candidates=15), refuted=True)
    assert "or theory is off" not in said(60, capacity(20), refuted=True)


def test_a_margin_is_theory_s_weak_side():
    message = said(30, capacity(20, margin=0.5))
    assert "with a margin of 0.5" in message
    assert "theory is off, as capacity_.notes says" in message
    # As if the margin were larger by 6.2/20 of it.
    assert any("about 7 fewer facts (9.5%)" in note for note in capacity(20, margin=0.5).notes)
    assert "try a smaller margin" in message
    assert STRUCTURE not in message


def test_with_a_rank_the_search_may_miss():
    message = said(25, capacity(20, rank=5))
    assert "search may miss factors that exist; try a higher rank" in message
    assert STRUCTURE not in message
    both = said(15, capacity(20, rank=5, margin=0.2))
    assert "as capacity_.notes says and the search may miss" in both
    assert "try a smaller margin, a higher rank" in both


def test_a_method_without_promise_names_one_that_has_it():
    assert "method='feasibility' stores all if any weights do" in said(
        60, capacity(20), strict=False
    )
    ranked = said(25, capacity(20, rank=5), strict=False)
    assert "feasibility" not in ranked
    assert "method='low_rank' may" in ranked
    assert "method='margin' may" in said(30, capacity(20, margin=0.5), strict=False)


def test_an_interrupted_search_is_no_verdict():
    message = said(60, capacity(20), interrupted=True)
    assert "stopped before its end; fit again" in message
    assert STRUCTURE not in message


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({}, "take more dimensions or fewer facts"),
        ({"rank": 5}, "take more dimensions, a higher rank or fewer facts"),
        ({"margin": 0.5}, "take more dimensions, a smaller margin or fewer facts"),
        (
            {"rank": 5, "margin": 0.5},
            "take more dimensions, a higher rank, a smaller margin or fewer facts",
        ),
    ],
)
def test_above_capacity_the_remedies_are_those_there_are(options, remedy):
    message = said(200, capacity(20, **options))
    assert message.endswith(remedy)
    assert re.search(r"the request is \d+\.\d% above; take", message)


@pytest.mark.slow
@pytest.mark.parametrize("margin", [1.2, 1.5])  # kept are the weights first found, and others
def test_a_margin_that_is_not_met_leaves_nothing_to_prove(margin):
    X, Y = gaussian(30, 20)
    with pytest.warns(NotAllStoredWarning, match="try a smaller margin or fewer facts"):
        memory = AssociativeMemory(margin=margin).fit(X, Y)
    assert memory.n_stored_ < 30 < memory.capacity_.facts
    assert memory.certificate_ is None


def test_a_margin_that_is_not_met_leaves_nothing_to_prove_of_a_file(tmp_path):
    X, Y = gaussian(30, 40)
    np.save(tmp_path / "x.npy", X)
    rule = AssociativeMemory("pseudo_inverse", margin=3.0)
    with pytest.warns(NotAllStoredWarning):
        rule.fit(np.load(tmp_path / "x.npy", mmap_mode="r"), Y)
    assert rule.score(X, Y) == 1
    assert rule.certificate_ is None


def test_a_proof_is_of_the_weights_that_are_kept():
    memory = AssociativeMemory(margin=0.2).fit(*gaussian(30, 20))
    assert memory.certificate_.claim is Claim.STORABLE
    np.testing.assert_array_equal(memory.certificate_.weights, memory.weights_)
    assert verify(memory.certificate_, memory.problem()).valid


@pytest.mark.slow
def test_factors_that_only_the_second_search_finds_are_proved():
    X, Y = gaussian(14, 12, seed=3)
    first = attempt(OriginalProblem(X, Y), Recipe(rank=2))
    assert first.recalled < 14, "the case needs a search that fails"
    memory = AssociativeMemory(rank=2).fit(X, Y)
    assert memory.n_stored_ == 14
    assert memory.certificate_.claim is Claim.STORABLE
    np.testing.assert_array_equal(memory.certificate_.left, memory.factors_[0])
    assert verify(memory.certificate_, memory.problem()).valid


@pytest.mark.slow
def test_a_search_for_factors_that_fails_blames_no_facts():
    with pytest.warns(NotAllStoredWarning, match="search may miss factors") as caught:
        memory = AssociativeMemory(rank=2).fit(*gaussian(15, 8))
    assert memory.capacity_.facts > 15
    assert STRUCTURE not in str(caught[0].message)


@pytest.mark.slow
def test_random_facts_just_below_capacity_are_not_called_structured():
    with pytest.warns(NotAllStoredWarning, match="just below theory.*scatter") as caught:
        memory = AssociativeMemory().fit(*gaussian(39, 12))
    assert memory.capacity_.facts > 39
    assert memory.certificate_.claim is Claim.NOT_STORABLE
    assert STRUCTURE not in str(caught[0].message)


def test_a_better_method_is_named_before_more_dimensions():
    X, Y = gaussian(62, 12)
    targets = np.arange(62) % 8
    with pytest.warns(NotAllStoredWarning) as caught:
        AssociativeMemory("hebbian").fit(X, Y[targets])
    below = str(caught[0].message)
    assert "method='feasibility' stores all if any weights do" in below
    above = said(100, capacity(20), strict=False)
    assert "above" in above
    assert above.index("method='feasibility'") < above.index("take more dimensions")
    assert "method=" not in said(100, capacity(20))


@pytest.mark.parametrize("factor", [3.0, -0.7])
def test_multiples_are_named(factor):
    X, Y = gaussian(10, 8)
    X[4] = factor * X[2]
    targets = np.arange(10)
    if factor < 0:
        targets[4] = targets[2]
    with pytest.warns(
        NotAllStoredWarning, match=r"rows 2 and 4 are multiples of each other"
    ) as caught:
        AssociativeMemory().fit(X, Y[targets])
    assert "theory lets" not in str(caught[0].message)
