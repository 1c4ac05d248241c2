"""A change in the middle of a model: where subjects end, layers run by themselves, what is spared."""

from dataclasses import replace

import numpy as np
import pytest
import tiny_model
from edits import MARKS

import simonides
from simonides.editing.language_model import LanguageModel
from simonides.editing.middle import Spared, applied, divided, recalled, understand
from simonides.editing.statements import Statement
from simonides.editing.upper_layers import UpperLayers
from simonides.editing.values import best_values
from simonides.editing.wordings import wordings

pytestmark = MARKS

FORMS = ("w10 w11 {} w12", "w13 {} w14 w15", "{} w16")
"""Wordings, a subject in each."""


@pytest.fixture(scope="module")
def model():
    import torch

    network = tiny_model.network(num_hidden_layers=4)
    with torch.no_grad():  # so that a token can be likely at all
        network.lm_head.weight *= 16
    return LanguageModel.of(network, tiny_model.tokenizer())


def statements(facts, answer="w{0} w{1}", forms=FORMS):
    subjects = [f"w{k} w{k + 30}" for k in range(facts)]
    return [
        Statement(
            form.format(subject), answer.format(60 + k, 70 + k), 1 + len(forms) * k + j, subject
        )
        for k, subject in enumerate(subjects)
        for j, form in enumerate(forms)
    ]


def test_a_subject_ends_at_its_last_token(model):
    ways = wordings(statements(2), model.tokenizer, model.longest)
    assert [way.place for way in ways] == [3, 2, 1] * 2
    assert [way.subject for way in ways] == [0, 0, 0, 1, 1, 1]
    assert all(len(way.answer) == 2 for way in ways)


def test_a_token_that_goes_on_after_the_subject_is_its_end():
    class Pairs:  # a tokenizer of two letters a token
        eos_token_id = unk_token_id = None

        def __call__(self, text, add_special_tokens=True):
            return {"input_ids": [hash(text[k : k + 2]) for k in range(0, len(text), 2)]}

    (way,) = wordings([Statement("abcdefgh", "xy", 1, "cde")], Pairs(), 99)
    assert way.place == 2


def mixed(model):
    """Return wordings of many lengths, subjects at the very beginning among them, and unequal answers."""
    forms = (*FORMS, "{} w17 w18 w19 w20", "{}")
    asked = [
        replace(each, answer=each.answer.split()[0]) if each.line % 3 else each
        for each in statements(4, forms=forms)
    ]
    short = [replace(each, subject=each.subject.split()[0]) for each in asked[2:5]]
    return wordings([*asked, *short], model.tokenizer, model.longest)


@pytest.mark.parametrize(("kind", "tolerance"), [("float32", 1e-4), ("bfloat16", 0.04)])
def test_upper_layers_say_what_the_model_says_after_a_shift(model, monkeypatch, kind, tolerance):
    """A shift of the stream is made in the model itself by a change that the subject's key alone sees."""
    import torch

    from simonides.editing import upper_layers

    monkeypatch.setattr(upper_layers, "_quickest", lambda: getattr(torch, kind))
    middle, ways = model.at(1), mixed(model)
    assert {way.place for way in ways} >= {0, 1, 2, 3}
    upper = UpperLayers.of(middle, ways)
    shift = np.random.default_rng(0).standard_normal(32)
    for group in upper.groups:
        with torch.no_grad():
            shifts = torch.from_numpy(np.tile(shift, (len(group.rows), 1))).float()
            losses = upper.losses(group, shifts)
        for place, row in enumerate(group.rows.tolist()):
            way = ways[row]
            keys = middle.states(torch.tensor([way.read]))[0][0].double().numpy()
            # The key's component that no other token of the wording has.
            rest = np.delete(keys, way.place, axis=0)
            own = keys[way.place]
            if len(rest):
                own = own - rest.T @ np.linalg.lstsq(rest.T, own, rcond=None)[0]
            change = np.outer(shift, own) / (own @ keys[way.place])
            with middle.changed(change), torch.no_grad():
                logits = model.logits(torch.tensor([way.read]))[0, len(way.prompt) - 1 :]
            expected = torch.nn.functional.cross_entropy(
                logits, torch.tensor(way.answer), reduction="none"
            )
            np.testing.assert_allclose(
                losses[place][: len(way.answer)], expected, rtol=tolerance, atol=2 * tolerance
            )
            assert not losses[place][len(way.answer) :].any()


