"""Recommended ranks: the first that suffices, and keys by which PEFT finds the right modules."""

import re

import pytest

from simonides.failures import BadArgumentError
from simonides.planner.model import Layer, Model, module_keys, short_names
from simonides.planner.plan import plan
from simonides.planner.recommend import recommend
from simonides.planner.source import read_model
from simonides.theory.capacity import capacity


@pytest.mark.parametrize("name", ["all-minilm-l6-v2", "llama-3-8b"])
@pytest.mark.parametrize("facts", [1000, 20_000, 10**6])
def test_alone_is_the_first_rank_that_holds_the_facts(name, facts):
    answer = plan(read_model(name))
    for row, rank in zip(answer.rows, recommend(answer, facts).alone, strict=True):
        sizes = {"dim_out": row.layer.dim_out, "candidates": answer.candidates}

        def held(rank, layer=row.layer, sizes=sizes):
            return capacity(layer.dim_in, rank=rank, **sizes).facts

        if rank is None:
            assert held(row.layer.shortest) < facts
        else:
            assert held(rank) >= facts
            assert rank == 1 or held(rank - 1) < facts


@pytest.mark.parametrize("facts", [10, 20_000, 100_000, 790_000])
def test_together_is_the_first_common_rank_that_holds_the_facts(facts):
    model = read_model("all-minilm-l6-v2")
    rank = recommend(plan(model), facts).together
    assert plan(model, lora_rank=rank).total_lora.facts >= facts
    assert rank == 1 or plan(model, lora_rank=rank - 1).total_lora.facts < facts


def test_more_than_all_layers_hold_has_no_rank():
    answer = plan(read_model("all-minilm-l6-v2"))
    beyond = recommend(answer, int(answer.total.facts) + 1)
    assert beyond.together is None
    assert set(beyond.alone) == {None}
    assert beyond.rank_pattern == {}


@pytest.mark.parametrize("facts", [0, -5, 1.5])
def test_facts_must_be_a_number_of_facts(facts):
    with pytest.raises(BadArgumentError, match=f"facts = {facts}"):
        recommend(plan(read_model("gpt2")), facts)


def peft_rank(pattern: dict[str, int], module: str) -> int | None:
    """Return the rank that PEFT gives a module: that of the first key to match its name's end."""
    return next(
        (rank for key, rank in pattern.items() if re.match(rf"(.*\.)?({key})$", module)), None
    )


@pytest.mark.parametrize("name", ["gpt2", "bert-base-uncased", "llama-3-8b", "mixtral-8x7b"])
@pytest.mark.parametrize("prefix", ["", "base_model.model."])
def test_peft_gives_each_module_the_rank_of_its_layer(name, prefix):
    answer = plan(read_model(name))
    advice = recommend(answer, 100_000)
    for row, rank in zip(answer.rows, advice.alone, strict=True):
        module = prefix + row.layer.name.replace("*", "11")
        assert peft_rank(advice.rank_pattern, module) == rank


def test_a_name_that_ends_another_does_not_take_its_rank():
    layers = (
        Layer("dense", 90, 90),
        Layer("pooler.dense", 60, 60),
        Layer("x.*.pooler.dense", 70, 70, 2),
    )
    answer = plan(Model("made", "made", 1000, layers))
    advice = recommend(answer, 200)
    assert len(set(advice.alone)) == 3
    modules = ["dense", "pooler.dense", "x.1.pooler.dense"]
    assert tuple(peft_rank(advice.rank_pattern, module) for module in modules) == advice.alone


def test_short_names_stay_apart():
    names = [
        "encoder.layers.*.fc1",
        "decoder.layers.*.fc1",
        "decoder.layers.*.fc2",
        "lm_head",
        "blocks.*",
    ]
    assert short_names(names) == [
        "encoder.layers.*.fc1", "decoder.layers.*.fc1", "fc2", "lm_head", "*",
    ]  # fmt: skip
    assert module_keys(names)[0] == r"encoder\.layers\.\d+\.fc1"


def test_a_key_fits_no_more_than_the_layers_it_is_for():
    names = ["h.*.w(1", "h.*.a+b", "h.*.a.*", "c|lm_head", "model.x.y"]
    keys = module_keys(names)
    modules = ["h.3.w(1", "h.3.a+b", "h.3.a.7", "c|lm_head", "model.x.y"]
    for key, module in zip(keys, modules, strict=True):
        fitting = [other for other in modules if re.match(rf"(.*\.)?({key})$", other)]
        assert fitting == [module]
    assert not re.match(rf"(.*\.)?({keys[4]})$", "model.xAy")
