"""Tasks: what names them, and what their seeds depend on."""

import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pytest

from simonides.experiments.task import Task, rank_of

TASK = Task("original", 12, 30, 1.0, "gradient", (("max_steps", 5),), instance=2, seed=9)
OTHERS = {
    "problem": "decoupled",
    "dim": 13,
    "facts": None,
    "rank_fraction": 0.5,
    "solver": "cross_entropy",
    "options": (("max_steps", 6),),
    "instance": 3,
    "seed": 10,
    "candidates": 7,
    "ensemble": "unit",
}


@pytest.mark.parametrize("name", [field.name for field in fields(Task)])
def test_every_input_changes_the_name_and_the_solver_s_seed(name):
    other = replace(TASK, **{name: OTHERS[name]})
    assert other.id != TASK.id
    assert other.solver_seed != TASK.solver_seed


def test_the_problem_s_seed_depends_on_the_instance_alone():
    changed = {name: replace(TASK, **{name: value}).problem_seed for name, value in OTHERS.items()}
    names = {name for name, seed in changed.items() if seed != TASK.problem_seed}
    assert names == {"problem", "dim", "instance", "seed"}


def test_names_and_seeds_of_plain_tasks_have_not_changed():
    # Results that were stored before there were ensembles are found by them.
    assert TASK.id == "00b6d8da8de93f667d6bf097294de1ff"
    assert TASK.solver_seed == 5197655500438772866


def test_a_task_draws_from_its_ensemble():
    drawn = replace(TASK, ensemble="unit+balanced", candidates=5).draw(10)
    assert np.linalg.norm(drawn.inputs, axis=1) == pytest.approx(np.ones(10))
    assert np.bincount(drawn.targets).tolist() == [2] * 5
    plain = TASK.draw(10)
    assert drawn.inputs == pytest.approx(
        plain.inputs / np.linalg.norm(plain.inputs, axis=1, keepdims=True)
    )


def test_names_and_seeds_are_the_same_in_another_process():
    code = (
        "from simonides.experiments.task import Task\n"
        f"task = {TASK!r}\n"
        "print(task.id, task.problem_seed, task.solver_seed)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [TASK.id, str(TASK.problem_seed), str(TASK.solver_seed)]


@pytest.mark.parametrize("kind", ["original", "decoupled"])
def test_fewer_facts_are_the_first_of_more(kind):
    task = replace(TASK, problem=kind)
    few, many = task.draw(5), task.draw(9)
    assert np.array_equal(few.inputs, many.inputs[:5])
    assert np.array_equal(few.target_outputs, many.target_outputs[:5])
    rivals = few.competitors(2)[1]
    assert np.array_equal(rivals, many.competitors(2)[1][: len(rivals)])


def test_seeds_fit_a_signed_integer_of_64_bits():
    for instance in range(200):
        task = replace(TASK, instance=instance)
        assert 0 <= task.problem_seed < 2**63
        assert 0 <= task.solver_seed < 2**63


def test_ranks_round_and_are_at_least_one():
    assert [rank_of(25, fraction) for fraction in (0.001, 0.1, 0.5, 0.99)] == [1, 3, 13, 25]
    assert rank_of(25, 1.0) is None
