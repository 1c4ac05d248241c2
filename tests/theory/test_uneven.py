"""Unequally frequent targets: the game of two matrices, its second order, and linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.stats import chi2

from benchmarks import published, uneven
from simonides import Setting, capacity, statistical_dimension
from simonides.theory.notes import deviations
from simonides.theory.projection import scaled_distance, squared_distance
from simonides.theory.uneven import RANDOM, evenness, lost_to_chance


def test_scaled_distance_is_the_least_over_levels():
    rng = np.random.default_rng(0)
    target, rivals = rng.standard_normal(20), rng.standard_normal((20, 6))
    ones = np.ones_like(rivals)
    assert scaled_distance(target, rivals, ones) == pytest.approx(squared_distance(target, rivals))
    ratios = rng.uniform(0.3, 3, rivals.shape)
    for row, distance in enumerate(scaled_distance(target, rivals, ratios)):

        def at(level, row=row):
            over = np.maximum(rivals[row] - ratios[row] * level, 0)
            return (target[row] - level) ** 2 + np.sum(over**2)

        assert distance == pytest.approx(optimize.minimize_scalar(at).fun, abs=1e-8)


@pytest.mark.parametrize("outputs", [6, 12, 50])
def test_the_constant_of_random_targets_is_a_share_of_the_price(outputs):
    # 20,000 projections know it to one percent.
    constant = uneven.constant(outputs)
    assert constant == pytest.approx(RANDOM * statistical_dimension(outputs), rel=0.07)


def test_two_outputs_are_told_apart_however_frequent():
    assert uneven.constant(3) < RANDOM * statistical_dimension(3)  # and less still at two: Cover
    assert evenness((90, 10)).value == 1
    assert capacity(15, target_counts=[90, 10]).facts == pytest.approx(30)


def test_the_game_has_the_second_order_that_was_derived():
    relative = np.array([1, -1, 1, -1, 1, -1, 1, -1]) * 0.3
    counts = tuple((1000 * (1 + relative)).astype(int).tolist())
    share = evenness(counts)
    second = uneven.constant(8) * np.sum(relative**2) / 7
    # Weights grow as powers here, not as straight lines, and Q stays at one: a tenth of the loss.
    assert 1 - share.value == pytest.approx(second, rel=0.25)
    assert share.stderr < 0.03


def test_more_uneven_targets_leave_fewer_facts():
    shares = [evenness((90 - 2 * step, *[10] * 5)).value for step in range(0, 41, 8)]
    assert np.all(np.diff(shares) > 0)
    assert shares[-1] == 1


def test_what_a_part_binds_is_never_exceeded():
    counts = np.array([20, 10, 7, 5, 4, 3, 3, 2])
    parts = np.cumsum(counts) / counts.sum()
    alone = [capacity(12, candidates=k).facts / parts[k - 1] for k in range(2, 9)]
    answer = capacity(12, target_counts=counts)
    assert 0.85 * min(alone) < answer.facts < min(alone)
    assert 0 < answer.facts_stderr < 0.05 * answer.facts
    assert capacity(12, target_counts=counts[::-1]).facts == answer.facts


def test_chance_costs_more_with_fewer_facts_per_output():
    assert lost_to_chance(20, 80) > lost_to_chance(20, 200) > 0
    assert lost_to_chance(20, 1) == 0.5  # as measured with one fact per output
    assert lost_to_chance(50257, 2, dim_out=2304) < 1e-5


def test_measured_losses_follow_the_law_without_a_free_number():
    rows = published.read()["random_targets"]
    law = uneven.law(rows)
    assert law["cells"] == 11
    assert law["instances"] > 500
    assert law["chance"] > 0.01
    assert abs(law["best_scale"] - 1) < 3 * law["best_scale_stderr"]
    # With fewer facts than outputs the law says too much, and is cut where it was measured.
    (cut,) = (row for row in rows if row["per_output"] < 1)
    assert RANDOM * statistical_dimension(cut["candidates"]) / cut["per_output"] > 0.65
    loss = lost_to_chance(cut["candidates"], cut["per_output"] * cut["candidates"])
    assert abs(cut["over_balanced"] + loss) < 2 * cut["over_balanced_stderr"]


def test_random_targets_lose_less_of_more_outputs_than_dimensions_as_measured():
    rows = published.read()["random_targets"]
    crowded = [row for row in rows if row["candidates"] > uneven.directions(row) + 1]
    off = []
    for row in crowded:
        facts = row["per_output"] * row["candidates"]
        loss = lost_to_chance(row["candidates"], facts, uneven.directions(row))
        assert loss == pytest.approx(-row["predicted_loss"])
        off.append((row["over_balanced"] + loss) / row["over_balanced_stderr"])
    assert len(crowded) == 4
    # In single cells no loss at all passes too; by all of them it is ruled out.
    assert chi2.sf(np.sum(np.square(off)), len(off)) > 0.05
    # A note says so: eleven percent are lost here.
    assert "random" in deviations(Setting(8, 16, 24), 43)


def test_measured_facts_in_given_shares_are_as_predicted():
    for row in published.read()["uneven_targets"]:
        assert abs(row["over_theory"]) < 3 * row["over_theory_stderr"], row
        assert abs(row["over_theory"]) < 0.06  # what the note says


def test_a_linear_program_and_the_solver_agree_on_thresholds():
    from simonides import OriginalProblem
    from simonides.solvers.deciding.threshold import threshold

    rng = np.random.default_rng(2)
    inputs, outputs = rng.standard_normal((60, 5)), rng.standard_normal((4, 4))
    targets = rng.integers(4, size=60)
    problem = OriginalProblem(inputs, outputs, targets)
    expected = threshold(problem.prefix, 14, most=60).facts
    assert uneven.threshold(inputs, targets, outputs, 14) == expected
    assert uneven.threshold(inputs, targets, outputs, 30) == expected
