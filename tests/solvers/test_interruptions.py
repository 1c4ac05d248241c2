"""Ctrl-C at any moment of the work: the best so far is returned, and no verdict without its proof."""

from __future__ import annotations

import sys
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from definition import BOTH, KINDS, leads_of

import simonides
from simonides.certificate import verify
from simonides.interrupts import Keyboard, completed, is_interrupt
from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.decide import decide
from simonides.solvers.hinge.feasibility import feasibility
from simonides.solvers.hinge.low_rank import low_rank
from simonides.solvers.hinge.margin import maximum_margin
from simonides.solvers.solution import Verdict
from simonides.solvers.training.cross_entropy import cross_entropy
from simonides.solvers.training.gradient import gradient

HOUSE = Path(simonides.__file__).parent
WORK = {
    "applied", "at", "close", "contests", "doubtful", "fields", "fingerprint", "images", "leads", "look",
    "measure", "outer", "recall", "rivalry", "scaled", "scan_within", "to_unit_size", "verify",
}  # fmt: skip
"""What takes long: passes over rivals, products, whitening and checks, by the names of their functions."""

SAMPLES = 7


@cache
def takes_time(code):
    return Path(code.co_filename).is_relative_to(HOUSE) and code.co_name in WORK


def calls_until(work, number=None):
    """Do some work, interrupted at a given call of what takes time; return it and the calls made."""
    made = 0

    def note(frame, event, argument):
        nonlocal made
        if event != "call" or not takes_time(frame.f_code):
            return
        made += 1
        if made == number:
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(note)
    try:
        return work(), made
    finally:
        sys.setprofile(None)


def interrupted_anywhere(work):
    """Yield what the work returns for interrupts spread over its calls, those of its end included."""
    work()  # compiled, and what is cached is cached
    _, made = calls_until(work)
    early = range(1, min(SAMPLES, made) + 1)
    late = range(max(1, made - SAMPLES), made + 1)
    spread = np.linspace(1, made, SAMPLES).astype(int).tolist()
    for number in sorted({*early, *late, *spread}):
        yield number, calls_until(work, number)[0]


SOLVERS = {
    "feasibility": feasibility,
    "low_rank": partial(low_rank, rank=3, max_steps=8),
    "margin": partial(maximum_margin, gap=0.5),
    "cross_entropy": partial(cross_entropy, max_steps=6),
    "two_layers": partial(cross_entropy, rank=2, max_steps=6),
    "gradient": partial(gradient, max_steps=6),
}


@BOTH
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_a_solver_returns_the_best_so_far(kind, solver):
    problem = KINDS[kind].gaussian(7, 4, seed=0)
    work = partial(SOLVERS[solver], problem, threads=1)
    whole, seen = len(work().history), 0
    for number, solution in interrupted_anywhere(work):
        assert solution.interrupted, number
        leads = leads_of(problem, solution.weights)
        assert solution.recalled == np.count_nonzero(leads.min(axis=1) > 0), number
        assert solution.smallest_gap == pytest.approx(leads.min()), number
        if 0 < len(solution.history) < whole:  # not at its end, where it keeps what it came to
            fewest = min(step.violations for step in solution.history)
            assert solution.recalled == problem.facts - fewest, number
        seen += 1
    assert seen > SAMPLES


def uneven(facts):
    problem = OriginalProblem.gaussian(facts, 5, seed=1)
    return OriginalProblem(problem.inputs * np.logspace(0, 3, 5), problem.outputs)