def test_layers_that_see_a_window_only_keep_it(monkeypatch):
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=tiny_model.WORDS + 2, hidden_size=32, intermediate_size=64, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
        initializer_range=0.2, use_sliding_window=True, sliding_window=4, max_window_layers=2,
    )  # fmt: skip
    assert len(set(config.layer_types)) == 2
    windowed = LanguageModel.of(Qwen2ForCausalLM(config).eval(), tiny_model.tokenizer())
    asked = statements(2, forms=("w1 w2 w3 w4 w5 w6 {} w7 w8 w9", *FORMS))
    ways = wordings(asked, windowed.tokenizer, windowed.longest)
    UpperLayers.of(windowed.at(0), ways)  # which compares itself with the model


def test_keys_and_moments_are_those_of_the_model(model):
    import torch

    middle = model.at(2)
    ways = wordings(statements(4), model.tokenizer, model.longest)
    upper = UpperLayers.of(middle, ways)
    total, count = 0, 0
    for way, own in zip(ways, upper.keys, strict=True):
        keys = middle.states(torch.tensor([way.read]))[0][0].double().numpy()
        np.testing.assert_allclose(own, keys[way.place], atol=1e-4)
        rest = np.delete(keys, way.place, axis=0)
        total, count = total + rest.T @ rest, count + len(rest)
    np.testing.assert_allclose(upper.others, total / count, atol=1e-3)


def easy(model, facts=3):
    """Return statements, two to a subject, whose answers the model nearly gives: the way is short."""
    asked = statements(facts, answer="w0", forms=("{} w16", "{} w16 w17"))
    ways = wordings(asked, model.tokenizer, model.longest)
    second = [int(np.argsort(-model._logits([way.prompt])[0])[1]) for way in ways]
    return [
        replace(each, answer=model.tokenizer.decode([token]))
        for each, token in zip(asked, second, strict=True)
    ]


def test_values_are_reached_and_the_change_gives_them_to_the_model(model):
    asked = easy(model)
    middle = understand(model, asked, Spared(tiny_model.text()), 2, None, lambda line: None)
    assert (middle.layer, middle.subjects, middle.reached) == (2, 3, 3)
    ways = wordings(asked, model.tokenizer, model.longest)
    assert not recalled(model, ways).any()
    with applied(middle, model):
        assert recalled(model, ways).sum() >= 5  # of six, whose two at a time share a value
    assert not recalled(model, ways).any()


def test_prompts_that_are_to_stay_are_moved_less(model):
    import torch

    asked = easy(model)
    others = wordings(statements(20, forms=("{} w17 w18",)), model.tokenizer, model.longest)
    tokens = torch.tensor([other.prompt for other in others])
    before = model.at(2).states(tokens)[1]
    moves = []
    for prompts in ((), tuple(other.prompt for other in others)):
        middle = understand(
            model, asked, Spared(tiny_model.text(), prompts), 2, None, lambda line: None
        )
        with applied(middle, model):
            moves.append(float((model.at(2).states(tokens)[1] - before).norm()))
    assert moves[1] < 0.9 * moves[0]


def test_at_the_deadline_and_when_interrupted_values_are_those_by_then(model):
    ways = wordings(easy(model), model.tokenizer, model.longest)
    upper, facts = UpperLayers.of(model.at(2), ways), [way.subject for way in ways]
    late = best_values(upper, facts, 3, 0.0, lambda step, reached: None)
    assert (late.timed_out, late.reached.any(), late.shifts.any()) == (True, False, False)

    def stop(step, reached):
        if step == 2:
            raise KeyboardInterrupt

    cut = best_values(upper, facts, 3, np.inf, stop)
    assert cut.interrupted
    assert cut.shifts.any()


def test_an_interrupt_between_the_layers_loses_nothing(model, monkeypatch, tmp_path):
    from simonides.editing import edit as room

    (tmp_path / "text.txt").write_text(tiny_model.text())
    presses = iter([KeyboardInterrupt])

    def place(*given, **options):
        for press in presses:
            raise press
        return store_place(*given, **options)

    store_place = room.place
    monkeypatch.setattr(room, "place", place)
    asked = [(each.prompt, each.answer, each.subject) for each in easy(model)]
    outcome = simonides.edit(model, asked, layer=2, keep=tmp_path / "text.txt")
    assert outcome.interrupted
    assert outcome.middle.weights.any()
    assert outcome.stored >= 5  # of six, and none before


