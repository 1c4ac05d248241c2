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
        network.lm_head.weight *= 10
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


def test_upper_layers_say_what_the_model_says_after_a_shift(model):
    """A shift of the stream is made in the model itself by a change that the subject's key alone sees."""
    import torch

    middle = model.at(1)
    ways = wordings(statements(5), model.tokenizer, model.longest)
    upper = UpperLayers.of(middle, ways)
    shift = np.random.default_rng(0).standard_normal(32)
    for group in upper.groups:
        row = int(group.rows[0])
        way = ways[row]
        keys, _ = middle.states(torch.tensor([way.read]))
        keys = keys[0].double().numpy()
        # The key's component that no other token of the wording has.
        rest = np.delete(keys, way.place, axis=0)
        own = keys[way.place] - rest.T @ np.linalg.lstsq(rest.T, keys[way.place], rcond=None)[0]
        change = np.outer(shift, own) / (own @ keys[way.place])
        with middle.changed(change), torch.no_grad():
            logits = model.logits(torch.tensor([way.read]))[0, len(way.prompt) - 1 :]
        expected = torch.nn.functional.cross_entropy(
            logits, torch.tensor(way.answer), reduction="none"
        )
        shifts = torch.from_numpy(np.tile(shift, (len(group.rows), 1)))
        with torch.no_grad():
            losses = upper.losses(group, shifts.float())[0]
        tolerance = 0.02 if group.streams.dtype == torch.bfloat16 else 1e-4
        np.testing.assert_allclose(losses, expected, rtol=tolerance, atol=tolerance)


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
    assert not recalled(model, ways).all()
    with applied(middle, model):
        assert recalled(model, ways).all()
    assert not recalled(model, ways).all()


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


def test_a_folder_whose_middle_layer_was_changed_since_is_not_valid(model, tmp_path):
    import torch

    (tmp_path / "text.txt").write_text(tiny_model.text())
    asked = [(each.prompt, each.answer, each.subject) for each in easy(model)]
    simonides.edit(model, asked, layer=2, keep=tmp_path / "text.txt").save(tmp_path / "edited")
    changed = LanguageModel.load(tmp_path / "edited")
    with torch.no_grad():
        changed.at(1).down.weight[0, 0] += 1
    changed.network.save_pretrained(tmp_path / "edited")
    verification = simonides.verify_edit(tmp_path / "edited")
    assert not verification.valid
    assert "the model is not that of before" in verification.reason
