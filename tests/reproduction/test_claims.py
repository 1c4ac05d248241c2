"""Claims are computed from the run, and change with it."""

import copy
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from planted import Planted
from scipy import optimize

from simonides.curves.table import Table
from simonides.experiments.expand import expand, predicted
from simonides.report.template import PAGE
from simonides.reproduction.claims import capacities, equivalence, mechanism, protocol
from simonides.reproduction.claims.catalogue import CHECKS, SWEEPS, claims_of
from simonides.reproduction.claims.claim import Agreement
from simonides.reproduction.plans import PLANS
from simonides.reproduction.results import where
from simonides.reproduction.thresholds import BY_RANK, LOADS
from simonides.theory.setting import facts_at_load


class Changed:
    """Results whose rows were put through a function."""

    def __init__(self, results, change):
        self.plan, self._results, self._change = results.plan, results, change

    def tables(self, figure):
        return figure.tables(self)

    def rows(self, sweep, **columns):
        return [self._change(copy.deepcopy(row)) for row in self._results.rows(sweep, **columns)]


class Drawn:
    """Results that are the measured table of a figure, and nothing else."""

    def __init__(self, figure, **columns):
        self._figure = figure
        self._table = Table("measured", "Planted", {k: np.array(v) for k, v in columns.items()})

    def tables(self, figure):
        assert figure is self._figure
        return {"measured": self._table}


def planted(spec, **columns):
    """Return a row for every task of a spec, with columns of its own."""
    names = ("problem", "dim", "facts", "rank_fraction", "solver", "instance")
    return [
        {name: getattr(task, name) for name in names}
        | {"load": task.facts * np.log(task.facts) / task.dim**2, **columns}
        for task in expand(spec)
    ]


def thresholds(results, of):
    """Return results with planted thresholds: ``of`` a problem, dimension and instance."""

    def change(row):
        if row["solver"] == "threshold":
            row["threshold"] = of(row["problem"], row["dim"], row["instance"])
        return row

    return Changed(results, change)


@pytest.mark.slow
def test_every_claim_is_checked_from_a_run(results):
    claims = claims_of(results, SWEEPS)
    assert len({claim.name for claim in claims}) == len(claims) == 20
    for claim in claims:
        assert claim.statement
        assert any(letter.isdigit() for letter in claim.found), claim
        assert claim.data


def test_only_what_was_run_is_checked(results):
    names = {claim.name for claim in claims_of(results, ["thresholds"])}
    assert names == {"capacity", "rate", "equal-thresholds"}


def test_capacity_agrees_where_thresholds_follow_theory_and_not_where_they_do_not(results):
    def noise(instance):
        return 0.02 * (instance - 1.5)

    right = thresholds(results, lambda kind, dim, i: predicted(kind, dim, None) * (1 + noise(i)))
    wrong = thresholds(results, lambda kind, dim, i: predicted(kind, dim, None) * (1.3 + noise(i)))
    assert capacities.capacity_one_half(right).verdict is Agreement.AGREES
    assert "0.500" in capacities.capacity_one_half(right).found
    assert capacities.capacity_one_half(wrong).verdict is Agreement.DISAGREES


def test_a_noisy_rate_does_not_agree():
    dims = np.array([12.0, 25.0, 50.0, 100.0])
    load = 0.5 + 1 / np.log(dims)  # exactly the claimed rate

    facts = [solved(x, dim) for x, dim in zip(load, dims, strict=True)]
    for error, verdict in (
        (1e-4, Agreement.AGREES),
        (0.01, Agreement.IN_PART),
        (0.1, Agreement.DISAGREES),
    ):
        errors = np.full(4, error)
        results = Drawn(
            LOADS, dim=dims, decoupled=np.ones(4), load=load, load_stderr=errors, facts_theory=facts
        )
        assert capacities.rate_of_convergence(results).verdict is verdict, error


def solved(load, dim):
    """Return p with p log p / d^2 a given load."""
    return float(optimize.brentq(lambda p: p * np.log(p) - load * dim**2, 2, 10 * dim**2))


@pytest.mark.parametrize(
    ("error", "verdict"),
    [(0.01, Agreement.AGREES), (0.1, Agreement.IN_PART), (0.3, Agreement.DISAGREES)],
)
def test_a_noisy_capacity_by_rank_does_not_agree(error, verdict):
    columns = {
        "decoupled": [0.0],
        "dim": [25.0],
        "rank_fraction": [0.5],
        "facts": [100.0],
        "facts_theory": [100.0],
        "facts_stderr": [100 * error],
    }
    assert capacities.rank_bound(Drawn(BY_RANK, **columns)).verdict is verdict


