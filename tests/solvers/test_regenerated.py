"""Outputs drawn anew on every pass give the answers of those kept, to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simonides.problems import scan as scan_module
from simonides.problems.decoupled import DecoupledProblem
from simonides.solvers.deciding.decide import decide
from simonides.solvers.hinge.feasibility import feasibility
from simonides.solvers.hinge.low_rank import low_rank
from simonides.solvers.hinge.margin import maximum_margin
from simonides.solvers.solution import Verdict
from simonides.solvers.training.cross_entropy import cross_entropy

SOLVERS = {
    "feasibility": feasibility,
    "low_rank": lambda problem, **options: low_rank(problem, 4, max_steps=8, **options),
    "margin": lambda problem, **options: maximum_margin(problem, gap=0.1, **options),
    "cross_entropy": lambda problem, **options: cross_entropy(problem, max_steps=6, **options),
}


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few rows, so that two threads have something to share."""
    monkeypatch.setattr(scan_module, "_BLOCK_BYTES", 2**11)
    monkeypatch.setattr("simonides.threads._LEAST_ROWS", 8)


def drawn(facts, **options):
    return DecoupledProblem.gaussian(facts, 6, candidates=12, seed=4, **options)


@pytest.mark.parametrize("facts", [10, 90], ids=["fit", "too-many"])
@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_kept_or_drawn_anew_on_one_thread_or_two(small_blocks, solver, facts):
    kept = drawn(facts)
    anew = replace(kept, in_memory_bytes=0)
    assert len(kept._row_blocks) > 3
    assert kept._kept is not None
    assert anew._kept is None
    solve = SOLVERS[solver]
    expected = solve(kept, threads=1)
    assert np.isfinite(expected.weights).all()
    for problem, threads in ((kept, 2), (anew, 1), (anew, 2)):
        solution = solve(problem, threads=threads)
        np.testing.assert_array_equal(solution.weights, expected.weights)
        assert (solution.status, solution.steps) == (expected.status, expected.steps)
        assert (solution.recalled, solution.smallest_gap) == (
            expected.recalled,
            expected.smallest_gap,
        )


@pytest.mark.parametrize("facts", [10, 90], ids=["fit", "too-many"])
def test_proofs_about_one_are_proofs_about_the_other(small_blocks, facts):
    kept = drawn(facts)
    decisions = [
        decide(problem, threads=threads)
        for problem in (kept, replace(kept, in_memory_bytes=0))
        for threads in (1, 2)
    ]
    first = decisions[0]
    assert first.verdict is (Verdict.STORABLE if facts == 10 else Verdict.NOT_STORABLE)
    for other in decisions[1:]:
        assert (other.verdict, other.margin_lower, other.margin_upper) == (
            first.verdict,
            first.margin_lower,
            first.margin_upper,
        )
        assert other.certificate.fingerprint == first.certificate.fingerprint
        for name in ("weights", "pair_facts", "pair_rivals", "multipliers"):
            np.testing.assert_array_equal(
                getattr(other.certificate, name), getattr(first.certificate, name)
            )
