"""Verdicts against linear programming, planted solutions, degenerate vectors and theory."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
import pytest
from definition import BOTH, KINDS, assert_proved, linear_program_stores, proved_verdict
from proofs import claim_not_storable, claim_storable

from simonides.certificate import verify
from simonides.failures import BadArgumentError
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.decide import decide
from simonides.solvers.hinge.low_rank import low_rank
from simonides.solvers.solution import Status, Verdict

# Against linear programming.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "dim_in", "dim_out", "candidates", "sizes"),
    [
        ("original", 3, 3, None, range(5, 15)),
        ("original", 4, 3, 5, range(4, 24, 2)),
        ("original", 2, 5, 12, range(2, 10)),
        ("decoupled", 3, 3, None, range(4, 12)),
        ("decoupled", 4, 2, 3, range(5, 20, 2)),
        ("decoupled", 2, 3, 12, range(1, 8)),
    ],
)
def test_agreement_with_linear_programming(kind, dim_in, dim_out, candidates, sizes):
    stored = []
    for facts in sizes:
        for seed in range(3):
            problem = KINDS[kind].gaussian(
                facts, dim_in, dim_out, candidates=candidates, seed=100 * facts + seed
            )
            expected = linear_program_stores(problem)
            verdict = proved_verdict(problem)
            assert verdict is (Verdict.STORABLE if expected else Verdict.NOT_STORABLE), (
                facts,
                seed,
            )
            stored.append(expected)
    assert len(stored) >= 21
    assert min(stored.count(True), stored.count(False)) >= 4, stored


# Planted solutions.


@pytest.mark.slow
@pytest.mark.parametrize("distance", [1e-3, 1e-4, 1e-5])
def test_two_inputs_that_are_nearly_the_same(distance):
    """The margin is small against all other leads, and far above the tolerance."""
    rng = np.random.default_rng(0)
    inputs, outputs = rng.standard_normal((2, 24, 10))
    inputs[1] = inputs[0] + distance * np.random.default_rng(1).standard_normal(10)
    problem = OriginalProblem(inputs, outputs)
    assert linear_program_stores(problem)
    assert proved_verdict(problem) is Verdict.STORABLE


def planted_original(rng, facts, dim, candidates, lead):
    """Facts that planted weights store, each moved to trail its closest rival by about ``lead``."""
    weights = rng.standard_normal((dim, dim)) / dim
    outputs = rng.standard_normal((candidates, dim))
    normals = outputs @ weights
    inputs, targets = [], []
    while len(inputs) < facts:
        x = rng.standard_normal(dim)
        order = np.argsort(normals @ x)
        top, second = order[-1], order[-2]
        normal = normals[top] - normals[second]
        x = x - (normal @ x - lead) * normal / (normal @ normal)
        if np.argmax(normals @ x) == top and np.sort(normals @ x)[-2] == normals[second] @ x:
            inputs.append(x)
            targets.append(top)
    return OriginalProblem(np.array(inputs), outputs, np.array(targets)), weights


@dataclass(frozen=True, eq=False)
class PlantedDecoupled(DecoupledProblem):
    """Rivals moved so that planted weights lead each of them by exactly ``lead``."""

    lead: float = 1.0

    @property
    def planted(self):
        return np.random.default_rng(self.seed).standard_normal((self.dim_out, self.dim_in))

    def rivals_of(self, rows):
        rivals = super().rivals_of(rows).astype(np.float64)
        images = self.inputs[rows] @ self.planted.T
        gaps = np.einsum("ijk,ik->ij", self.target_outputs[rows, None] - rivals, images)
        shifts = (gaps - self.lead) / np.einsum("ik,ik->i", images, images)[:, None]
        return rivals + shifts[:, :, None] * images[:, None]


def plant(kind, seed, lead):
    if kind == "original":
        return planted_original(np.random.default_rng(seed), 60, 4, 8, lead)
    problem = PlantedDecoupled(12, 4, 4, 12, seed, lead=lead)
    return problem, problem.planted


@pytest.mark.parametrize(
    "lead", [1e-2, 1e-3, *(pytest.param(lead, marks=pytest.mark.slow) for lead in (1e-5, 1e-8))]
)
@BOTH
def test_planted_facts_are_never_called_not_storable(kind, lead):
    verdicts = set()
    for seed in range(2 if lead > 1e-8 else 1):
        problem, weights = plant(kind, seed, lead)
        planted = verify(claim_storable(problem, weights), problem)
        assert planted.valid
        assert 0 < planted.margin_bound < lead
        decision = assert_proved(problem, tolerance=min(1e-9, planted.margin_bound))
        assert decision.verdict is not Verdict.NOT_STORABLE
        verdicts.add(decision.verdict)
    if lead >= 1e-3:
        assert verdicts == {Verdict.STORABLE}


@pytest.mark.slow
@pytest.mark.parametrize("lead", [1e-6, 1e-9, 1e-11])
@BOTH
def test_the_bound_never_falls_below_a_planted_margin(kind, lead):
    # "Not storable" is said up to a tolerance; the bracket stays true below it.
    for seed in range(2):
        problem, weights = plant(kind, seed, lead)
        planted = verify(claim_storable(problem, weights), problem)
        assert assert_proved(problem).margin_upper >= planted.margin_bound > 0


def test_the_tolerance_is_the_margin_that_counts_as_none():
    # Two inputs an angle apart: the largest normalised margin is half of it.
    for angle in (1e-3, 1e-5, 1e-7):
        problem = OriginalProblem(np.array([[1.0, 0.0], [1.0, angle]]), np.eye(2))
        assert proved_verdict(problem, tolerance=0.1 * angle) is Verdict.STORABLE
        # Both constraints equally: their mean is as short as the largest margin.
        proof = claim_not_storable(problem, [0, 1], [1, 0], [1.0, 1.0])
        assert verify(proof, problem, tolerance=angle).valid
        assert not verify(proof, problem, tolerance=0.1 * angle).valid
        assert verify(proof, problem).margin_bound == pytest.approx(0.5 * angle, rel=1e-3)
        assert decide(problem, tolerance=0.1 * angle).margin_lower <= 0.5 * angle


# Cover: with two outputs as many facts as twice the parameters that matter, half of the time.


def cover(facts, parameters):
    """Chance that as many random dichotomies can be stored."""
    return sum(comb(facts - 1, k) for k in range(parameters)) / 2 ** (facts - 1)


@pytest.mark.slow
@pytest.mark.parametrize("load", [1.5, 2.0, 2.5])
@BOTH
def test_two_outputs_follow_cover(kind, load):
    trials = 40
    dim_in, dim_out = (8, 3) if kind == "original" else (3, 3)
    parameters = dim_in if kind == "original" else dim_in * dim_out
    facts = round(load * parameters)
    stored = 0
    for seed in range(trials):
        decision = decide(KINDS[kind].gaussian(facts, dim_in, dim_out, candidates=2, seed=seed))
        assert decision.verdict is not Verdict.UNDECIDED
        stored += decision.verdict is Verdict.STORABLE
    chance = cover(facts, parameters)
    # random rank-one matrices are in general position and have random signs: Cover is exact
    assert abs(stored / trials - chance) < 4 * np.sqrt(chance * (1 - chance) / trials)


# What else a caller may ask.


def test_the_step_limit_leaves_it_undecided():
    decision = decide(OriginalProblem.gaussian(40, 5, seed=0), max_steps=1)
    assert decision.verdict is Verdict.UNDECIDED
    assert decision.solution.status is Status.STOPPED
    assert decision.certificate is None
    assert (decision.margin_lower, decision.margin_upper) == (-np.inf, np.inf)


def uneven(facts, seed=1):
    problem = OriginalProblem.gaussian(facts, 6, seed=seed)
    return OriginalProblem(problem.inputs * np.logspace(0, 3, 6), problem.outputs)


@pytest.mark.parametrize("make", [OriginalProblem.gaussian, uneven], ids=["even", "uneven"])
@pytest.mark.parametrize("options", [{}, {"margin_gap": 1e-3}], ids=["plain", "margin"])
def test_an_interruption_ends_it_undecided(make, options):
    problem = make(40, 5, seed=0) if make is not uneven else make(40)
    seen = []
    whole = decide(problem, watch=seen.append, **options)
    assert whole.verdict is not Verdict.STORABLE
    for stop in range(1, len(seen) + 1, 3):
        calls = []

        def watch(progress, calls=calls, stop=stop):
            calls.append(progress)
            if len(calls) == stop:
                raise KeyboardInterrupt

        decision = decide(problem, watch=watch, **options)
        assert len(calls) == stop  # once is enough
        assert decision.verdict is Verdict.UNDECIDED
        assert decision.solution.status is Status.STOPPED
        assert decision.certificate is None


@pytest.mark.parametrize("make", [OriginalProblem.gaussian, uneven], ids=["even", "uneven"])
@pytest.mark.parametrize(
    "start",
    [
        pytest.param(np.zeros((3, 3)), id="shape"),
        pytest.param(np.zeros(6), id="vector"),
        pytest.param([[1.0], [1.0, 2.0]], id="ragged"),
        pytest.param(np.full((6, 6), np.nan), id="nan"),
        pytest.param(np.full((6, 6), "a"), id="text"),
    ],
)
def test_impossible_starts_are_named(make, start):
    problem = make(10, 6, seed=0) if make is not uneven else make(10)
    with pytest.raises(BadArgumentError, match="start"):
        decide(problem, start=start)


@pytest.mark.parametrize("facts", [10, 40])
def test_uneven_data_are_decided_from_any_start(facts):
    problem = uneven(facts)
    expected = proved_verdict(problem)
    assert expected is (Verdict.STORABLE if facts == 10 else Verdict.NOT_STORABLE)
    rng = np.random.default_rng(0)
    for start in (np.zeros((6, 6)), np.eye(6), rng.standard_normal((6, 6))):
        assert proved_verdict(problem, start=start) is expected


def test_a_warm_start_and_a_watcher_are_passed_on():
    problem, seen = OriginalProblem.gaussian(20, 8, seed=0), []
    first = decide(problem)
    again = decide(problem, start=first.solution.weights, watch=seen.append)
    assert again.verdict is Verdict.STORABLE
    assert [progress.step for progress in seen] == [0]


@pytest.mark.slow
@BOTH
def test_verdicts_on_prefixes_change_once(kind):
    whole = KINDS[kind].gaussian(30, 4, seed=3)
    verdicts = [proved_verdict(whole.prefix(facts)) for facts in range(1, 31)]
    assert Verdict.UNDECIDED not in verdicts
    first = verdicts.index(Verdict.NOT_STORABLE)
    assert set(verdicts[first:]) == {Verdict.NOT_STORABLE}
    assert first > 4


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "facts", "seed"), [("original", 51, 1), ("decoupled", 46, 1)])
def test_training_finds_small_ranks_where_steps_on_the_hinge_get_stuck(kind, facts, seed):
    problem = KINDS[kind].gaussian(facts, 25, seed=seed)
    assert low_rank(problem, 3, max_steps=400).recalled < facts
    decision = decide(problem, 3)
    assert decision.verdict is Verdict.STORABLE
    assert verify(decision.certificate, problem).valid
    assert np.linalg.matrix_rank(decision.solution.weights) == 3