def test_the_load_is_extrapolated_and_what_that_is_worth_is_said(results):
    def claim(of):
        return capacities.capacity_one_half(thresholds(results, of))

    def noise(instance):
        return 1 + 0.001 * (instance - 1.5)

    dims = np.array([5.0, 8.0])
    theory = [predicted("original", dim, None) for dim in (5, 8)]
    loads = np.array(theory) * np.log(theory) / dims**2
    _, expected = np.polyfit(1 / np.log(dims), loads, 1)  # two points: weights do not matter
    outcome = claim(lambda kind, dim, i: predicted(kind, dim, None) * noise(i))
    assert f"the same fit to finite-size theory leads to {expected:.3f}" in outcome.found
    assert f"misses by {expected - 0.5:+.3f}" in outcome.found
    assert "contradicts 1/2 (original, decoupled)" in outcome.found
    assert outcome.verdict is Agreement.AGREES

    # Loads that lie on a line to 1/2 are extrapolated to 1/2, and are not those of theory.
    outcome = claim(lambda _, dim, i: solved(0.5 + 1 / np.log(dim), dim) * noise(i))
    assert "1/2 is within 3 standard errors" in outcome.found
    assert "a = 0.5" in outcome.found
    assert outcome.verdict is Agreement.DISAGREES

    # Right on average over the dimensions, but with another trend.
    tilted = {5: 1.01, 8: 0.99}
    outcome = claim(lambda kind, dim, i: predicted(kind, dim, None) * noise(i) * tilted[dim])
    assert outcome.verdict is Agreement.IN_PART


def test_thresholds_that_differ_are_told_apart(results):
    same = thresholds(results, lambda _kind, dim, i: dim**2 / 5 + 0.1 * i)
    apart = thresholds(
        results, lambda kind, dim, i: dim**2 / 5 * (1 + 0.02 * dim * (kind == "original")) + 0.1 * i
    )
    assert equivalence.thresholds(same).verdict is Agreement.AGREES
    assert equivalence.thresholds(apart).verdict is Agreement.DISAGREES
    assert "over decoupled: +9.7" in equivalence.thresholds(apart).found
    fewer = thresholds(
        results, lambda kind, dim, i: dim**2 / 5 * (1 - 0.3 * (kind == "original")) + 0.1 * i
    )
    assert "over decoupled: -29." in equivalence.thresholds(fewer).found


def test_an_unchanged_spread_of_targets_disagrees(results):
    def flat(row):
        row["target_std"] = 0.4 * row["rival_std"]
        return row

    assert mechanism.targets_broaden(Changed(results, flat)).verdict is Agreement.DISAGREES


def test_rivals_that_move_are_another_strategy(results):
    def lowered(row):
        row["rival_mean"], row["target_mean"] = -2.0, 0.1
        return row

    assert mechanism.raises_targets(Changed(results, lowered)).verdict is Agreement.DISAGREES


def test_a_protocol_that_recalls_less_is_seen(results):
    def worse(row):
        if row["solver"] == "gradient":
            row["accuracy"] = 0.5
        elif row["solver"] == "cross_entropy":
            row["accuracy"] = 1.0
        return row

    assert protocol.adam_agrees(Changed(results, worse)).verdict is Agreement.DISAGREES


def test_differences_of_opposite_sign_do_not_cancel(results):
    def opposite(row):
        if row["solver"] == "gradient":
            row["accuracy"] = 0.5 + 0.1 * (1 if row["problem"] == "original" else -1)
        elif row["solver"] == "cross_entropy":
            row["accuracy"] = 0.5
        return row

    claim = protocol.adam_agrees(Changed(results, opposite))
    assert claim.verdict is Agreement.DISAGREES
    assert "+0.1000" in claim.found
    assert "-0.1000" in claim.found


@pytest.mark.parametrize("plan", PLANS.values(), ids=lambda plan: plan.name)
def test_the_protocol_is_compared_on_both_sides_of_capacity_by_the_solver_of_the_curves(plan):
    (spec,) = plan.sweeps["protocol"]
    assert set(plan.sweeps["accuracy"][0].solvers) <= set(spec.solvers)
    claim = protocol.adam_agrees(Planted(plan, protocol=planted(spec, accuracy=0.9)))
    for problem, fraction in product(spec.problems, spec.rank_fractions):
        for side in ("below", "beyond"):
            assert f"{problem}, κ = {fraction:g}, {side} capacity: +0.0000" in claim.found
    assert claim.verdict is Agreement.AGREES

    # A plan without the loads on one side decides nothing about it.
    low = planted(replace(spec, loads=spec.loads[1:]), accuracy=0.9)
    claim = protocol.adam_agrees(Planted(plan, protocol=low))
    assert claim.verdict is Agreement.UNDECIDED
    assert "original, κ = 0.25, below capacity" in claim.found.split("for want of")[1]


def test_how_the_convergent_solver_ends_is_said_for_every_dimension(results):
    full = PLANS["full"]
    said = protocol.adam_agrees(Planted(full, protocol=[])).found
    assert (
        "solver ran with least_gain = 0.0001, in the curves with least_gain = 0.0001 at d = 25, 50 and "
        "least_gain = 0.001 at d = 50, 100, 200"
    ) in said
    said = protocol.adam_agrees(results).found
    assert "solver ran with no options, in the curves with max_steps = 30" in said