DECISIONS = {
    "storable": (OriginalProblem.gaussian(10, 5, seed=0), {}),
    "not-storable": (OriginalProblem.gaussian(20, 5, seed=0), {}),
    "told by few": (OriginalProblem.gaussian(60, 5, seed=0), {}),
    "decoupled": (KINDS["decoupled"].gaussian(10, 5, seed=0), {}),
    "rank": (OriginalProblem.gaussian(14, 5, seed=0), {"rank": 1}),
    "whitened": (uneven(8), {}),
    "margin": (uneven(8), {"margin_gap": 0.5}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(DECISIONS))
def test_a_decision_returns_the_best_so_far_and_what_is_proved(name):
    problem, options = DECISIONS[name]
    whole = decide(problem, threads=1, **options)
    assert not whole.solution.interrupted
    verdicts = set()
    for number, decision in interrupted_anywhere(partial(decide, problem, threads=1, **options)):
        assert decision.solution.interrupted, number
        assert np.isfinite(decision.solution.weights).all()
        assert decision.verdict in {Verdict.UNDECIDED, whole.verdict}
        if decision.verdict is Verdict.UNDECIDED:
            assert (decision.margin_lower, decision.margin_upper) == (-np.inf, np.inf)
        else:
            assert verify(decision.certificate, problem).valid
        verdicts.add(decision.verdict)
    assert Verdict.UNDECIDED in verdicts


def test_where_nothing_was_done_the_start_is_returned(monkeypatch):
    problem = OriginalProblem.gaussian(30, 10, seed=0)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("simonides.solvers.deciding.decide.telling_prefix", interrupted)
    hebbian = problem.outputs.T @ (
        problem.inputs / np.linalg.norm(problem.inputs, axis=1, keepdims=True)
    )
    decision = decide(problem)
    assert (decision.verdict, decision.solution.interrupted) == (Verdict.UNDECIDED, True)
    ratios = decision.solution.weights / hebbian
    np.testing.assert_allclose(ratios, ratios[0, 0])
    assert ratios[0, 0] > 0
    start = np.eye(10)
    ratios = decide(problem, start=start).solution.weights[start > 0]
    np.testing.assert_allclose(ratios, ratios[0])
    assert np.linalg.matrix_rank(decide(problem, rank=3).solution.weights) == 3


@pytest.mark.parametrize("facts", [10, 20])
def test_interrupting_the_verifier_leaves_it_undecided(facts, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    problem = OriginalProblem.gaussian(facts, 5, seed=0)
    whole = decide(problem)
    monkeypatch.setattr("simonides.solvers.deciding.proof.verify", interrupted)
    decision = decide(problem)
    assert decision.verdict is Verdict.UNDECIDED
    assert (decision.certificate, decision.solution.interrupted) == (None, True)
    np.testing.assert_array_equal(decision.solution.weights, whole.solution.weights)
    assert decision.solution.recalled == whole.solution.recalled


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_interrupting_the_linear_program_keeps_what_the_search_found(monkeypatch):
    problem = OriginalProblem.gaussian(14, 6, seed=0)
    searched = feasibility(problem, max_steps=2)
    monkeypatch.setattr("simonides.solvers.deciding.decide._MANY_STEPS", 2)
    monkeypatch.setattr("simonides.solvers.deciding.decide.linear_program", interrupted)
    decision = decide(problem, max_steps=2)
    assert (decision.verdict, decision.solution.interrupted) == (Verdict.UNDECIDED, True)
    assert decision.solution.steps == 2
    np.testing.assert_array_equal(decision.solution.weights, searched.weights)


def test_an_interrupt_between_two_stages_keeps_the_proof_of_the_first(monkeypatch):
    problem = uneven(8)
    monkeypatch.setattr("simonides.solvers.deciding.decide.maximum_margin", interrupted)
    decision = decide(problem, margin_gap=0.5)
    assert (decision.verdict, decision.solution.interrupted) == (Verdict.STORABLE, True)
    assert verify(decision.certificate, problem).valid


def test_an_interrupt_after_the_search_for_factors_keeps_them(monkeypatch):
    problem = OriginalProblem.gaussian(14, 5, seed=0)
    searched = low_rank(problem, rank=1)
    monkeypatch.setattr("simonides.solvers.deciding.decide.preconditioned_feasibility", interrupted)
    decision = decide(problem, rank=1)
    assert (decision.verdict, decision.solution.interrupted) == (Verdict.UNDECIDED, True)
    np.testing.assert_array_equal(decision.solution.weights, searched.weights)


def test_a_second_interrupt_ends_everything():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        completed(interrupted)


def test_an_interrupt_that_meets_a_kernel_being_loaded_is_one():
    with Keyboard() as keyboard:
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
    assert keyboard.interrupted
    assert not is_interrupt(SystemError("of another kind"))
    assert not is_interrupt(None)
    with pytest.raises(ValueError, match="other"), Keyboard():
        raise ValueError("other errors pass")
