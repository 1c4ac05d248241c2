"""Claims about signals follow what networks did, and turn when they do otherwise."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from tiny import TINY

from simonides.curves.table import Table
from simonides.report.page import linked
from simonides.reproduction.catalogue import FIGURES, chosen, left_out
from simonides.reproduction.claims.claim import Agreement as Verdict
from simonides.reproduction.claims.criteria import CRITERIA
from simonides.reproduction.results import Results
from simonides.signal.outcome import OUTCOMES
from simonides.signal.paper import claims as signal
from simonides.signal.paper import figures as signals
from simonides.signal.paper.curves import ABOVE, BELOW

pytestmark = pytest.mark.filterwarnings("ignore::simonides.signal.notes.PoorTheoryWarning")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return results of the tiny plan, none of whose sweeps these claims read."""
    return Results(tmp_path_factory.mktemp("signals"), TINY)


def changed(table, **columns):
    """Return a table with some columns replaced, by values or by a function of the old ones."""
    old = dict(table.columns)
    new = {name: np.asarray(f(old[name]) if callable(f) else f) for name, f in columns.items()}
    return Table(table.name, table.title, old | new, table.settings)


def test_networks_are_run_once_and_kept(results, monkeypatch):
    first = signals.gradients(results)["measured"]
    monkeypatch.setattr(signals, "gradients_of", None)
    again = signals.gradients(results)["measured"]
    assert again.records() == first.records()
    assert again.settings == first.settings
    kept = json.loads((results.out / "signal" / "gradients.json").read_text())
    assert "networks=2" in kept["settings"]


def test_other_settings_are_run_anew(results):
    plan = replace(results.plan, signal=replace(results.plan.signal, betas=2))
    assert len(signals.gradients(replace(results, plan=plan))["measured"]) == 4
    assert len(signals.gradients(results)["measured"]) == 8


def test_collapse_agrees_with_the_limit_or_with_finite_size_or_not(results):
    table = signals.depth(results)["measured"]
    for shift, limit, verdict in (
        (0.0, 0.0, Verdict.AGREES),
        (0.0, 0.2, Verdict.IN_PART),
        (-0.3, 0.0, Verdict.DISAGREES),
    ):
        here = changed(
            table,
            cosine_simulated=table["cosine"] + shift,
            cosine_simulated_stderr=np.full(len(table), 0.001),
            cosine_limit=table["cosine"] - limit,
        )
        assert signal.rank_collapse({"measured": here}).verdict is verdict


def test_collapse_of_the_other_beta_disagrees():
    layers = np.arange(21.0)
    fast, slow = (1 - 0.9 * np.exp(-rate * layers) for rate in (0.15, 0.05))
    columns = {
        "beta": np.repeat([BELOW, ABOVE], layers.size),
        "layer": np.tile(layers, 2),
        "cosine": np.concatenate([fast, slow]),
        "cosine_limit": np.concatenate([fast, slow]),
        "cosine_simulated_stderr": np.full(2 * layers.size, 1e-3),
    }
    for cases, verdict in (((fast, slow), Verdict.AGREES), ((slow, fast), Verdict.DISAGREES)):
        table = Table("depth", "Planted", columns | {"cosine_simulated": np.concatenate(cases)}, {})
        assert signal.rank_collapse({"measured": table}).verdict is verdict


def test_the_right_last_cosine_at_the_wrong_rate_disagrees():
    layers = np.arange(21.0)
    fast, slow = (1 - 0.9 * np.exp(-rate * layers) for rate in (0.15, 0.05))
    sudden = np.where(layers < 20, 0.2, fast)  # all in the last block
    columns = {
        "beta": np.repeat([BELOW, ABOVE], layers.size),
        "layer": np.tile(layers, 2),
        "cosine": np.concatenate([fast, slow]),
        "cosine_limit": np.concatenate([fast, slow]),
        "cosine_simulated": np.concatenate([sudden, slow]),
        "cosine_simulated_stderr": np.full(2 * layers.size, 1e-3),
    }
    table = Table("depth", "Planted", columns, {})
    assert signal.rank_collapse({"measured": table}).verdict is Verdict.DISAGREES


def placements(*curves):
    """Return networks that follow four curves, where theory has post, pre and twice centred ones."""
    layers = np.arange(101.0)
    right = (
        1 - 0.8 * np.exp(-0.6 * layers),
        1 - 0.8 / (1 + 0.5 * layers),
        0.2 + 0.003 * layers,
        0.2 + 0.002 * layers,
    )
    theory = np.concatenate(right)
    columns = {
        "placement": np.repeat(np.arange(4.0), layers.size),
        "layer": np.tile(layers, 4),
        "cosine": theory,
        "cosine_limit": theory,
        "cosine_simulated": np.concatenate([right[curve] for curve in curves]),
        "cosine_simulated_stderr": np.full(theory.size, 1e-3),
    }
    return Table("placement", "Planted", columns, {})


