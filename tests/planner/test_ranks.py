"""Recommended ranks: the first that suffices, and keys by which PEFT finds the right modules."""

import math
import re

import pytest

import simonides.planner.recommend as recommend_module
from examples import published, training
from simonides.failures import BadArgumentError
from simonides.planner.model import Layer, Model, module_keys, selected, short_names
from simonides.planner.plan import plan
from simonides.planner.recommend import EFFICIENCY, LEAST_RANK, SPARE, recommend
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


BLOCKS = ("*query", "*key", "*value", "*output.dense", "*intermediate.dense")


@pytest.mark.parametrize("facts", [10, 20_000, 100_000, 700_000])
def test_the_smallest_is_the_first_common_rank_that_holds_the_facts(facts):
    model = read_model("all-minilm-l6-v2")
    rank = recommend(plan(model), facts).smallest_rank
    blocks = selected(model, *BLOCKS)  # all but the pooler
    assert plan(blocks, lora_rank=rank).total_lora.facts >= facts
    assert rank == 2 or plan(blocks, lora_rank=rank - 1).total_lora.facts < facts


@pytest.mark.parametrize("facts", [10, 20_000, 100_000])
def test_the_rank_is_the_first_doubled_one_with_room_to_spare(facts):
    model = read_model("all-minilm-l6-v2")
    advice = recommend(plan(model), facts)
    blocks = selected(model, *BLOCKS)
    held = plan(blocks, lora_rank=advice.rank).total_lora
    assert advice.capacity == pytest.approx(held.facts)
    assert advice.share_of_capacity == pytest.approx(facts / held.facts)
    assert advice.share_of_capacity <= SPARE
    assert advice.rank in {LEAST_RANK << step for step in range(9)}
    if advice.rank > LEAST_RANK:
        assert plan(blocks, lora_rank=advice.rank // 2).total_lora.facts * SPARE < facts
    assert advice.limit == ("training" if advice.rank == LEAST_RANK else "capacity")
    factors = sum(one.count * advice.rank * (one.dim_in + one.dim_out) for one in blocks.layers)
    assert advice.parameters == factors


def test_facts_of_several_tokens_are_as_many_facts():
    answer = plan(read_model("gpt2"))
    several, plain = recommend(answer, 5000, tokens_per_fact=4), recommend(answer, 20_000)
    assert (several.tokens, several.rank, several.capacity) == (20_000, plain.rank, plain.capacity)
    assert several.bits == plain.bits == 20_000 * math.log2(50257)
    assert recommend(answer, 3, tokens_per_fact=1.5).tokens == 5
    with pytest.raises(BadArgumentError, match="tokens_per_fact = 0 "):
        recommend(answer, 3, tokens_per_fact=0)


def test_more_than_all_layers_hold_has_no_rank():
    answer = plan(read_model("all-minilm-l6-v2"))
    beyond = recommend(answer, int(answer.total.facts) + 1)
    assert beyond.rank is beyond.smallest_rank is beyond.lora_config is None
    assert set(beyond.alone) == {None}
    assert beyond.limit == "capacity"
    assert beyond.share_of_capacity > 1
    assert "even at full rank" in beyond.sentence


def test_what_training_reached_stands_beside_the_bound(monkeypatch):
    answer = plan(read_model("gpt2"))
    shares = {"all matrices": (0.3, 0.4), "one matrix": (0.05, 0.05)}
    monkeypatch.setattr(recommend_module, "EFFICIENCY", shares)
    assert (
        "Training reached 30% to 40% of it in all matrices of a small network, 5% of it in one matrix of "
        "a language model."
    ) in recommend(answer, 20_000).notes


def test_what_training_reached_is_what_was_measured():
    measured = training.reached(published.read()["training"]["rows"])
    assert measured == EFFICIENCY
    assert EFFICIENCY["all matrices"][0] >= SPARE


@pytest.mark.parametrize("facts", [0, -5, 1.5])
def test_facts_must_be_a_number_of_facts(facts):
    with pytest.raises(BadArgumentError, match=f"facts = {facts}"):
        recommend(plan(read_model("gpt2")), facts)


def peft_rank(pattern: dict[str, int], module: str) -> int | None:
    """Return the rank that PEFT gives a module: that of the first key to match its name's end."""
    return next(
        (rank for key, rank in pattern.items() if re.match(rf"(.*\.)?({key})$", module)), None
    )


def test_a_rank_pattern_is_for_layers_that_have_no_such_rank():
    assert recommend(plan(read_model("llama-3-8b")), 20_000).rank_pattern == {}
    layers = (
        Layer("dense", 90, 90),
        Layer("pooler.dense", 60, 60),
        Layer("x.*.pooler.dense", 70, 70, 2),
        Layer("lm_head", 90, 1000),
    )
    model = selected(Model("made", "made", 1000, layers), "*dense")
    advice = recommend(plan(model), 1000)
    assert advice.rank == 90
    modules = {"dense": None, "pooler.dense": 60, "x.1.pooler.dense": 70}
    assert {name: peft_rank(advice.rank_pattern, name) for name in modules} == modules


def test_targets_are_the_shortest_names_that_fit_nothing_else():
    bert = plan(read_model("bert-base-uncased"))
    assert recommend(bert, 9).target_modules == (
        "query", "key", "value", "output.dense", "intermediate.dense",
    )  # fmt: skip
    last = plan(selected(bert.model, "*.output.dense"))
    assert recommend(last, 9).target_modules == r"(.*\.)?(\d+\.output\.dense)"


def test_experts_are_left_out_and_that_is_said():
    advice = recommend(plan(read_model("mixtral-8x7b")), 9)
    assert advice.target_modules == ("q_proj", "k_proj", "v_proj", "o_proj")
    assert "by target_modules: block_sparse_moe.gate, w1, w2, w3." in advice.notes[-1]
    with pytest.raises(BadArgumentError, match="that PEFT can adapt"):
        recommend(plan(selected(read_model("mixtral-8x7b"), "*experts*")), 9)


def keys_of(names: list[str]) -> list[str]:
    model = Model("made", "made", 1000, tuple(Layer(name, 8, 8) for name in names))
    return list(module_keys(model).values())


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
    assert keys_of(names)[0] == r"encoder\.layers\.\d+\.fc1"


def test_a_key_fits_no_more_than_the_layers_it_is_for():
    names = ["h.*.w(1", "h.*.a+b", "h.*.a.*", "c|lm_head", "model.x.y"]
    keys = keys_of(names)
    modules = ["h.3.w(1", "h.3.a+b", "h.3.a.7", "c|lm_head", "model.x.y"]
    for key, module in zip(keys, modules, strict=True):
        fitting = [other for other in modules if re.match(rf"(.*\.)?({key})$", other)]
        assert fitting == [module]
    assert not re.match(rf"(.*\.)?({keys[4]})$", "model.xAy")
