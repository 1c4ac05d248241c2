"""The registry: every method by its name, and a user's own."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from simonides.failures import BadArgumentError
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.decide import decide
from simonides.solvers.methods import METHODS, named
from simonides.solvers.rules.hebbian import hebbian_weights
from simonides.solvers.solution import Status, Verdict

KINDS = [OriginalProblem, DecoupledProblem]

OWN = """
import numpy as np

def rule(problem, *, gain=1.0, seed=0):
    return gain * problem.target_outputs.T @ problem.inputs

def halves(problem, *, rank=None):
    return problem.target_outputs.T @ problem.inputs

def demanding(problem, gain):
    return gain * problem.target_outputs.T @ problem.inputs

def open(problem, **options):
    calls.append(options)
    return options.get("gain", 1.0) * problem.target_outputs.T @ problem.inputs

def drawn(problem, *, seed=7):
    calls.append(seed)
    return problem.target_outputs.T @ problem.inputs

calls = []

def nothing_returned(problem):
    pass

def wrong(problem):
    return np.zeros((1, 1))
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(textwrap.dedent(OWN))
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_stores_few_facts(kind, name):
    problem = kind.gaussian(6, 8, seed=0)
    solution = named(name).solve(problem, seed=0, threads=1)
    assert solution.weights.shape == (8, 8)
    leads = solution.smallest_gap
    assert (solution.recalled == 6) == (leads > 0) == (solution.status is Status.STORED)


@pytest.mark.parametrize(
    "name", sorted(name for name, method in METHODS.items() if not method.proves)
)
def test_a_rank_is_kept_whether_the_method_knows_of_one_or_not(name):
    problem = OriginalProblem.gaussian(9, 8, seed=0)
    solution = named(name).solve(problem, rank=3, seed=0, threads=1)
    left, right = solution.factors
    assert left.shape == right.shape == (8, 3)
    np.testing.assert_allclose(left @ right.T, solution.weights)
    assert solution.recalled == problem.recall(problem.images(solution.weights)).recalled


@pytest.mark.parametrize(("facts", "verdict"), [(6, Verdict.STORABLE), (80, Verdict.NOT_STORABLE)])
def test_methods_that_prove_bring_their_certificate(facts, verdict):
    for name in ("feasibility", "margin"):
        solution = named(name).solve(OriginalProblem.gaussian(facts, 5, seed=0), threads=1)
        assert solution.verdict is verdict
        assert str(solution.certificate.claim) == str(verdict)


def test_a_rule_of_one_s_own(own):
    problem = OriginalProblem.gaussian(5, 8, seed=0)
    solution = named("mine:rule").solve(problem, gain=3.0, rank=None, start=None, watch=None)
    np.testing.assert_allclose(solution.weights, 15 * hebbian_weights(problem))
    assert solution.recalled == 5
    assert named("mine:rule").checked("solvers[0]", {"gain": 2.0}) == {"gain": 2.0}
    assert named("mine:halves").bounds_rank
    assert not named("mine:rule").bounds_rank


def test_decide_proves_what_a_method_of_one_s_own_finds(own):
    few, many = (OriginalProblem.gaussian(facts, 8, seed=0) for facts in (5, 40))
    assert decide(few, method="mine:rule").verdict is Verdict.STORABLE
    assert decide(many, method="mine:rule").verdict is Verdict.UNDECIDED
    assert decide(few, 1, method="hebbian").verdict is Verdict.NOT_FOUND


def test_a_refutation_stands_whatever_the_rank():
    problem = OriginalProblem.gaussian(60, 8, seed=0)
    whole = decide(problem, 3)
    for decision in (decide(problem, 3, method="feasibility"), decide(problem, 3, method="margin")):
        assert decision.verdict is whole.verdict is Verdict.NOT_STORABLE
        assert decision.certificate is not None
    solution = named("margin").solve(problem, rank=3, time_limit=0.0, threads=1)
    assert solution.timed_out
    assert np.linalg.matrix_rank(solution.weights) == 3


