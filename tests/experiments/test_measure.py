"""One task's measurement: a pure function, checked against the plain definitions."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from simonides.experiments.measure import measure
from simonides.experiments.record import ARRAYS, ROWS, TIMES, TaskStatus, attempt, tables
from simonides.experiments.score_laws import SCORE_EDGES, score_laws
from simonides.experiments.task import Task
from simonides.failures import ConvergenceError
from simonides.problems.decoupled import DecoupledProblem
from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.decide import decide
from simonides.solvers.deciding.threshold import threshold
from simonides.solvers.rules.hebbian import hebbian
from simonides.solvers.training.cross_entropy import cross_entropy

TASK = Task("original", 10, 40, 1.0, "cross_entropy", (), instance=0, seed=3)


def dense_scores(problem, weights):
    """Return target scores, best rivals and all rivals by the definition, fact by fact."""
    targets, best, rivals = [], [], []
    for fact in range(problem.facts):
        image = weights @ problem.inputs[fact] / np.sqrt((weights**2).sum())
        targets.append(problem.target_outputs[fact] @ image)
        rivals.append(problem.competitors(fact)[1] @ image)
        best.append(rivals[-1].max())
    return np.array(targets), np.array(best), np.concatenate(rivals)


@pytest.mark.parametrize("kind", [OriginalProblem, DecoupledProblem])
def test_scores_are_counted_as_they_are_defined(kind):
    problem = kind.gaussian(30, 8, seed=1)
    weights = np.random.default_rng(0).standard_normal((8, 8))
    laws = score_laws(problem, weights)
    inside = [-np.inf, *SCORE_EDGES, np.inf]
    for law, scores in zip(
        (laws.target, laws.best_rival, laws.rival), dense_scores(problem, weights), strict=True
    ):
        assert np.array_equal(law.counts, np.histogram(scores, inside)[0])
        assert law.mean == pytest.approx(scores.mean(), abs=1e-6)  # single precision
        assert law.std == pytest.approx(scores.std(), rel=1e-6)


def test_scores_beyond_the_bins_are_counted_at_the_ends():
    problem = OriginalProblem(
        np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[50.0, 0.0], [0.0, -50.0]])
    )
    laws = score_laws(problem, np.eye(2))  # fmt: skip
    assert laws.target.counts[[0, -1]].tolist() == [1, 1]
    assert laws.target.counts.sum() == 2


def test_rivals_that_know_nothing_of_the_weights_have_variance_one():
    problem = DecoupledProblem.gaussian(300, 20, seed=5)
    weights = np.random.default_rng(1).standard_normal((20, 20))
    # 300 images of length about one: the mean of their squares varies by sqrt(2 / 300 / stable rank).
    assert score_laws(problem, weights).rival.std == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("problem", ["original", "decoupled"])
def test_what_a_process_measured_before_changes_nothing(problem):
    task = replace(TASK, problem=problem, facts=30)
    fresh = asdict(measure(task))
    for facts in (60, 12, 45):  # a larger instance to take the first facts of, and smaller ones
        measure(replace(task, facts=facts))
    again = asdict(measure(task))
    for name in set(fresh) - set(TIMES):
        np.testing.assert_array_equal(again[name], fresh[name])


def test_threads_of_a_process_do_not_mix_their_instances():
    tasks = [
        replace(TASK, problem="decoupled", solver="hebbian", facts=facts, instance=instance)
        for facts in (9, 30, 20)
        for instance in range(8)
    ]
    expected = [measure(task).accuracy for task in tasks]
    with ThreadPoolExecutor(4) as pool:
        assert [measurement.accuracy for measurement in pool.map(measure, tasks)] == expected


@pytest.mark.parametrize("weights", [np.zeros((3, 3)), np.full((3, 3), np.nan)])
def test_weights_without_a_scale_have_no_scores(weights):
    with pytest.raises(ConvergenceError, match="no scores"):
        score_laws(OriginalProblem.gaussian(4, 3, seed=0), weights)


@pytest.mark.parametrize(
    ("solver", "options", "rank_fraction"),
    [
        ("hebbian", (), 1.0),
        ("pseudo_inverse", (("ridge", 0.5),), 1.0),
        ("cross_entropy", (("max_steps", 9),), 0.3),
        ("gradient", (("max_steps", 20),), 0.3),
        ("low_rank", (("max_steps", 9),), 0.5),
        ("margin", (("margin_gap", 0.1),), 1.0),
        ("feasibility", (("max_steps", 9),), 0.3),
    ],
)
@pytest.mark.parametrize("problem", ["original", "decoupled"])
def test_every_solver_is_measured_and_is_a_pure_function(problem, solver, options, rank_fraction):
    task = replace(TASK, problem=problem, facts=20, solver=solver, options=options,
                   rank_fraction=rank_fraction)  # fmt: skip
    first, second = (attempt(task) for _ in range(2))
    assert first.status is TaskStatus.DONE, first.reason
    for one, other in zip(tables([first]), tables([second]), strict=True):
        kept = [name for name in one.column_names if name not in TIMES]
        assert one.select(kept).equals(other.select(kept))
        assert one.num_rows == 1


def test_a_row_says_what_the_solver_found():
    problem = TASK.draw(40)
    expected = cross_entropy(problem, threads=1, seed=TASK.solver_seed)
    measurement = measure(TASK)
    assert measurement.recalled == expected.recalled
    assert measurement.accuracy == expected.recalled / 40
    assert measurement.loss == expected.loss
    assert measurement.outcome == expected.status
    assert measurement.norm == np.linalg.norm(expected.weights)
    values = np.linalg.svd(expected.weights, compute_uv=False)
    assert measurement.singular_values == pytest.approx(values * np.sqrt(10) / measurement.norm)
    targets, best, _ = dense_scores(problem, expected.weights)
    assert measurement.target_mean == pytest.approx(targets.mean())
    assert (targets > best).sum() == measurement.recalled
    assert measurement.rival_counts.sum() == 40 * 39


def test_a_verdict_comes_with_its_bracket():
    task = replace(TASK, facts=15, solver="margin", options=(("margin_gap", 0.01),))
    measurement, expected = measure(task), decide(task.draw(15), margin_gap=0.01, threads=1)
    assert (measurement.outcome, measurement.loss) == ("storable", None)
    assert (measurement.margin_lower, measurement.margin_upper) == (
        expected.margin_lower,
        expected.margin_upper,
    )


def test_only_cross_entropies_are_losses():
    assert measure(replace(TASK, solver="pseudo_inverse")).loss is None
    assert measure(replace(TASK, solver="hebbian")).recalled == hebbian(TASK.draw(40)).recalled


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [1.0, 0.5])
def test_a_threshold_is_that_of_the_instance(fraction):
    task = replace(TASK, dim=6, facts=None, solver="threshold", rank_fraction=fraction)
    expected = threshold(task.draw, guess=10, rank=task.rank)
    measurement = measure(task)
    assert measurement.threshold == expected.facts
    assert measurement.left_open is not None
    assert measurement.accuracy is None
    assert tables([attempt(task)])[1].num_rows == 0


def test_the_machine_s_threads_are_left_as_they_were():
    before = [pool["num_threads"] for pool in threadpool_info()]
    measure(replace(TASK, solver="hebbian"))
    assert [pool["num_threads"] for pool in threadpool_info()] == before


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_failure_is_a_record_with_its_reason():
    task = replace(TASK, solver="gradient", options=(("learning_rate", 1e300), ("max_steps", 20)))
    record = attempt(task)
    assert record.status is TaskStatus.FAILED
    assert record.reason.startswith("ConvergenceError: weights of norm")
    rows, arrays = tables([record])
    assert arrays.num_rows == 0
    row = rows.to_pylist()[0]
    assert row["status"] == "failed"
    assert row["reason"] == record.reason
    assert row["accuracy"] is None


def test_rows_and_arrays_have_all_their_columns():
    rows, arrays = tables([attempt(TASK)])
    assert rows.schema.equals(ROWS)
    assert arrays.schema.equals(ARRAYS)
    row = rows.to_pylist()[0]
    assert row["load"] == pytest.approx(40 * np.log(40) / 100)
    assert (row["rank"], row["seed"], row["options"]) == (10, 3, "{}")
    assert {name for name in asdict(measure(TASK)) if name not in row} == set(ARRAYS.names[1:])
