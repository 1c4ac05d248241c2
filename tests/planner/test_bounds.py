"""What a plan says of each layer: against the capacity it is made of, and at the edges."""

import math

import pytest

from simonides.failures import BadArgumentError
from simonides.planner.model import Layer, Model
from simonides.planner.plan import CLAIM, bound, plan
from simonides.planner.source import read_model
from simonides.theory.capacity import capacity, capacity_of
from simonides.theory.setting import Setting


def made(*layers: Layer, vocabulary: int | None = 1000) -> Model:
    return Model("made", "made", vocabulary, layers)


@pytest.mark.parametrize(
    "setting",
    [
        Setting(768, 3072, 50257),
        Setting(3072, 768, 50257, rank=16),
        Setting(384, 384, 30522, rank=384),
        Setting(64, 1000, 1000),
        Setting(4096, 8, 32000),
        Setting(100, 20, 50, rank=3),  # sampled, so with a standard error
        Setting(5, 5, 2),
    ],
)
def test_a_bound_is_the_capacity_at_fixed_candidates(setting):
    quick, answer = bound(setting), capacity_of(setting)
    assert quick.facts == pytest.approx(answer.facts, rel=1e-12)
    assert quick.facts_stderr == pytest.approx(answer.facts_stderr, rel=1e-12)
    assert quick.price == answer.statistical_dimension
    assert quick.bits_per_parameter == pytest.approx(answer.bits_per_parameter, rel=1e-12)


def test_a_model_of_endless_shapes_is_refused():
    layers = [Layer(f"part{number}", number, 40) for number in range(2, 259)]
    with pytest.raises(BadArgumentError, match="at most 256 shapes, not 257: pass --layers"):
        plan(made(*layers))
    plan(made(*layers[1:]))


def test_the_vocabulary_competes_unless_said_otherwise():
    model = made(Layer("one", 60, 80))
    assert plan(model).rows[0].full.facts == capacity(60, 80, candidates=1000).facts
    assert plan(model, candidates=7).rows[0].full.facts == capacity(60, 80, candidates=7).facts
    assert plan(model, candidates=7).candidates == 7


def test_candidates_must_be_known():
    model = made(Layer("one", 60, 80), vocabulary=None)
    with pytest.raises(BadArgumentError, match=r"candidates = None .* made .* --candidates"):
        plan(model)
    assert plan(model, candidates=50).candidates == 50
    with pytest.raises(BadArgumentError, match="candidates = 1 "):
        plan(model, candidates=1)


def test_totals_count_every_matrix():
    answer = plan(made(Layer("a", 60, 80, 3), Layer("b", 40, 40, 2)), lora_rank=4)
    a, b = answer.rows
    assert answer.total.matrices == 5
    assert answer.total.parameters == 3 * 60 * 80 + 2 * 40 * 40
    assert answer.total.facts == pytest.approx(3 * a.full.facts + 2 * b.full.facts)
    assert answer.total_lora.facts == pytest.approx(3 * a.lora.facts + 2 * b.lora.facts)
    # Factors of rank r have r (n + m) entries, r² of which a change of basis takes away.
    assert answer.total_lora.parameters == 3 * 4 * (60 + 80 - 4) + 2 * 4 * (40 + 40 - 4)
    bits = answer.total.facts * math.log2(1000)
    assert answer.total.bits_per_parameter == pytest.approx(bits / answer.total.parameters)


def test_no_rank_exceeds_the_smaller_dimension():
    answer = plan(made(Layer("wide", 60, 80), Layer("narrow", 60, 40)), lora_rank=50)
    wide, narrow = answer.rows
    assert wide.lora.rank == 50
    assert narrow.lora.rank == 40
    assert narrow.lora.facts == narrow.full.facts
    note = next(note for note in answer.notes if "No rank exceeds" in note)
    assert "narrow" in note
    assert "wide" not in note
    with pytest.raises(BadArgumentError, match=r"lora_rank = 61 must be at most 60"):
        plan(answer.model, lora_rank=61)
    with pytest.raises(BadArgumentError, match="lora_rank = 0"):
        plan(answer.model, lora_rank=0)


def test_the_claim_and_the_criterion_are_said():
    answer = plan(read_model("llama-3-8b"), lora_rank=16)
    assert CLAIM in answer.notes
    assert "128,255 rivals" in answer.notes[0]
    assert (
        answer.rows[0].full.criterion == "full rank; every target beats each of its 128,255 rivals"
    )
    assert answer.rows[0].lora.criterion.startswith("rank at most 16; every target")


def test_layers_that_the_theory_does_not_suit_are_named():
    answer = plan(made(Layer("gate", 600, 4), Layer("thin", 6, 900), Layer("up", 600, 200)))
    vertices = next(note for note in answer.notes if "vertices" in note)
    inputs = next(note for note in answer.notes if "Few input dimensions" in note)
    assert vertices.startswith("gate: ")
    assert inputs.startswith("thin: ")
    assert not any("up, " in note or "up: " in note for note in answer.notes)


def test_small_layers_carry_the_error_of_their_samples():
    answer = plan(made(Layer("small", 60, 20, 3)), lora_rank=4)
    assert answer.rows[0].full.facts_stderr == 0
    assert 0 < answer.rows[0].lora.facts_stderr < 0.01 * answer.rows[0].lora.facts
    assert answer.total_lora.facts_stderr == pytest.approx(3 * answer.rows[0].lora.facts_stderr)
