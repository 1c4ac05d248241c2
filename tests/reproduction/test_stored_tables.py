"""Stored tables are read while they are whole and of the same settings, and computed anew otherwise."""

import json

import numpy as np
import pytest

from simonides.curves.table import Table
from simonides.reproduction import stored_tables
from simonides.signal.paper import figures as signals


class Counted:
    """A computation that counts how often it was run."""

    def __init__(self):
        self.runs = 0

    def __call__(self):
        self.runs += 1
        return {"part": Table("t", "Title", {"x": np.array([1.0, 0.1 + 0.2])}, {"size": 3.0})}


@pytest.fixture
def kept(tmp_path):
    """Return a file, a computation whose tables it holds, and how to ask for them again."""
    path, compute = tmp_path / "signal" / "one.json", Counted()

    def ask(settings="sizes", seed=0):
        return stored_tables.stored(path, settings, seed, compute)

    ask()
    return path, compute, ask


def test_what_is_whole_and_the_same_is_read(kept):
    _, compute, ask = kept
    again = ask()["part"]
    assert compute.runs == 1
    assert again.records() == compute()["part"].records()
    assert again.settings == {"size": 3.0}


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("0.30000000000000004", "0.3"),  # still JSON
        lambda _: "[]",
        lambda _: "{}",
        lambda _: "",
        lambda text: "\x00" + text,
    ],
)
def test_a_damaged_file_is_set_aside_and_computed_anew(kept, damage):
    path, compute, ask = kept
    whole = path.read_text()
    path.write_text(damage(whole))
    with pytest.warns(UserWarning, match="one.json is damaged"):
        ask()
    assert compute.runs == 2
    assert path.read_text() == whole
    assert (path.parent / "quarantine" / "one.json").read_text() == damage(whole)


@pytest.mark.parametrize(
    "tables",
    [None, [], {"part": 3}, {"part": {"columns": 3}}, {"part": {"columns": {"x": ["a"]}}}],
)
def test_tables_of_a_strange_shape_are_damage_though_their_digest_is_right(kept, tables):
    path, compute, ask = kept
    content = json.loads(path.read_text())
    digest = stored_tables._digest(tables)
    path.write_text(json.dumps(content | {"tables": tables, "digest": digest}))
    with pytest.warns(UserWarning, match="one.json is damaged"):
        ask()
    assert compute.runs == 2


def test_bytes_that_are_no_text_are_damage_too(kept):
    path, compute, ask = kept
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.warns(UserWarning, match="damaged"):
        ask()
    assert compute.runs == 2


def test_another_version_scale_or_seed_is_computed_anew(kept, monkeypatch):
    path, compute, ask = kept
    ask(settings="other sizes")
    ask(settings="other sizes", seed=1)
    assert compute.runs == 3
    monkeypatch.setattr(stored_tables, "__version__", "0.0.1")
    ask(settings="other sizes", seed=1)
    assert compute.runs == 4
    assert json.loads(path.read_text())["version"] == "0.0.1"


def test_signals_with_a_damaged_file_are_run_again(results):
    before = signals.gradients(results)["measured"].records()
    path = results.out / "signal" / "gradients.json"
    path.write_text("{")
    with pytest.warns(UserWarning, match="gradients.json is damaged"):
        assert signals.gradients(results)["measured"].records() == before


def test_another_seed_runs_other_networks(results):
    from dataclasses import replace

    before = signals.gradients(results)["measured"]
    plan = replace(results.plan, signal=replace(results.plan.signal, seed=100))
    after = signals.gradients(replace(results, plan=plan))["measured"]
    assert not np.any(after["query_simulated"] == before["query_simulated"])
    assert signals.gradients(results)["measured"].records() == before.records()
