"""A figure redone in one call: what it returns, writes and says while it works."""

import json
import math
import os
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest
from tiny import TINY, spec
from typer.testing import CliRunner

from simonides import __version__
from simonides.cli.app import app
from simonides.experiments.sweep import Tally
from simonides.failures import BadArgumentError
from simonides.reproduction import run
from simonides.reproduction.catalogue import chosen
from simonides.reproduction.run import Began, reproduce, sweeps_for


@pytest.mark.slow
def test_a_figure_is_redone_in_one_call(tmp_path):
    small = spec("original", (3,), ("threshold",), 2, rank_fractions=(0.5, 1.0))
    plan = replace(TINY, sweeps=TINY.sweeps | {"bounded": (small,)})
    events = []
    reproduction = reproduce(plan, ["rank"], tmp_path, workers=1, watch=events.append)
    assert reproduction.page == tmp_path / "report.html"
    assert reproduction.page.read_text().count("<figure>") == 1
    assert [claim.name for claim in reproduction.claims] == ["rank-capacity"]
    measured = reproduction.tables["rank"]["measured"]
    assert measured["rank_fraction"].tolist() == [0.5, 1.0]
    assert reproduction.tallies["bounded-1"].done == 4
    assert set(reproduction.seconds) == {"bounded-1", "figures", "claims"}
    begun = [event for event in events if isinstance(event, Began)]
    assert begun == [Began("measuring", "bounded-1", 1, 1), Began("computing figure", "rank", 1, 1)]
    assert [event for event in events if isinstance(event, Tally)][-1].left == 0


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"version": "0.0.1"}, f"a run of version {__version__}, not 0.0.1"),
        ({"scale": "full"}, "a run of scale tiny, not full"),
    ],
)
def test_a_folder_of_another_version_or_scale_is_refused_and_kept(tmp_path, other, said):
    marker = tmp_path / "reproduction.json"
    marker.write_text(json.dumps({"version": __version__, "scale": "tiny"} | other))
    with pytest.raises(BadArgumentError, match=f"{said}: choose another folder"):
        reproduce(TINY, ["C.2"], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures", "reproduction.json"]


STRANGE = {
    "cut": "[1, ",
    "no text": "\x00",
    "a list": "[]",
    "a number": "3",
    "somebody else's": '{"name": "reproduction"}',
    "a version that is a number": '{"version": 3, "scale": "tiny"}',
    "a scale that is a list": '{"version": "0.0.1", "scale": ["tiny"]}',
    "whole that is a word": '{"version": "0.0.1", "scale": "tiny", "whole": "yes"}',
    "a key twice": '{"version": "0.0.1", "version": "0.0.2", "scale": "tiny"}',
    "deep": "[" * 100_000,
    "long digits": '{"version": ' + "9" * 5_000 + "}",
}


@pytest.mark.parametrize("content", STRANGE.values(), ids=STRANGE)
def test_a_marker_of_a_strange_shape_is_refused_and_kept(tmp_path, content):
    marker = tmp_path / "reproduction.json"
    marker.write_text(content)
    with pytest.raises(
        BadArgumentError, match=r"a readable reproduction\.json.*remove that file"
    ) as e:
        reproduce(TINY, ["C.2"], tmp_path)
    assert len(str(e.value).splitlines()) == 1
    assert marker.read_text() == content


def test_a_marker_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "reproduction.json")
    with pytest.raises(BadArgumentError, match=r"it is a pipe; remove that file"):
        reproduce(TINY, ["C.2"], tmp_path)


def test_a_version_from_a_file_reaches_no_terminal_as_it_is(tmp_path):
    marker = {"version": "\x1b[31m" + "9" * 1000, "scale": "tiny"}
    (tmp_path / "reproduction.json").write_text(json.dumps(marker))
    with pytest.raises(BadArgumentError, match=r"not \\x1b\[31m9") as refusal:
        reproduce(TINY, ["C.2"], tmp_path)
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 500


