"""Claims about signals follow what networks did, and turn when they do otherwise."""

import json

import numpy as np
import pytest

from simonides.curves.table import Table
from simonides.reproduction import signals
from simonides.reproduction.catalogue import FIGURES
from simonides.reproduction.claims import signal
from simonides.reproduction.claims.claim import Verdict

pytestmark = pytest.mark.filterwarnings("ignore::simonides.signal.trust.PoorTheoryWarning")


def changed(table, **columns):
    """Return a table with some columns replaced, by values or by a function of the old ones."""
    old = dict(table.columns)
    new = {name: np.asarray(f(old[name]) if callable(f) else f) for name, f in columns.items()}
    return Table(table.name, table.title, old | new, table.settings)


@pytest.fixture
def planted(results, monkeypatch):
    """Return a function that plants a figure's tables."""

    def plant(name, **tables):
        real = getattr(signals, name)(results)
        monkeypatch.setattr(signals, name, lambda _results: real | tables)
        return results

    return plant


def test_networks_are_run_once_and_kept(results, monkeypatch):
    first = signals.gradients(results)["measured"]
    monkeypatch.setattr(signals, "gradients_of", None)
    again = signals.gradients(results)["measured"]
    assert again.records() == first.records()
    assert again.settings == first.settings
    kept = json.loads((results.out / "signal" / "gradients.json").read_text())
    assert "networks=2" in kept["settings"]


def test_other_settings_are_run_anew(results, monkeypatch):
    from dataclasses import replace

    monkeypatch.setitem(signals.SCALES, "tiny", replace(signals.SCALES["tiny"], betas=2))
    assert len(signals.gradients(results)["measured"]) == 4
    monkeypatch.undo()
    assert len(signals.gradients(results)["measured"]) == 8


def test_collapse_agrees_with_the_limit_or_with_finite_size_or_not(results, planted):
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
        assert signal.rank_collapse(planted("depth", measured=here)).verdict is verdict


def test_a_signal_that_is_not_preserved_disagrees(results, planted):
    table = signals.depth(results)["measured"]
    below = table.where("beta", signals.BELOW)
    same = np.concatenate([below["cosine_simulated"]] * 2)
    here = changed(table, cosine_simulated=same)
    assert signal.signal_preserved(planted("depth", measured=here)).verdict is Verdict.DISAGREES


def test_even_attention_above_freezing_disagrees(results, planted):
    table = signals.depth(results)["attention"]
    even = changed(table, participation=np.full(2, 1 / 16), participation_stderr=np.full(2, 1e-3))
    assert signal.entropy_collapse(planted("depth", attention=even)).verdict is Verdict.DISAGREES


def test_gradients_that_do_not_grow_disagree(results, planted):
    table = signals.gradients(results)["measured"]
    flat = changed(table, query_simulated=np.full(len(table), 0.2))
    assert signal.query_gradients(planted("gradients", measured=flat)).verdict is Verdict.DISAGREES


@pytest.mark.slow  # computes a table of attention
def test_every_claim_is_made_from_a_run(results):
    claims = signal.signal_claims(results, FIGURES.values())
    assert len({claim.name for claim in claims}) == len(claims) == 7
    for claim in claims:
        assert claim.topic == "signal"
        assert any(letter.isdigit() for letter in claim.found), claim
    assert signal.signal_claims(results, [FIGURES["C.2"]]) == []


@pytest.mark.slow
def test_a_skip_that_misses_its_target_disagrees(results, planted):
    table = signals.skip(results)["measured"]
    here = changed(table, cosine=np.full(len(table), 0.5), cosine_stderr=np.full(len(table), 0.01))
    assert signal.critical_skip(planted("skip", measured=here)).verdict is Verdict.DISAGREES


@pytest.mark.slow
def test_classes_that_are_wrong_disagree(results, planted):
    table = signals.trainability(results)["measured"]
    wrong = changed(table, outcome=(table["predicted"] + 1) % 5)
    right = changed(table, outcome=table["predicted"])
    for here, verdict in ((wrong, Verdict.DISAGREES), (right, Verdict.AGREES)):
        assert signal.diagram(planted("trainability", measured=here)).verdict is verdict
