"""The statistics behind the verdicts find what is there, and not what is not."""

import numpy as np
import pytest

from simonides.estimate import Estimate
from simonides.reproduction.claims.claim import Verdict, graded, is_near
from simonides.reproduction.claims.equivalence import compared, verdict_on_differences
from simonides.reproduction.claims.statistics import (
    chance_of_zero,
    distance,
    exponent,
    permutation_p,
    pooled,
    smallest_p,
)
from simonides.reproduction.volume import volumes

GRID = np.linspace(-4, 4, 81)


def instances(rng, count, shift=0.0):
    draws = np.sort(rng.standard_normal((count, 200)) + shift, axis=1)
    return np.array([np.searchsorted(row, GRID, side="right") / row.size for row in draws])


def test_one_law_is_not_told_apart_and_two_are():
    rng = np.random.default_rng(1)
    chances = [permutation_p(instances(rng, 5), instances(rng, 5)) for _ in range(20)]
    assert 0.2 < np.mean(chances) < 0.8  # uniform on average: 1/2, deviation 0.065
    assert permutation_p(instances(rng, 5), instances(rng, 5, 0.5)) == pytest.approx(2 / 252)
    assert permutation_p(instances(rng, 9), instances(rng, 9, 0.5)) < 0.002


@pytest.mark.parametrize(("one", "other"), [(3, 3), (3, 4), (5, 5), (9, 9)])
def test_the_smallest_p_is_that_of_laws_far_apart(one, other):
    rng = np.random.default_rng(5)
    far = permutation_p(instances(rng, one), instances(rng, other, 5.0))
    assert smallest_p(one, other) == pytest.approx(far)


def test_distance_is_that_of_the_means():
    assert distance(np.array([[0.0, 0.2], [0.0, 0.4]]), np.array([[0.0, 0.9]])) == pytest.approx(
        0.6
    )


def test_chance_of_zero():
    assert chance_of_zero([Estimate(1.96, 1.0)]) == pytest.approx(0.05, abs=1e-3)
    assert chance_of_zero([Estimate(0.1, 1.0)] * 3) > 0.9


def test_exponent_and_its_error():
    rng = np.random.default_rng(2)
    x = [10.0, 20.0, 40.0, 80.0]
    found = [
        exponent(
            x, [Estimate(v**-0.5 * (1 + 0.01 * rng.standard_normal()), 0.01 * v**-0.5) for v in x]
        )
        for _ in range(200)
    ]
    values = np.array([one.value for one in found])
    assert values.mean() == pytest.approx(-0.5, abs=4 * found[0].stderr / np.sqrt(200))
    assert values.std() == pytest.approx(found[0].stderr, rel=0.25)


def test_pooling_weighs_by_precision():
    assert pooled([Estimate(1.0, 0.1), Estimate(2.0, 1000.0)]).value == pytest.approx(1.0, abs=1e-6)


def test_verdicts():
    assert is_near(Estimate(0.52, 0.01), 0.5)
    assert not is_near(Estimate(0.54, 0.01), 0.5)
    assert is_near(Estimate(0.54, 0.01), 0.5, 0.02)
    assert graded(True, False) is Verdict.AGREES
    assert graded(False, True) is Verdict.IN_PART
    assert graded(False, False) is Verdict.DISAGREES


def test_verdict_on_differences():
    none = [Estimate(0.001, 0.01), Estimate(-0.004, 0.01)]
    shrinking = [Estimate(0.05, 0.005), Estimate(0.01, 0.002)]
    staying = [Estimate(0.05, 0.002), Estimate(0.08, 0.002)]
    assert verdict_on_differences(none) is Verdict.AGREES
    assert verdict_on_differences(shrinking) is Verdict.IN_PART
    assert verdict_on_differences(staying) is Verdict.DISAGREES


def test_the_decoupled_volume_is_exact_and_the_original_s_is_smaller():
    found = volumes(40_000)
    for facts, (_, decoupled) in found.items():
        assert is_near(decoupled, facts**-facts), facts
    original, decoupled = found[3]
    assert original.value < decoupled.value - 3 * decoupled.stderr
    assert is_near(found[2][0], 0.25)  # two facts: the signs of two independent scores


def parts(rng, shift, each, count=4):
    """Return rows of two problems, in some parts, whose laws lie apart by a shift."""
    return {
        f"part {number}": [
            {"problem": problem, "law": law}
            for problem, moved in (("original", 0.0), ("decoupled", shift))
            for law in instances(rng, each, moved)
        ]
        for number in range(count)
    }


def test_laws_agree_only_if_they_are_near_and_instances_could_tell():
    rng = np.random.default_rng(6)
    verdicts = {
        (shift, each): compared(parts(rng, shift, each), lambda row: row["law"])
        for shift in (0.0, 0.1, 1.0)
        for each in (4, 9)
    }
    assert verdicts[0.0, 9][1] is Verdict.AGREES
    assert verdicts[0.1, 9][1] is Verdict.IN_PART  # told apart, but near
    assert verdicts[1.0, 9][1] is Verdict.DISAGREES
    assert verdicts[0.0, 4][1] is Verdict.IN_PART
    assert verdicts[1.0, 4][1] is Verdict.DISAGREES  # as far apart as four can be
    for (_, each), (words, verdict) in verdicts.items():
        unsure = each == 4 and verdict is Verdict.IN_PART
        assert ("too few instances to tell" in words) == unsure


def test_laws_that_are_far_apart_for_noise_do_not_agree():
    rng = np.random.default_rng(7)
    spread = {"one": []}
    for problem in ("original", "decoupled"):
        for place in range(9):
            shift = 3 * rng.standard_normal() + (place == 0)
            spread["one"].append({"problem": problem, "law": instances(rng, 1, shift)[0]})
    words, verdict = compared(spread, lambda row: row["law"])
    assert float(words.split()[1]) > 0.1, words
    assert verdict is Verdict.IN_PART
