"""Which outputs can be targets: against hulls that were drawn, and against matrices that were built."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special
from scipy.spatial import ConvexHull

from simonides import OriginalProblem, Setting, capacity, smallest_dimension, smallest_rank
from simonides.planner.plan import plan
from simonides.planner.recommend import recommend
from simonides.planner.source import read_model
from simonides.solvers.deciding.decide import decide
from simonides.solvers.deciding.threshold import threshold
from simonides.solvers.solution import Verdict
from simonides.theory.cone import statistical_dimension
from simonides.theory.vertices import hidden_share, lost_to_hidden, placed_facts


@pytest.mark.parametrize(("candidates", "dim"), [(4, 2), (10, 2), (12, 3), (30, 4), (60, 5)])
def test_hidden_outputs_are_those_inside_drawn_hulls(candidates, dim):
    rng = np.random.default_rng(3)
    drawn = [
        1 - len(ConvexHull(rng.standard_normal((candidates, dim))).vertices) / candidates
        for _ in range(300)
    ]
    # Five standard errors: a false alarm in two million.
    error = np.std(drawn, ddof=1) / math.sqrt(len(drawn))
    assert hidden_share(candidates, dim) == pytest.approx(np.mean(drawn), abs=5 * error)


def test_closed_forms_of_hidden_outputs():
    for candidates in (2, 3, 10, 1000):
        # On a line all but the two ends are hidden.
        assert hidden_share(candidates, 1) == pytest.approx(1 - 2 / candidates, abs=1e-9)
    assert hidden_share(7, 6) == 0  # a simplex
    # Sylvester's problem: four Gaussian points in the plane are convex with probability (6/pi) asin(1/3).
    assert 4 * hidden_share(4, 2) == pytest.approx(1 - 6 * math.asin(1 / 3) / math.pi, abs=1e-9)


def test_the_quick_bound_is_one():
    for candidates in (10, 100, 1e4, 1e9):
        for dim in (2, 5, 12, 30):
            tail = 2 * special.pdtrc(dim, 1.5 * statistical_dimension(candidates))
            assert hidden_share(candidates, dim) <= tail + 1e-11


def test_the_mean_number_of_outputs_until_one_is_hidden():
    rng = np.random.default_rng(4)
    first = []
    for _ in range(300):
        outputs = rng.standard_normal((40, 4))
        number = 5  # a simplex
        while len(ConvexHull(outputs[: number + 1]).vertices) == number + 1:
            number += 1
        first.append(number)
    mean, error = np.mean(first), np.std(first, ddof=1) / math.sqrt(len(first))
    # Hidden ones come in groups now and then, which rare events do not: five percent.
    setting = Setting(10**6, 4)
    expected = 40 * (1 - lost_to_hidden(setting, 40.0))
    assert expected == pytest.approx(mean, abs=4 * error + 0.05 * mean)
    assert lost_to_hidden(Setting(100, 100), 1000.0) == 0


@pytest.mark.slow
def test_a_few_output_dimensions_hold_what_was_measured():
    # Measured 11 for 100 inputs and 4 outputs, where the parameters alone would pay for 87.
    assert capacity(100, 4).facts == pytest.approx(11, abs=0.5)
    thresholds = [
        threshold(lambda facts, s=seed: OriginalProblem.gaussian(facts, 60, 3, seed=s), 7).facts
        for seed in range(8)
    ]
    error = np.std(thresholds, ddof=1) / math.sqrt(8)
    assert capacity(60, 3).facts == pytest.approx(np.mean(thresholds), abs=4 * error + 0.5)


@pytest.mark.parametrize("dim", [10, 100])
def test_a_map_of_rank_one_has_two_targets(dim):
    assert capacity(dim, rank=1).facts == 2
    assert capacity(dim, rank=1, candidates=50).facts == 2
    # Of two candidates any number of facts may be about: Cover's 2 d.
    assert capacity(dim, rank=1, candidates=2).facts == pytest.approx(2 * dim)
    assert capacity(dim, dim, rank=1, problem="decoupled").facts > 2


def test_three_targets_cannot_be_the_ends_of_a_line():
    problem = OriginalProblem.gaussian(3, 12, seed=1)
    assert decide(problem.prefix(2), 1, threads=1).verdict is Verdict.STORABLE
    assert decide(problem, 1, threads=1).verdict is not Verdict.STORABLE
    assert decide(problem, 2, threads=1).verdict is Verdict.STORABLE


def test_two_directions_hold_independent_facts():
    facts, dim = 40, 40
    rng = np.random.default_rng(5)
    inputs, outputs = rng.standard_normal((2, facts, dim))
    angles = 2 * np.pi * np.arange(facts) / facts
    corners = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    send_inputs, send_outputs = (np.linalg.solve(rows, corners) for rows in (inputs, outputs))
    scores = (inputs @ send_inputs) @ (outputs @ send_outputs).T
    assert np.array_equal(scores.argmax(axis=1), np.arange(facts))
    assert placed_facts(Setting(dim, dim, rank=2)) >= facts
    assert capacity(4096, rank=2).facts >= 4096
    assert placed_facts(Setting(dim, dim, rank=1)) == 0
    assert placed_facts(Setting(dim, dim, rank=2, margin=0.1)) == 0
    assert placed_facts(Setting(dim, dim, 1000, rank=2)) == 0


def test_no_rank_of_one_is_recommended():
    assert smallest_rank(Setting(100, 100), 80) == 2
    assert smallest_rank(Setting(100, 100), 2) == 1
    answer = plan(read_model("llama-3-8b"))
    for facts in (3, 50, 20_000):
        assert recommend(answer, facts).rank >= recommend(answer, facts).smallest_rank >= 2
    with pytest.raises(ValueError, match="facts = 3"):
        smallest_dimension(3, rank=1)