def test_out_of_time_is_said_and_trials_leave_time_to_store(model):
    none = understand(model, statements(3), Spared(tiny_model.text()), None, 0.0, lambda line: None)
    assert (none.timed_out, none.trials, none.weights.any()) == (True, (), False)


def test_the_least_squares_are_the_same_by_either_system():
    from simonides.editing.spreading import spread

    rng = np.random.default_rng(0)
    keys, values, root = (rng.standard_normal(shape) for shape in ((30, 8), (30, 3), (8, 20)))
    metric = root @ root.T
    weighed = keys @ np.linalg.inv(metric)
    gram = weighed @ keys.T
    dense = values.T @ np.linalg.inv(gram + 0.1 * np.trace(gram) / 30 * np.eye(30)) @ weighed
    np.testing.assert_allclose(spread(keys, values, metric, 0.1), dense, rtol=1e-8)
    few = spread(keys[:5], values[:5], metric, 1e-12)
    np.testing.assert_allclose(few @ keys[:5].T, values[:5].T, rtol=1e-6)


def test_the_layer_that_understands_best_is_chosen(model, monkeypatch):
    from simonides.editing import middle

    worth = {0: 0.2, 1: 0.7, 2: 0.5}

    def trial(own, *_):
        return middle.Trial(own.layer, 3, 1.0, worth[own.layer])

    monkeypatch.setattr(middle, "_trial", trial)
    chosen = understand(
        model, easy(model), Spared(tiny_model.text()), None, None, lambda line: None
    )
    assert chosen.layer == 1
    assert [each.layer for each in chosen.trials] == [0, 1, 2]


def test_one_wording_of_each_fact_is_held_out():
    shown, held_out = divided(statements(30))
    assert len(held_out) == 24
    assert len(shown) == 48
    assert not {each.prompt for each in shown} & {each.prompt for each in held_out}
    shown, held_out = divided(statements(2, forms=FORMS[:1]))
    assert all(
        other.prompt.endswith(own.prompt) for own, other in zip(shown, held_out, strict=True)
    )
    assert all(other.prompt != own.prompt for own, other in zip(shown, held_out, strict=True))


def test_what_the_middle_leaves_undone_the_last_layer_stores_and_proves(model, tmp_path):
    asked = [
        (each.prompt, each.answer, each.subject) for each in [*easy(model), *statements(5)[9:]]
    ]
    (tmp_path / "text.txt").write_text(tiny_model.text())
    outcome = simonides.edit(model, asked, layer=2, keep=tmp_path / "text.txt")
    assert outcome.stored == outcome.facts == outcome.proved
    assert 0 < outcome.answered <= outcome.middle.subjects
    outcome.save(tmp_path / "edited")
    assert simonides.verify_edit(tmp_path / "edited").valid
    simonides.undo_edit(tmp_path / "edited", tmp_path / "before")
    again = LanguageModel.load(tmp_path / "before")
    for name in ("model.layers.2.mlp.down_proj.weight", "model.layers.3.mlp.down_proj.weight"):
        own, before = (dict(each.network.named_parameters())[name] for each in (again, model))
        assert own.equal(before)


@pytest.mark.parametrize(
    ("layer", "reason"),
    [(1, "the model is not that of before"), (2, "changed since it was written")],
)
def test_a_folder_whose_middle_layer_was_changed_since_is_not_valid(model, tmp_path, layer, reason):
    import torch

    (tmp_path / "text.txt").write_text(tiny_model.text())
    asked = [(each.prompt, each.answer, each.subject) for each in easy(model)]
    simonides.edit(model, asked, layer=2, keep=tmp_path / "text.txt").save(tmp_path / "edited")
    changed = LanguageModel.load(tmp_path / "edited")
    with torch.no_grad():
        changed.at(layer).down.weight[0, 0] += 1
    changed.network.save_pretrained(tmp_path / "edited")
    verification = simonides.verify_edit(tmp_path / "edited")
    assert not verification.valid
    assert reason in verification.reason
