"""Training on facts: who cannot learn learns none, and what is easy is learnt in full."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

import torch

from examples import published, training
from examples.learners import AllMatrices, OneMatrix, TwoLayers, bounds
from examples.learning import Effort
from examples.smollm import Readings
from simonides import capacity

# Libraries announce what they will rename.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

QUICK = Effort(batch=12, visits=30, steps=30, cycles=4)


def read(prompts, dim_in=24, dim_out=16, tokens=40):
    rng = np.random.default_rng(7)
    keys, streams, outputs = (
        rng.standard_normal(shape).astype(np.float32)
        for shape in ((prompts, dim_in), (prompts, dim_out), (tokens, dim_out))
    )
    return Readings(keys, streams, outputs)


def small(most):
    """Return a learner of each kind that has so many facts."""
    return (
        OneMatrix(4, read(most), candidates=16),
        TwoLayers(width=16, hidden=32, candidates=16, most=most),
        AllMatrices(4, hidden=16, intermediate=16, blocks=1, candidates=16, length=3, most=most),
    )


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(training, "EFFORTS", dict.fromkeys(training.EFFORTS, QUICK))
    torch.set_num_threads(1)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("learner", small(most=12), ids=lambda learner: learner.name)
def test_easy_facts_are_all_learnt_and_none_at_rate_zero(learner):
    row = training.measured(learner, seed=0, rate=2e-2, first=12)
    assert row["facts"] == 12
    assert row["efficiency"] == pytest.approx(12 / bounds(learner)[1])
    assert 0 < row["steps"] == row["cycles"] * QUICK.cycle_steps(12)
    assert training.measured(learner, seed=0, rate=0.0, first=6)["facts"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("learner", small(most=2000), ids=lambda learner: learner.name)
def test_far_more_facts_than_fit_are_not_learnt(learner):
    effort = Effort(batch=200, visits=1, steps=20, cycles=1)
    lesson = training.attempt(learner, 2000, 0, 2e-2, effort)
    assert 0 < lesson.recalled < 0.9 * 2000


def test_one_matrix_begins_as_the_model_is():
    learner = OneMatrix(2, read(20), candidates=16)
    network, material = learner.draw(20, seed=3)
    keys, streams = material.given
    sizes = streams.square().mean(1, keepdim=True).sqrt()
    expected = streams @ network.head.weight.T / sizes
    assert torch.allclose(network(keys, streams), expected, atol=1e-4)


@pytest.mark.slow
def test_adapters_alone_are_free_and_every_map_of_the_blocks_has_one():
    network, _ = AllMatrices(3).draw(10, seed=0)
    free = {name for name, part in network.named_parameters() if part.requires_grad}
    assert free
    assert all(".lora_" in name for name in free)
    assert len(free) == 2 * len(AllMatrices(3).settings)
    network, _ = OneMatrix(3, read(10), candidates=16).draw(10, seed=0)
    free = {name for name, part in network.named_parameters() if part.requires_grad}
    assert free == {"down.lora_A.default.weight", "down.lora_B.default.weight"}


def test_targets_come_equally_often_and_prompts_once():
    learner = AllMatrices(2, candidates=16)
    _, material = learner.draw(100, seed=1)
    counts = torch.bincount(material.targets, minlength=16)
    assert counts.max() - counts.min() <= 1
    assert len({tuple(prompt) for prompt in material.given[0].tolist()}) == 100


def test_the_bound_is_the_planners():
    one = OneMatrix(4, read(10), candidates=16)
    assert bounds(one) == pytest.approx((capacity(24, 16, candidates=16, rank=4).facts,) * 2)
    two = TwoLayers(width=16, hidden=32, candidates=64)
    both = capacity(16, 32, candidates=64).facts + capacity(32, 16, candidates=64).facts
    assert bounds(two) == pytest.approx((both, both))
    planned, by_parameters = bounds(OneMatrix(1, read(10), candidates=16))
    assert planned == 2 < by_parameters


def test_whitened_keys_are_as_large_and_point_everywhere_alike():
    readings = read(500)
    stretched = Readings(
        readings.keys * np.geomspace(1, 1e-2, 24, dtype=np.float32), *[readings.streams] * 2
    )
    keys = stretched.whitened().keys.astype(np.float64)
    moments = keys.T @ keys / len(keys)
    assert np.allclose(moments, np.eye(24) * np.trace(moments) / 24, atol=1e-4)
    assert np.mean(np.square(keys)) == pytest.approx(np.mean(np.square(stretched.keys)), rel=1e-4)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_run_goes_on_where_it_was_stopped(monkeypatch):
    learners = small(most=12)
    monkeypatch.setattr(training, "units", lambda: ((each, 0) for each in learners))
    monkeypatch.setattr(training, "RATES", (0.0, 2e-2))
    monkeypatch.setattr(training, "_GUESSES", {(e.name, e.keys): 0.2 for e in learners})
    results = {}
    first = training.run(results)
    rows = [next(first), next(first)]
    stored = json.loads(json.dumps(results))
    rows += training.run(stored)
    assert [row["learner"] for row in stored["rows"]] == [each.name for each in learners]
    assert stored["rates"] + stored["rows"] == sorted(rows, key=lambda row: "seed" in row)
    assert {row["rate"] for row in stored["rates"]} == {2e-2}
    assert all(row["recalled"][0] < row["recalled"][1] for row in stored["rates"])
    assert list(training.run(stored)) == []
    stored["settings"]["learnt"] = 0.5
    assert next(training.run(stored)) == rows[0]


def test_rows_are_what_the_example_writes():
    results = published.read()["training"]
    rows = results["rows"]
    assert results["settings"] == json.loads(json.dumps(training.settings()))
    for row in rows:
        assert row["efficiency"] == pytest.approx(row["facts"] / row["by_parameters"])
    for cell in training.summary(rows):
        alike = [
            row["efficiency"]
            for row in rows
            if all(row[name] == cell[name] for name in ("learner", "keys", "rank"))
        ]
        assert cell["seeds"] == len(alike)
        assert cell["efficiency"] == pytest.approx(np.mean(alike))
