"""Specs: what is taken, how a refusal reads, and which tasks they become."""

import math
from pathlib import Path

import pytest

from simonides.experiments.expand import expand
from simonides.experiments.spec import Choice, Spec, read_spec
from simonides.failures import BadArgumentError
from simonides.theory.capacity import capacity
from simonides.theory.setting import facts_at_load

EXAMPLES = Path(__file__).parents[2] / "examples"

GOOD = {
    "problem": "original",
    "dims": [5, 8],
    "facts": [4, 9],
    "solvers": ["hebbian", {"name": "gradient", "max_steps": 10.0, "learning_rate": 1}],
    "instances": 3,
    "seed": 7,
}


def spec(**changes: object) -> Spec:
    return Spec.of({**GOOD, **changes})


def test_a_spec_is_read_as_it_is_written(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(
        'problem = ["original", "decoupled"]\ndims = [5]\nloads = [0.5, 1]\nrank_fractions = [0.5, 1]\n'
        'instances = 2\nseed = 0\nsolvers = ["feasibility"]\n'
    )
    assert read_spec(path) == Spec(
        problems=("original", "decoupled"),
        dims=(5,),
        solvers=(Choice("feasibility"),),
        instances=2,
        seed=0,
        loads=(0.5, 1.0),
        rank_fractions=(0.5, 1.0),
    )


def test_options_are_kept_in_one_order_and_as_the_solver_takes_them():
    chosen = spec().solvers[1]
    assert chosen == Choice("gradient", (("learning_rate", 1.0), ("max_steps", 10)))
    assert [type(value) for _, value in chosen.options] == [float, int]
    other = {"name": "gradient", "learning_rate": 1.0, "max_steps": 10}
    assert spec(solvers=["hebbian", other]) == spec()


def test_a_spec_survives_being_written_down():
    for path in EXAMPLES.glob("*.toml"):
        read = read_spec(path)
        assert Spec.of(read.mapping()) == read


BAD = [
    ({"dimensions": [5]}, "dimensions = [5]", "dims"),
    ({"problem": "both"}, "problem[0] = 'both'", "original, decoupled"),
    ({"problem": []}, "problem = []", "'original'"),
    ({"problem": 3}, "problem = 3", "'original'"),
    ({"ensemble": "odd"}, "ensemble[0]: ensemble = 'odd'", "gaussian, unit"),
    ({"ensemble": ["unit", "unit"]}, "ensemble[1] = 'unit'", "repetition"),
    ({"ensemble": 3}, "ensemble = 3", "such as 'unit'"),
    ({"ensemble": "zipf"}, "candidates = None", "given for zipf targets"),
    ({"ensemble": "zipf", "candidates": 5, "problem": "decoupled"}, "ensemble = 'gaussian+zipf", "vectors"),
    ({"candidates": 1}, "candidates[0] = 1", "at least 2"),
    ({"dims": 5}, "dims = 5", "a list"),
    ({"dims": [5, 0]}, "dims[1] = 0", "at least 1"),
    ({"dims": [5, 5]}, "dims[1] = 5", "repetition"),
    ({"dims": ["5"]}, "dims[0] = '5'", "whole number"),
    ({"facts": [0]}, "facts[0] = 0", "at least 1"),
    ({"facts": [2.5]}, "facts[0] = 2.5", "whole number"),
    ({"loads": [0.5]}, "loads and facts", "pass one of"),
    ({"facts": []}, "the number of facts", "loads, relative_loads, facts"),
    ({"facts": [], "loads": [0]}, "loads[0] = 0", "above 0"),
    ({"facts": [], "relative_loads": [-1]}, "relative_loads[0] = -1", "above 0"),
    ({"rank_fractions": [1.5], "solvers": ["feasibility"]}, "rank_fractions[0] = 1.5", "at most 1"),
    ({"rank_fractions": [0.5]}, "rank_fractions = [0.5]", "cross_entropy, gradient"),
    ({"solvers": ["sgd"]}, "solvers[0].name = 'sgd'", "cross_entropy"),
    ({"solvers": [{"max_steps": 3}]}, "solvers[0]", "hebbian"),
    ({"solvers": [7]}, "solvers[0] = 7", "hebbian"),
    ({"solvers": [{"name": "gradient", "steps": 3}]}, "solvers[0].steps = 3", "max_steps"),
    ({"solvers": [{"name": "hebbian", "rate": 3}]}, "solvers[0].rate = 3", "none"),
    ({"solvers": [{"name": "gradient", "max_steps": -1}]}, "solvers[0].max_steps = -1", "at least 0"),
    ({"solvers": [{"name": "gradient", "dtype": "int8"}]}, "solvers[0].dtype", "float64"),
    ({"solvers": [{"name": "gradient", "until_stored": 1}]}, "solvers[0].until_stored", "true"),
    ({"solvers": [{"name": "cross_entropy", "least_gain": 2}]}, "solvers[0].least_gain = 2", "at most 1"),
    ({"solvers": ["threshold"]}, "facts = [4, 9]", "threshold"),
    ({"solvers": ["margin"], "rank_fractions": [0.5]}, "rank_fractions = [0.5]", "low_rank, feasibility"),
    ({"instances": 0}, "instances = 0", "at least 1"),
    ({"seed": -1}, "seed = -1", "at least 0"),
    ({"seed": 2**63}, "seed = 9223372036854775808", "at most"),
    ({"seed": None}, "seed = None", "whole number"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "named", "allowed"), BAD, ids=[str(one[0]) for one in BAD])
def test_a_malformed_spec_is_refused_by_its_key_with_what_is_allowed(changes, named, allowed):
    with pytest.raises(BadArgumentError) as refusal:
        spec(**changes)
    assert named in str(refusal.value)
    assert allowed in str(refusal.value)


@pytest.mark.parametrize("key", ["problem", "dims", "solvers", "instances", "seed"])
def test_a_missing_key_is_named(key):
    with pytest.raises(BadArgumentError, match=f"^{key} must be given: "):
        Spec.of({name: value for name, value in GOOD.items() if name != key})


def test_a_file_that_is_no_toml_is_refused_with_the_place(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text("dims = 5 6\n")
    with pytest.raises(BadArgumentError, match=r"spec\.toml.*a TOML file.*line"):
        read_spec(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadArgumentError, match="a TOML file"):
        read_spec(path)
    path.write_text("dims = [5]\n")
    with pytest.raises(BadArgumentError, match=r"spec\.toml: problem must be given"):
        read_spec(path)


def test_every_combination_is_a_task_once():
    tasks = list(expand(spec()))
    assert expand(spec()).total == len(tasks)
    assert len(tasks) == len(set(tasks)) == 2 * 2 * 2 * 3
    assert len({task.id for task in tasks}) == len(tasks)
    assert {(task.dim, task.facts, task.solver, task.instance) for task in tasks} == {
        (dim, facts, solver, instance)
        for dim in (5, 8)
        for facts in (4, 9)
        for solver in ("hebbian", "gradient")
        for instance in range(3)
    }


def test_ensembles_and_candidates_multiply_the_tasks():
    many = spec(ensemble=["unit", "zipf(exponent=2.0)"], candidates=[4, 6], solvers=["hebbian"])
    tasks = list(expand(many))
    assert len(tasks) == 2 * 2 * expand(spec(solvers=["hebbian"])).total == expand(many).total
    assert {(task.ensemble, task.candidates) for task in tasks} == {
        (name, number) for name in ("unit", "gaussian+zipf(exponent=2)") for number in (4, 6)
    }
    assert Spec.of(many.mapping()) == many
    assert spec(ensemble="gaussian") == spec()
    (task,) = expand(
        spec(facts=[], loads=[1], candidates=20, dims=[9], solvers=["hebbian"], instances=1)
    )
    assert task.facts == round(81 / math.log(20))


def test_a_threshold_is_one_task_per_instance_whatever_the_loads():
    tasks = expand(spec(solvers=["hebbian", "threshold"]))
    assert tasks.total == len(list(tasks))
    thresholds = [task for task in tasks if task.solver == "threshold"]
    assert [(task.dim, task.facts) for task in thresholds] == [(5, None)] * 3 + [(8, None)] * 3


def test_loads_become_facts():
    for dim, load in ((25, 0.1), (50, 0.5), (200, 1.0), (1000, 0.7)):
        facts = round(facts_at_load(load, dim))
        around = [p * math.log(p) / dim**2 for p in (facts - 0.51, facts + 0.51)]
        assert around[0] < load < around[1]
    assert next(iter(expand(spec(facts=[], loads=[0.1], dims=[2])))).facts == 2


def test_relative_loads_are_in_units_of_the_capacity_at_that_rank():
    asked = spec(facts=[], relative_loads=[0.5, 2], dims=[30], rank_fractions=[0.2, 1],
                 solvers=["cross_entropy"], instances=1)  # fmt: skip
    sizes = {(task.rank, task.facts) for task in expand(asked)}
    assert sizes == {
        (rank, round(share * capacity(30, rank=rank).facts))
        for rank in (6, None)
        for share in (0.5, 2)
    }


def test_loads_that_come_to_the_same_facts_are_one_task():
    asked = spec(facts=[], loads=[0.5, 0.5001], dims=[6], solvers=["hebbian"], instances=1)
    assert len(list(expand(asked))) == expand(asked).total == 1