def test_limits_reach_the_method_or_are_refused(own):
    problem = OriginalProblem.gaussian(30, 8, seed=0)
    assert decide(problem, method="gradient", max_steps=3).solution.steps == 3
    with pytest.raises(BadArgumentError, match="max_steps"):
        decide(problem, method="hebbian", max_steps=3)


@pytest.mark.parametrize("name", ["mine:demanding", "mine:nothing_returned"])
def test_functions_that_are_no_methods_are_refused(own, name):
    with pytest.raises(BadArgumentError):
        named(name).solve(OriginalProblem.gaussian(5, 8, seed=0))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", "one of hebbian"),
        (3, "one of hebbian"),
        ("no_such_module:rule", "can be imported"),
        ("mine:nothing", "can be imported"),
    ],
)
def test_names_that_name_nothing_are_refused(own, name, words):
    with pytest.raises(BadArgumentError, match=words):
        named(name)


def test_what_a_rule_returns_is_checked(own):
    with pytest.raises(BadArgumentError, match="weights"):
        named("mine:wrong").solve(OriginalProblem.gaussian(5, 8, seed=0))
    with pytest.raises(BadArgumentError, match="the options of mine:rule are gain"):
        named("mine:rule").checked("solvers[0]", {"loss": 1})


def test_options_may_be_written_behind_a_name(own):
    problem = OriginalProblem.gaussian(5, 8, seed=0)
    plain = named("mine:rule").solve(problem, gain=3.0)
    method = named("mine:rule(gain=3)")
    np.testing.assert_array_equal(method.solve(problem).weights, plain.weights)
    assert method.name == "mine:rule(gain=3)"
    assert decide(problem, method="mine:rule(gain=3)").verdict is Verdict.STORABLE
    ridge = named("pseudo_inverse").solve(problem, ridge=0.25)
    written = named("pseudo_inverse(ridge=0.25)").solve(problem)
    np.testing.assert_array_equal(written.weights, ridge.weights)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "mine:rule(loss=3)",
            "solver.loss = 3 must be left out: the options of mine:rule are gain",
        ),
        ("pseudo_inverse(ridge=-1)", "solver.ridge = -1 must be"),
        ("pseudo_inverse(ridge)", "mend 'ridge'"),
        ("nothing(ridge=1)", "solver = 'nothing' must be one of"),
        ("pseudo_inverse(ridge=1", "must be one of"),
    ],
)
def test_a_wrong_option_behind_a_name_is_refused(own, text, reason):
    with pytest.raises(BadArgumentError) as refusal:
        named(text, "solver")
    assert reason in str(refusal.value)


def test_a_method_that_takes_any_option_is_passed_all(own):
    import mine

    problem = OriginalProblem.gaussian(5, 8, seed=0)
    mine.calls.clear()
    method = named("mine:open")
    assert {"seed", "rank", "time_limit"} <= method.takes
    method.solve(problem, seed=4, rank=None, **method.checked("method", {"gain": 2}))
    assert mine.calls == [{"seed": 4, "rank": None, "gain": 2}]


def test_decide_hands_its_seed_to_a_method(own):
    import mine

    problem = OriginalProblem.gaussian(5, 8, seed=0)
    mine.calls.clear()
    decide(problem, method="mine:drawn", seed=3)
    decide(problem, method="mine:drawn")
    assert mine.calls == [3, 7]


@pytest.mark.parametrize("name", ["hebbian", "mine:rule"])
def test_a_limit_that_a_method_does_not_heed_is_refused(own, name):
    problem = OriginalProblem.gaussian(5, 8, seed=0)
    for limit in ("time_limit", "max_steps"):
        with pytest.raises(BadArgumentError, match=f"{limit} = .* must be left out for {name}"):
            decide(problem, method=name, **{limit: 3})


def test_the_first_facts_are_asked_once_under_a_rank(monkeypatch):
    import simonides.solvers.deciding.decide as deciding

    asked = []
    whole = deciding.telling_prefix
    monkeypatch.setattr(deciding, "telling_prefix", lambda problem: asked.append(whole(problem)))
    # Too many facts for a rank of one, which the first facts do not tell.
    decide(OriginalProblem.gaussian(30, 8, seed=0), 1, max_steps=3)
    assert len(asked) == 1