@pytest.mark.parametrize(
    ("curves", "verdict"),
    [
        ((0, 1, 2, 3), Verdict.AGREES),
        ((1, 0, 2, 3), Verdict.DISAGREES),
        ((2, 3, 0, 1), Verdict.DISAGREES),
        ((0, 0, 2, 3), Verdict.DISAGREES),
        ((1, 1, 2, 3), Verdict.DISAGREES),
    ],
)
def test_placements_that_trade_places_disagree(curves, verdict):
    table = placements(*curves)
    assert signal.layer_norm({"measured": table}).verdict is verdict


def test_an_exponential_with_the_values_of_a_power_law_disagrees():
    table = placements(0, 1, 2, 3)
    rows = table["placement"] == 1
    early = table["layer"][rows] <= 3  # theory has post and pre furthest apart there
    bent = np.where(early, table["cosine"][rows], 1 - np.exp(-0.3 * table["layer"][rows]))
    cosine = table["cosine"].copy()
    cosine[rows] = bent
    here = changed(table, cosine_simulated=cosine)
    assert signal.layer_norm({"measured": here}).verdict is Verdict.DISAGREES


def test_a_signal_that_is_not_preserved_disagrees(results):
    table = signals.depth(results)["measured"]
    below = table.where("beta", BELOW)
    same = np.concatenate([below["cosine_simulated"]] * 2)
    here = changed(table, cosine_simulated=same)
    assert signal.signal_preserved({"measured": here}).verdict is Verdict.DISAGREES


def test_even_attention_above_freezing_disagrees(results):
    table = signals.depth(results)["attention"]
    even = changed(table, participation=np.full(2, 1 / 16), participation_stderr=np.full(2, 1e-3))
    assert signal.entropy_collapse({"attention": even}).verdict is Verdict.DISAGREES


def test_gradients_that_do_not_grow_disagree(results):
    table = signals.gradients(results)["measured"]
    flat = changed(table, query_simulated=np.full(len(table), 0.2))
    assert signal.query_gradients({"measured": flat}).verdict is Verdict.DISAGREES


@pytest.mark.slow  # computes a table of attention
def test_every_claim_is_made_from_a_run(results):
    claims = signal.signal_claims(
        {figure.name: figure.tables(results) for figure in chosen([]) if figure.topic == "signal"}
    )
    assert len({claim.name for claim in claims}) == len(claims) == 8 - len(left_out())
    for claim in claims:
        assert claim.topic == "signal"
        assert claim.criterion == CRITERIA[claim.name].words
        assert claim.criterion.startswith("agrees: ")
        assert "; in part: " in claim.criterion
        for name in re.findall(r"signal/[a-z]+\.json", linked(claim.data, {}, FIGURES)):
            assert (results.out / name).is_file()
        assert any(letter.isdigit() for letter in claim.found), claim
    assert signal.signal_claims({"C.2": {}}) == []


@pytest.mark.slow
def test_a_skip_that_misses_its_target_disagrees(results):
    table = signals.skip(results)["measured"]
    here = changed(table, cosine=np.full(len(table), 0.5), cosine_stderr=np.full(len(table), 0.01))
    assert signal.critical_skip({"measured": here}).verdict is Verdict.DISAGREES


@pytest.mark.slow
def test_classes_that_are_wrong_disagree(results):
    table = signals.trainability(results)["measured"]
    wrong = changed(table, outcome=(table["predicted"] + 1) % 5)
    right = changed(table, outcome=table["predicted"])
    for here, verdict in ((wrong, Verdict.DISAGREES), (right, Verdict.AGREES)):
        assert signal.diagram({"measured": here}).verdict is verdict


@pytest.mark.parametrize(
    ("trainable", "collapsed", "frozen_halfway", "verdict"),
    [
        (0.5, 3.0, 40.0, Verdict.AGREES),
        (0.5, 3.0, math.nan, Verdict.AGREES),
        (0.5, 3.0, 10.0, Verdict.IN_PART),
        (0.5, 2.0, 40.0, Verdict.DISAGREES),
        (2.0, 3.0, 40.0, Verdict.DISAGREES),
    ],
)
def test_training_is_judged_by_what_was_learned_and_how_soon(
    trainable, collapsed, frozen_halfway, verdict
):
    of_class = [
        float(OUTCOMES.index(name)) for name in ("trainable", "rank collapse", "entropy collapse")
    ]
    columns = {
        "predicted": np.array(of_class),
        "loss": np.array([trainable, collapsed, 0.7]),
        "guessing": np.full(3, 3.0),
        "halfway": np.array([20.0, math.nan, frozen_halfway]),
    }
    table = Table("training", "", columns)
    claim = signal.training_outcomes({"measured": table})
    assert claim.verdict is verdict
    assert f"trainable {100 * (1 - trainable / 3):.0f}%" in claim.found
