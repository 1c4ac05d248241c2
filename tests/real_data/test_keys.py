"""Keys and head of a language model: what is read, what the cases are, and what the guide shows."""

from itertools import pairwise

import numpy as np
import pytest

from examples import keys, published
from simonides import Estimate, OriginalProblem, decide

SIZE = (6, 12)


@pytest.fixture(scope="module")
def source():
    """Return made keys with a common part, and a head of which two rows are equal."""
    rng = np.random.default_rng(0)
    head = rng.standard_normal((80, 16))
    head[7] = head[3]
    return keys.Source(rng.standard_normal((3, 60, 20)) + 2, head)


@pytest.fixture(scope="module")
def instance(source):
    return keys.Instance(source, *SIZE, 0)


def test_keys_of_a_layer_are_what_its_matrix_reads():
    made = pytest.importorskip("tiny_model")
    from examples import smollm
    from simonides.editing.language_model import LanguageModel

    model = LanguageModel.of(made.network(), made.tokenizer())
    prompts = [prompt for prompt, _ in made.pairs(5)]
    read = smollm.last_keys(model, prompts, (1, 0))
    assert read.shape == (2, 5, 64)
    prefixes = [tuple(model.tokenizer(prompt)["input_ids"]) for prompt in prompts]
    last, _ = model.read(prefixes)
    np.testing.assert_allclose(read[0], last, rtol=1e-4, atol=1e-6)
    assert np.abs(read[1] - last).max() > 1e-3
    np.testing.assert_array_equal(smollm.last_keys(model, prompts, (0,)), read[1:])


def test_targets_are_rows_that_no_other_row_equals(source, instance):
    assert {3, 7}.isdisjoint(source.told_apart)
    assert len(source.told_apart) == 78
    assert len(set(instance.targets)) == len(instance.targets) == int(1.6 * instance.theory)


def test_cases_differ_in_what_they_are_called(instance):
    cases = {case: instance.problem(case) for case in keys.CASES}
    first = cases["layer 7"]
    for case, problem in cases.items():
        np.testing.assert_array_equal(problem.targets, first.targets)
        real_head = np.array_equal(problem.outputs, first.outputs)
        assert real_head == (case not in keys.EVEN_HEAD)
    layers = [cases[case].inputs for case in keys.REAL]
    assert not any(np.array_equal(*pair) for pair in pairwise(layers))
    np.testing.assert_array_equal(cases["Gaussian head"].inputs, layers[-1])
    np.testing.assert_array_equal(cases["both Gaussian"].inputs, cases["Gaussian keys"].inputs)


def test_coordinates_change_no_verdict(source, instance):
    white = instance.problem("layer 15")
    draws = instance._draws
    inputs = source.keys[1][draws["prompts"]][:, draws["of_keys"]]
    given = OriginalProblem(inputs, source.head[:, draws["of_head"]], instance.targets)
    for facts, verdict in ((2, "storable"), (given.facts, "not-storable")):
        for problem in (white, given):
            assert str(decide(problem.prefix(facts), threads=1).verdict) == verdict


@pytest.mark.slow
def test_the_example_goes_on_where_it_was_stopped(source):
    *_, measured = keys.thresholds(source, sizes=(SIZE,), instances=1)
    *_, predicted = keys.predictions(source, measured)
    assert [row["case"] for row in measured] == list(keys.CASES)
    assert len(predicted) == 1
    *_, further = keys.thresholds(source, measured[:4], sizes=(SIZE,), instances=1)
    assert [row["facts"] for row in further] == [row["facts"] for row in measured]
    assert not list(keys.thresholds(source, measured, sizes=(SIZE,), instances=1))
    assert not list(keys.predictions(source, measured, predicted))
    for row in keys.summaries(measured, predicted):
        name = keys.corrections(row["case"])[-1]
        assert row["over"].value == pytest.approx(row["facts"].value / predicted[0][name])


def test_a_common_part_is_seen(source):
    for row in keys.common_part(source):  # 4 of 5 of the mean square
        assert row["mean"] == pytest.approx(0.8, abs=0.05)
        assert 1 < row["dimensions"] < 3


def test_rows_of_keys_are_what_the_example_writes(source):
    results = published.read()["keys"]
    measured, predicted = results["thresholds"], results["predictions"]
    few = keys.Instance(source, *SIZE, 0)
    assert all(row.keys() == few.threshold("layer 7").keys() for row in measured)
    assert all(row.keys() == few.prediction().keys() for row in predicted)
    assert {(row["dim_in"], row["dim_out"]) for row in measured} <= set(keys.SIZES)
    assert {row["case"] for row in measured} == set(keys.CASES)
    places = [(*keys._place(row), row["case"]) for row in measured]
    assert len(set(places)) == len(places)
    for row in keys.summaries(measured, predicted):
        facts = [
            each["facts"]
            for each in measured
            if (each["dim_in"], each["dim_out"], each["case"])
            == (row["dim_in"], row["dim_out"], row["case"])
        ]
        assert row["facts"] == Estimate.of_mean(np.array(facts, dtype=float))
