"""``simonides reproduce`` as a user runs it."""

import json
import resource
import shutil
import signal
import time
from pathlib import Path

import pytest
from running import answer, interrupt, refused, run, start

from simonides import __version__
from simonides.experiments.sweep import status


def test_one_figure_by_name(tmp_path):
    out = tmp_path / "out"
    record = answer("reproduce", "C.2", "--out", str(out), "--workers", "1")
    assert [figure["name"] for figure in record["figures"]] == ["C.2"]
    assert record["claims"] == []
    assert Path(record["report"]) == out / "report.html"
    assert Path(record["figures"][0]["picture"]).exists()
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
    record = answer("reproduce", "signal-depth", "--out", str(out))
    names = [claim["name"] for claim in record["claims"]]
    assert names == ["rank-collapse", "signal-preserved", "entropy-collapse"]
    assert {claim["topic"] for claim in record["claims"]} == {"signal"}
    page = (out / "report.html").read_text()
    assert "Claims about signals" in page
    assert 'id="claims"' not in page, "nothing was checked about storage"
    first = (out / "signal" / "depth.json").stat().st_mtime_ns
    assert answer("reproduce", "signal-depth", "--out", str(out))["claims"] == record["claims"]
    assert (out / "signal" / "depth.json").stat().st_mtime_ns == first, "read, not run again"


def test_no_process_is_too_few(tmp_path):
    line = refused("reproduce", "C.2", "--out", str(tmp_path / "out"), "--workers", "0")
    assert "workers = 0" in line
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "out").write_text("keep me")
    assert "out" in refused("reproduce", "C.2", "--out", str(tmp_path / "out"))
    assert (tmp_path / "out").read_text() == "keep me"


def test_a_folder_of_another_scale_is_refused_and_kept(tmp_path):
    marker = tmp_path / "reproduction.json"
    marker.write_text(json.dumps({"version": __version__, "scale": "full"}))
    (tmp_path / "report.html").write_text("of the other")
    line = refused("reproduce", "C.2", "--out", str(tmp_path))
    assert "a run of scale quick, not full" in line
    assert "choose another folder" in line
    assert (tmp_path / "report.html").read_text() == "of the other"


def test_a_folder_that_cannot_be_made_is_refused():
    assert "/proc/" in refused("reproduce", "C.2", "--out", "/proc/nowhere/out")


def limited(size):
    """Return what lets a process write no file larger than this, as a full disk would."""
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}


def test_without_room_for_a_picture_there_is_one_line_and_no_half_of_it(tmp_path):
    out = tmp_path / "out"
    command = ("reproduce", "C.2", "--out", str(out), "--workers", "1")
    line = refused(*command, "--json", **limited(10_000))
    assert "no space for" in line
    assert "run the same command again" in line
    assert not [path for path in out.rglob("*.*") if path.stat().st_size >= 10_000]
    assert not list(out.rglob("*.part"))
    assert answer(*command)["report"]


def wait_for_a_task(process, sweep):
    """Return once the sweep has kept a task: not when a line says so, as lines come seconds apart."""
    while process.poll() is None and not ((sweep / "run.json").exists() and status(sweep).done):
        time.sleep(0.02)


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    out = tmp_path / "out"
    sweep = out / "sweeps" / "bounded-1"
    with start("reproduce", "rank", "--out", str(out), "--workers", "1") as process:
        wait_for_a_task(process, sweep)
        interrupt(process)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert 0 < status(sweep).done < status(sweep).total
    record = answer("reproduce", "rank", "--out", str(out))
    assert status(sweep).left == 0
    assert Path(record["report"]).exists()
    again = json.loads(run("reproduce", "rank", "--out", str(out), "--json").stdout)
    assert again["claims"] == record["claims"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of one figure that nothing happened to."""
    out = tmp_path_factory.mktemp("finished") / "out"
    return out, answer("reproduce", "rank", "--out", str(out))["claims"]


@pytest.fixture
def copied(finished, tmp_path):
    shutil.copytree(finished[0], tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.slow
def test_a_damaged_file_of_records_is_set_aside_and_measured_again(finished, copied):
    sweep = copied / "sweeps" / "bounded-1"
    file = next((sweep / "rows").glob("*.parquet"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)
    ended = run("reproduce", "rank", "--out", str(copied), "--json")
    assert ended.returncode == 0
    assert "damaged" in ended.stderr
    assert list((sweep / "quarantine").iterdir())
    assert json.loads(ended.stdout)["claims"] == finished[1]


@pytest.mark.slow
def test_records_of_another_version_are_refused_and_kept(copied):
    sweep = copied / "sweeps" / "bounded-1"
    header = sweep / "run.json"
    header.write_text(
        header.read_text().replace(f'"version": "{__version__}"', '"version": "0.0.1"')
    )
    before = {path: path.read_bytes() for path in sweep.rglob("*.parquet")}
    line = refused("reproduce", "rank", "--out", str(copied), "--json")
    assert "0.0.1" in line
    assert "start a new folder" in line
    assert {path: path.read_bytes() for path in sweep.rglob("*.parquet")} == before


@pytest.mark.slow
def test_without_room_for_records_what_was_kept_stays(finished, tmp_path):
    out = tmp_path / "out"
    ended = run("reproduce", "rank", "--out", str(out), "--json", **limited(3000))
    assert ended.returncode == 2
    assert "no space for" in ended.stderr.splitlines()[-1]
    assert answer("reproduce", "rank", "--out", str(out))["claims"] == finished[1]


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_and_two_at_once_are_refused(tmp_path):
    out = tmp_path / "out"
    sweep = out / "sweeps" / "bounded-1"
    with start("reproduce", "rank", "--out", str(out), "--workers", "1") as first:
        wait_for_a_task(first, sweep)
        first.send_signal(signal.SIGSTOP)  # so that it is still in the middle when the second comes
        try:
            line = refused("reproduce", "rank", "--out", str(out), "--json")
        finally:
            first.kill()  # stopped, it would be waited for without end
        assert f"process {first.pid} is running a sweep there" in line
        first.communicate(timeout=60)
    kept = status(sweep).done
    assert 0 < kept < status(sweep).total
    assert Path(answer("reproduce", "rank", "--out", str(out))["report"]).exists()
    assert (status(sweep).left, status(sweep).damaged) == (0, 0)
