"""``simonides reproduce`` as a user runs it."""

import json
from pathlib import Path

import pytest
from running import answer, interrupt, refused, run, start

from simonides.experiments.sweep import status


def test_one_figure_by_name(tmp_path):
    out = tmp_path / "out"
    found = answer("reproduce", "C.2", "--out", str(out))
    assert [figure["name"] for figure in found["figures"]] == ["C.2"]
    assert found["claims"] == []
    assert Path(found["report"]) == out / "report.html"
    assert Path(found["figures"][0]["picture"]).exists()
    assert (out / "figures" / "figure-C.2-measured.csv").exists()


def test_an_unknown_figure_is_refused_before_anything_is_written(tmp_path):
    line = refused("reproduce", "1", "E.7", "--out", str(tmp_path / "out"))
    assert "'E.7'" in line
    assert "1, 2, 3, 4, A.1, A.2, C.1, C.2, D.1, difference, rank, margin, cost" in line
    assert "signal-depth, signal-skip, signal-placement, signal-gradients" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_figure_of_the_paper_on_signals_brings_its_claims(tmp_path):
    out = tmp_path / "out"
    found = answer("reproduce", "signal-depth", "--out", str(out))
    names = [claim["name"] for claim in found["claims"]]
    assert names == ["rank-collapse", "signal-preserved", "entropy-collapse"]
    assert {claim["topic"] for claim in found["claims"]} == {"signal"}
    page = (out / "report.html").read_text()
    assert "Claims about signals" in page
    assert 'id="claims"' not in page, "nothing was checked about storage"
    first = (out / "signal" / "depth.json").stat().st_mtime_ns
    assert answer("reproduce", "signal-depth", "--out", str(out))["claims"] == found["claims"]
    assert (out / "signal" / "depth.json").stat().st_mtime_ns == first, "read, not run again"


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "out").write_text("keep me")
    assert "out" in refused("reproduce", "C.2", "--out", str(tmp_path / "out"))
    assert (tmp_path / "out").read_text() == "keep me"


def test_a_folder_that_cannot_be_made_is_refused():
    assert "/proc/" in refused("reproduce", "C.2", "--out", "/proc/nowhere/out")


def test_a_full_disk_is_said_in_one_line_and_loses_nothing(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "figures").mkdir()
    (out / "figures" / "figure-C.2.svg").symlink_to("/dev/full")
    assert "No space left" in refused("reproduce", "C.2", "--out", str(out), "--json")


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    out = tmp_path / "out"
    sweep = out / "sweeps" / "margin-1"
    with start("reproduce", "margin", "--out", str(out), "--workers", "1") as process:
        for line in process.stderr:  # plain lines: no terminal
            if " done" in line and (sweep / "run.json").exists() and status(sweep).done:
                break
        interrupt(process)
        process.communicate(timeout=60)
    assert process.returncode == 130
    before = status(sweep).done
    assert before > 0
    found = answer("reproduce", "margin", "--out", str(out))
    assert status(sweep).left == 0
    assert Path(found["report"]).exists()
    again = json.loads(run("reproduce", "margin", "--out", str(out), "--json").stdout)
    assert again["claims"] == found["claims"]