def test_out_of_time_from_the_start_the_report_says_what_it_lacks(tmp_path):
    reproduction = reproduce(TINY, ["C.2", "rank"], tmp_path, workers=1, time_limit=0)
    assert reproduction.left_out == ("C.2", "rank")
    assert not reproduction.figures
    assert "time limit came before figures C.2, rank." in reproduction.page.read_text()
    assert not (tmp_path / "sweeps").exists()


@pytest.fixture
def clock(monkeypatch):
    """Return the clock of a run: its hands are turned by the test."""
    hands = SimpleNamespace(now=0.0)
    clocks = SimpleNamespace(monotonic=lambda: hands.now, perf_counter=time.perf_counter)
    monkeypatch.setattr(run, "time", clocks)
    return hands


@pytest.mark.slow
def test_figures_that_are_done_in_time_are_reported(tmp_path, clock):
    def watch(event):
        clock.now = math.inf

    limits = {"workers": 1, "time_limit": 99.0}
    reproduction = reproduce(TINY, ["C.2", "rank"], tmp_path, watch=watch, **limits)
    assert [figure.name for figure in reproduction.figures] == ["C.2"]
    assert reproduction.left_out == ("rank",)
    page = reproduction.page.read_text()
    assert page.count("<figure>") == 1
    assert "time limit came before figures rank." in page


def test_a_figure_whose_sweep_ran_out_of_time_is_left_out_and_its_claims_too(tmp_path, monkeypatch):
    limits = []

    def cut_short(spec, folder, *, time_limit, **options):
        limits.append(time_limit)
        return Tally(4, 2, 0)

    monkeypatch.setattr(run, "run_sweep", cut_short)
    monkeypatch.setattr(run, "rows", lambda folder: pa.table({"seconds": [1.0, 2.0]}))
    reproduction = reproduce(TINY, ["rank"], tmp_path, workers=1, time_limit=600)
    assert 0 < limits[0] <= 600
    assert (reproduction.left_out, reproduction.claims) == (("rank",), [])
    assert reproduction.tallies["bounded-1"].left == 2
    assert reproduction.task_seconds == {"bounded-1": 3.0}


def test_the_command_says_what_it_had_no_time_for(tmp_path):
    words = ["reproduce", "C.2", "--out", str(tmp_path), "--workers", "1", "--time-limit", "0"]
    ended = CliRunner().invoke(app, [*words, "--json"])
    assert ended.exit_code == 0
    record = json.loads(ended.stdout)
    assert record["left_out"] == ["C.2"]
    assert record["notes"] == ["Out of time before figures C.2: the same command goes on."]
    assert record["notes"][0] in CliRunner().invoke(app, words).stdout


def test_a_negative_time_limit_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(BadArgumentError, match=r"time_limit = -1 must be"):
        reproduce(TINY, ["C.2"], tmp_path / "out", time_limit=-1)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_one_figure_does_not_replace_the_report_of_a_whole_run(tmp_path, monkeypatch):
    monkeypatch.setattr("simonides.report.files.rendered", lambda figure, ending: b"<svg></svg>")
    reproduce(TINY, ["C.2"], tmp_path, workers=1)
    marker = tmp_path / "reproduction.json"
    entered = json.loads(marker.read_text())
    assert entered == {"version": __version__, "scale": "tiny", "whole": False}
    marker.write_text(json.dumps(entered | {"whole": True}))
    (tmp_path / "report.html").write_text("of the whole")
    (tmp_path / "claims.json").write_text("theirs")
    assert reproduce(TINY, ["C.2"], tmp_path, workers=1).page == tmp_path / "report-C.2.html"
    assert (tmp_path / "times-C.2.json").exists()
    assert (tmp_path / "report.html").read_text() == "of the whole"
    assert (tmp_path / "claims.json").read_text() == "theirs"
    assert json.loads(marker.read_text())["whole"]


def test_only_a_whole_run_measures_for_all_claims():
    assert "protocol" in sweeps_for(chosen())
    assert sweeps_for(chosen(["1"])) == ["accuracy"]


@pytest.mark.slow
def test_listing_figures_and_curves_does_not_load_matplotlib():
    code = (
        "import sys, simonides.reproduction.catalogue, simonides.curves.catalogue\n"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