def test_a_difference_beyond_capacity_is_seen(results):

    def beyond(row):
        if row["solver"] == "gradient" and row["facts"] > predicted(row["problem"], 6, None):
            row["accuracy"] = 0.0
        return row

    claim = protocol.adam_agrees(Changed(results, beyond))
    assert "beyond capacity" in claim.found
    assert claim.verdict is Agreement.DISAGREES


@pytest.mark.parametrize(("dim", "spread"), [(400, 2 / np.sqrt(400))])
def test_images_of_a_gaussian_matrix_vary_like_two_over_root_d(dim, spread):
    values = np.linalg.svd(np.random.default_rng(4).standard_normal((dim, dim)), compute_uv=False)
    row = {"singular_values": values / np.sqrt(np.mean(values**2)), "rank": dim, "dim": dim}
    assert mechanism.image_spread(row) == pytest.approx(spread, rel=0.02)


class Left(Changed):
    """Results of which tasks of one sweep failed."""

    def __init__(self, results, sweep, keep):
        super().__init__(results, lambda row: row)
        self._sweep, self._keep = sweep, keep

    def rows(self, sweep, **columns):
        rows = super().rows(sweep)
        if sweep == self._sweep:
            rows = [row for place, row in enumerate(rows) if self._keep(place, row)]
        return where(rows, **columns)


LOSSES = {
    "all": lambda place, row: False,
    "all but one": lambda place, row: place == 0,
    "every third": lambda place, row: place % 3 < 2,
    "originals": lambda place, row: row["problem"] != "original",
    "all but an instance": lambda place, row: row["instance"] == 0,
}
LOSSES_OF_SOME = {
    ("hebbian", "the first"): lambda place, row: place > 0,
    ("regimes", "decoupled ones"): lambda place, row: row["problem"] != "decoupled",
    ("thresholds", "originals at the largest dimension"): lambda place, row: (
        (row["problem"], row["dim"]) != ("original", 8)
    ),
    ("protocol", "a solver"): lambda place, row: row["solver"] != "gradient",
    ("bounded", "bounded ranks"): lambda place, row: row["rank_fraction"] == 1,
}
CASES = {(sweep, lost): LOSSES[lost] for sweep, lost in product(SWEEPS, LOSSES)} | LOSSES_OF_SOME


@pytest.mark.parametrize("case", CASES, ids=" lost ".join)
def test_every_claim_is_made_whatever_tasks_failed(results, case):
    for claim in claims_that_need(case[0], Left(results, case[0], CASES[case])):
        assert claim.statement
        assert (claim.verdict is Agreement.UNDECIDED) == ("not decided for want of" in claim.found)
        assert (claim.verdict is Agreement.UNDECIDED) == ("--retry-failed" in claim.found)


def claims_that_need(sweep, results):
    return [check(results) for check in CHECKS if sweep in check.needs]


@pytest.mark.parametrize(
    ("sweep", "names"),
    [
        ("thresholds", {"capacity", "rate", "equal-thresholds", "fourfold-gap"}),
        ("accuracy", {"equal-curves"}),
        (
            "regimes",
            {"equal-scores", "off-target", "target-level", "target-spread", "strategy"}
            | {"gaussian-equivalence", "spectra:1"},
        ),
        ("hebbian", {"hebbian", "fourfold-gap"}),
        ("bounded", {"rank-capacity"}),
        ("protocol", {"protocol"}),
    ],
)
def test_what_nothing_was_measured_for_is_not_decided(results, sweep, names):
    claims = claims_that_need(sweep, Left(results, sweep, LOSSES["all"]))
    sizes = {claim.name for claim in claims if claim.verdict is Agreement.UNDECIDED}
    few = {"equal-spectra"}  # which three instances cannot decide anyhow
    assert sizes - few == names


@pytest.mark.parametrize(
    ("sweep", "check", "load"),
    [
        ("hebbian", capacities.hebbian_one_eighth, 0.05),
        ("accuracy", equivalence.curves, 1.2),
        ("protocol", protocol.adam_agrees, 1.2),
    ],
)
def test_instances_that_are_not_whole_are_left_out(sweep, check, load):
    spec = replace(PLANS["full"].sweeps[sweep][0], dims=(25,), instances=4)
    rows = planted(spec)
    rng = np.random.default_rng(8)
    for row in rows:
        row["accuracy"] = rng.uniform()
        row["recalled"] = row["facts"] if row["load"] < rng.uniform(0, 0.2) else 0
    whole = check(Planted(PLANS["full"], **{sweep: rows}))
    facts = round(facts_at_load(load, 25))
    torn = [row for row in rows if row["instance"] != 1 or row["facts"] != facts]
    gone = [row for row in rows if row["instance"] != 1]
    assert len(gone) < len(torn) < len(rows)
    left, other = (check(Planted(PLANS["full"], **{sweep: some})) for some in (torn, gone))
    if sweep == "protocol":  # below capacity nothing was torn
        left, other, whole = (
            [part for part in claim.found.split("; ") if "beyond" in part]
            for claim in (left, other, whole)
        )
    assert left == other != whole


def test_every_verdict_has_a_style():
    for verdict in Agreement:
        assert f"b.{verdict.name.lower()} {{" in PAGE
