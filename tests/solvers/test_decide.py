"""Verdicts against linear programming, planted solutions, degenerate vectors and theory."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
import pytest
from scipy.optimize import linprog

from simonides import capacity
from simonides.certificate import Certificate, Claim, verify
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.solvers.decide import Verdict, decide
from simonides.solvers.solution import Status

KINDS = {"original": OriginalProblem, "decoupled": DecoupledProblem}


def constraints(problem):
    """One row (y_i - y_j) x_i^T per pair."""
    rows = []
    for fact in range(problem.facts):
        differences = problem.target_outputs[fact] - problem.competitors(fact)[1]
        rows += [np.outer(difference, problem.inputs[fact]).ravel() for difference in differences]
    return np.array(rows)


def highs_stores(problem):
    """Whether weights exist that give every target a lead of one, by linear programming."""
    rows = constraints(problem)
    answer = linprog(
        np.zeros(rows.shape[1]),
        A_ub=-rows,
        b_ub=-np.ones(len(rows)),
        bounds=(None, None),
        method="highs",
    )
    assert answer.status in (0, 2), answer.message
    return answer.status == 0


def checked(problem, **options):
    """Decide, and see that whatever is said is proved."""
    decision = decide(problem, **options)
    if decision.verdict is Verdict.STORABLE:
        gaps = constraints(problem) @ decision.solution.weights.ravel()
        assert gaps.min() > 0
        assert 0 < decision.margin_lower < decision.margin_upper == np.inf
        assert decision.certificate.claim is Claim.STORABLE
    elif decision.verdict is Verdict.NOT_STORABLE:
        assert decision.margin_lower == -np.inf
        assert 0 <= decision.margin_upper < options.get("tolerance", 1e-6)
        assert decision.certificate.claim is Claim.NOT_STORABLE
    if decision.verdict is not Verdict.UNDECIDED:
        assert verify(decision.certificate, problem, tolerance=options.get("tolerance", 1e-6)).valid
    return decision


def verdict(problem, **options):
    return checked(problem, **options).verdict


# Against linear programming.


@pytest.mark.parametrize(
    ("kind", "dim_in", "dim_out", "candidates", "sizes"),
    [
        ("original", 3, 3, None, range(5, 15)),
        ("original", 4, 3, 5, range(8, 28, 2)),
        ("original", 2, 5, 12, range(2, 10)),
        ("decoupled", 3, 3, None, range(4, 12)),
        ("decoupled", 4, 2, 3, range(5, 20, 2)),
        ("decoupled", 2, 3, 12, range(1, 8)),
    ],
)
def test_agreement_with_linear_programming(kind, dim_in, dim_out, candidates, sizes):
    stored = []
    for facts in sizes:
        for seed in range(4):
            problem = KINDS[kind].gaussian(
                facts, dim_in, dim_out, candidates=candidates, seed=100 * facts + seed
            )
            expected = highs_stores(problem)
            found = verdict(problem)
            assert found is (Verdict.STORABLE if expected else Verdict.NOT_STORABLE), (facts, seed)
            stored.append(expected)
    assert len(stored) >= 28
    assert min(stored.count(True), stored.count(False)) >= 5, stored


# Planted solutions.


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

    def _draw(self, row):
        rivals = super()._draw(row)
        image = self.planted @ self.inputs[row]
        gaps = (self.target_outputs[row] - rivals) @ image
        return rivals + np.outer(gaps - self.lead, image) / (image @ image)


def plant(kind, seed, lead):
    if kind == "original":
        return planted_original(np.random.default_rng(seed), 60, 4, 8, lead)
    problem = PlantedDecoupled(12, 4, 4, 12, seed, lead=lead)
    return problem, problem.planted


@pytest.mark.parametrize("lead", [1e-2, 1e-3, 1e-5, 1e-8])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_planted_facts_are_never_called_not_storable(kind, lead):
    found = []
    for seed in range(6):
        problem, weights = plant(kind, seed, lead)
        planted = verify(
            Certificate(Claim.STORABLE, problem.fingerprint(), weights=weights), problem
        )
        assert planted.valid
        assert 0 < planted.margin_bound < lead
        decision = checked(problem, tolerance=min(1e-6, planted.margin_bound))
        assert decision.verdict is not Verdict.NOT_STORABLE
        found.append(decision.verdict)
    if lead >= 1e-3:
        assert set(found) == {Verdict.STORABLE}


@pytest.mark.parametrize("lead", [1e-6, 1e-9, 1e-11])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_bound_never_falls_below_a_planted_margin(kind, lead):
    # "Not storable" is said up to a tolerance; the bracket stays true below it.
    for seed in range(6):
        problem, weights = plant(kind, seed, lead)
        planted = verify(
            Certificate(Claim.STORABLE, problem.fingerprint(), weights=weights), problem
        )
        assert checked(problem).margin_upper >= planted.margin_bound > 0


def test_the_tolerance_is_the_margin_that_counts_as_none():
    # Two inputs an angle apart: the largest normalised margin is half of it.
    for angle in (1e-3, 1e-5, 1e-7):
        problem = OriginalProblem(np.array([[1.0, 0.0], [1.0, angle]]), np.eye(2))
        assert verdict(problem, tolerance=0.1 * angle) is Verdict.STORABLE
        # Both constraints equally: their mean is as short as the largest margin.
        proof = Certificate(
            Claim.NOT_STORABLE,
            problem.fingerprint(),
            pair_facts=np.array([0, 1]),
            pair_rivals=np.array([1, 0]),
            multipliers=np.ones(2),
        )
        assert verify(proof, problem, tolerance=angle).valid
        assert not verify(proof, problem, tolerance=0.1 * angle).valid
        assert verify(proof, problem).margin_bound == pytest.approx(0.5 * angle, rel=1e-3)
        assert decide(problem, tolerance=0.1 * angle).margin_lower <= 0.5 * angle


# Degenerate vectors.


def gaussian_arrays(facts, dim, seed):
    problem = OriginalProblem.gaussian(facts, dim, seed=seed)
    return problem.inputs.copy(), problem.outputs.copy()


@pytest.mark.parametrize("facts", [6, 40])
@pytest.mark.parametrize("seed", range(4))
def test_an_input_given_twice(facts, seed):
    inputs, outputs = gaussian_arrays(facts, 10, seed)
    inputs[1] = inputs[0]
    targets = np.arange(facts)
    assert verdict(OriginalProblem(inputs, outputs, targets)) is Verdict.NOT_STORABLE
    targets[1] = targets[0]
    problem = OriginalProblem(inputs, outputs, targets)
    without = OriginalProblem(np.delete(inputs, 1, axis=0), outputs, np.delete(targets, 1))
    assert verdict(problem) is verdict(without)
    if facts == 6:
        assert verdict(problem) is Verdict.STORABLE


@pytest.mark.parametrize("facts", [6, 15, 40])
@pytest.mark.parametrize("seed", range(4))
def test_an_output_given_twice_is_never_storable(facts, seed):
    inputs, outputs = gaussian_arrays(facts, 10, seed)
    outputs[1] = outputs[0]
    assert verdict(OriginalProblem(inputs, outputs)) is Verdict.NOT_STORABLE


def test_an_output_given_twice_that_no_fact_wants():
    inputs, outputs = gaussian_arrays(6, 10, 0)
    outputs[1] = outputs[0]
    problem = OriginalProblem(inputs, outputs, [2, 3, 4, 5, 2, 3])
    assert verdict(problem) is Verdict.STORABLE


@pytest.mark.parametrize("factor", [3.0, 0.25])
def test_parallel_inputs(factor):
    inputs, outputs = gaussian_arrays(6, 10, 0)
    inputs[1] = factor * inputs[0]
    assert verdict(OriginalProblem(inputs, outputs)) is Verdict.NOT_STORABLE
    assert verdict(OriginalProblem(inputs, outputs, [0, 0, 2, 3, 4, 5])) is Verdict.STORABLE


def test_opposite_inputs():
    inputs, outputs = gaussian_arrays(6, 10, 0)
    inputs[1] = -inputs[0]
    assert verdict(OriginalProblem(inputs, outputs)) is Verdict.STORABLE
    same = OriginalProblem(inputs, outputs, [0, 0, 2, 3, 4, 5])
    assert verdict(same) is Verdict.NOT_STORABLE


def test_inputs_on_one_line():
    # A line holds two facts: the most extreme outputs along one direction.
    rng = np.random.default_rng(0)
    inputs = np.outer([1.0, -2.0], rng.standard_normal(4))
    outputs = np.eye(4)
    assert verdict(OriginalProblem(inputs, outputs)) is Verdict.STORABLE
    inputs = np.outer([1.0, -2.0, 3.0], rng.standard_normal(4))
    assert verdict(OriginalProblem(inputs, outputs)) is Verdict.NOT_STORABLE


def test_an_output_between_others_is_never_first():
    outputs = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    rng = np.random.default_rng(0)
    assert verdict(OriginalProblem(rng.standard_normal((3, 8)), outputs)) is Verdict.NOT_STORABLE


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_a_zero_input_is_never_storable(seed):
    for facts in (6, 15, 40):
        inputs, outputs = gaussian_arrays(facts, 10, seed)
        inputs[2] = 0
        assert verdict(OriginalProblem(inputs, outputs)) is Verdict.NOT_STORABLE


def test_a_zero_input_raises_no_warning():
    for seed in range(4):
        inputs, outputs = gaussian_arrays(6, 5, seed)
        inputs[2] = 0
        decide(OriginalProblem(inputs, outputs))


def test_nothing_but_zeros():
    inputs, outputs = gaussian_arrays(5, 3, 0)
    assert verdict(OriginalProblem(0 * inputs, outputs)) is Verdict.NOT_STORABLE
    assert verdict(OriginalProblem(inputs, 0 * outputs)) is Verdict.NOT_STORABLE


def test_a_zero_output_is_an_output_like_others():
    inputs, outputs = gaussian_arrays(6, 10, 0)
    outputs[3] = 0
    assert verdict(OriginalProblem(inputs, outputs)) is Verdict.STORABLE


@pytest.mark.parametrize("facts", [6, 40])
def test_zero_weights_are_a_start_like_others(facts):
    problem = OriginalProblem.gaussian(facts, 8 if facts == 6 else 5, seed=0)
    start = np.zeros((problem.dim_out, problem.dim_in))
    assert verdict(problem, start=start) is verdict(problem)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_one_fact_and_one_rival_is_storable(kind):
    for seed in range(5):
        problem = KINDS[kind].gaussian(1, 3, candidates=2, seed=seed)
        assert verdict(problem) is Verdict.STORABLE
        assert verdict(KINDS[kind].gaussian(5, 3, seed=seed).prefix(1)) is Verdict.STORABLE


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_fewer_facts_than_dimensions_are_storable(kind):
    # Inputs are independent, so any images can be had; targets are extreme in so many dimensions.
    for seed in range(5):
        assert verdict(KINDS[kind].gaussian(8, 12, 30, seed=seed)) is Verdict.STORABLE


@pytest.mark.parametrize("dims", [(1, 1), (1, 5), (5, 1)])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_one_dimension(kind, dims):
    for seed in range(6):
        problem = KINDS[kind].gaussian(3, *dims, seed=seed)
        expected = Verdict.STORABLE if highs_stores(problem) else Verdict.NOT_STORABLE
        assert verdict(problem) is expected


# Cover: with two outputs as many facts as twice the parameters that matter, half of the time.


def cover(facts, parameters):
    """Chance that as many random dichotomies can be stored."""
    return sum(comb(facts - 1, k) for k in range(parameters)) / 2 ** (facts - 1)


@pytest.mark.parametrize("load", [1.5, 2.0, 2.5])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_two_outputs_follow_cover(kind, load):
    trials = 80
    dim_in, dim_out = (8, 3) if kind == "original" else (3, 3)
    parameters = dim_in if kind == "original" else dim_in * dim_out
    facts = round(load * parameters)
    stored = 0
    for seed in range(trials):
        found = decide(KINDS[kind].gaussian(facts, dim_in, dim_out, candidates=2, seed=seed))
        assert found.verdict is not Verdict.UNDECIDED
        stored += found.verdict is Verdict.STORABLE
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


def test_an_interruption_leaves_it_undecided():
    def watch(progress):
        if progress.step == 1:
            raise KeyboardInterrupt

    decision = decide(OriginalProblem.gaussian(40, 5, seed=0), watch=watch)
    assert decision.verdict is Verdict.UNDECIDED
    assert decision.solution.steps == 1


def test_a_warm_start_and_a_watcher_are_passed_on():
    problem, seen = OriginalProblem.gaussian(20, 8, seed=0), []
    first = decide(problem)
    again = decide(problem, start=first.solution.weights, watch=seen.append)
    assert again.verdict is Verdict.STORABLE
    assert [progress.step for progress in seen] == [0]


@pytest.mark.parametrize("scale", [1e-2, 1e3, 1e8])
@pytest.mark.parametrize("facts", [12, 26])
def test_units_do_not_matter(facts, scale):
    problem = OriginalProblem.gaussian(facts, 6, seed=1)
    expected = verdict(problem)
    assert expected is not Verdict.UNDECIDED
    assert verdict(OriginalProblem(problem.inputs * scale, problem.outputs)) is expected
    assert verdict(OriginalProblem(problem.inputs, problem.outputs * scale)) is expected


@pytest.mark.parametrize("scale", [1e-4, 1e-8])
def test_small_units_do_not_matter(scale):
    problem = OriginalProblem.gaussian(26, 6, seed=1)
    assert verdict(OriginalProblem(problem.inputs * scale, problem.outputs)) is verdict(problem)


def test_lengths_of_inputs_do_not_matter():
    problem = OriginalProblem.gaussian(12, 6, seed=1)
    assert verdict(problem) is Verdict.STORABLE
    lengths = 10 ** np.random.default_rng(0).uniform(-2, 2, (12, 1))
    scaled = OriginalProblem(problem.inputs * lengths, problem.outputs)
    assert verdict(scaled) is Verdict.STORABLE


@pytest.mark.parametrize(
    ("of_inputs", "of_outputs"),
    [pytest.param(1e-170, 1.0, id="inputs"), pytest.param(1.0, 1e-170, id="outputs")],
)
def test_vectors_that_would_underflow_are_refused(of_inputs, of_outputs):
    with pytest.raises(ValueError, match=r"\[0\] = 1e-170 must be zero, or of a size"):
        OriginalProblem(np.eye(3) * of_inputs, np.eye(3) * of_outputs)
    assert verdict(OriginalProblem(np.eye(3) * of_inputs**0.4, np.eye(3))) is Verdict.STORABLE


@pytest.mark.parametrize("scale", [1e100, 1e160])
def test_vectors_that_would_overflow_are_refused(scale):
    with pytest.raises(ValueError, match="must be zero, or of a size"):
        OriginalProblem(np.eye(3) * scale, np.eye(3) * scale)
    large = np.eye(3) * scale**0.4
    assert verdict(OriginalProblem(large, large)) is Verdict.STORABLE


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_verdicts_on_prefixes_change_once(kind):
    whole = KINDS[kind].gaussian(30, 4, seed=3)
    verdicts = [verdict(whole.prefix(facts)) for facts in range(1, 31)]
    assert Verdict.UNDECIDED not in verdicts
    first = verdicts.index(Verdict.NOT_STORABLE)
    assert set(verdicts[first:]) == {Verdict.NOT_STORABLE}
    assert first > 4


def threshold(whole, low, high):
    """The largest prefix that can be stored."""
    assert decide(whole.prefix(low)).verdict is Verdict.STORABLE
    assert decide(whole.prefix(high)).verdict is Verdict.NOT_STORABLE
    while high - low > 1:
        middle = (low + high) // 2
        found = decide(whole.prefix(middle)).verdict
        assert found is not Verdict.UNDECIDED
        low, high = (middle, high) if found is Verdict.STORABLE else (low, middle)
    return low


@pytest.mark.slow
def test_measured_thresholds_against_theory():
    theory = capacity(12, outputs="decoupled").facts
    theory = float(getattr(theory, "value", theory))
    found = np.array(
        [
            threshold(
                DecoupledProblem.gaussian(round(1.6 * theory), 12, seed=seed),
                round(0.5 * theory),
                round(1.6 * theory),
            )
            for seed in range(40)
        ]
    )
    # facts are whole: on average the edge lies half a fact above the last that fits
    mean, error = found.mean() + 0.5, found.std(ddof=1) / np.sqrt(len(found))
    assert abs(mean - theory) < 3 * error + 0.02 * theory
