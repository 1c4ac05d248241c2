"""``simonides reproduce`` as a user runs it."""

import json
import shutil
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from program import PATIENCE
from running import answer, interrupt, refused, run, start, wait_until

from simonides import __version__
from simonides.cli.reproduce import _admit_failures
from simonides.experiments.sweep import status


@pytest.mark.slow
def test_one_figure_by_name(tmp_path):
    out = tmp_path / "out"
    record = answer("reproduce", "C.2", "--out", str(out), "--workers", "1", before=TINY)
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
    command = ("reproduce", "signal-depth", "--out", str(out), "--workers", "1")
    record = answer(*command, before=UNSEEN)
    names = [claim["name"] for claim in record["claims"]]
    assert names == ["rank-collapse", "signal-preserved", "entropy-collapse"]
    assert {claim["topic"] for claim in record["claims"]} == {"signal"}
    page = (out / "report.html").read_text()
    assert "Claims about signals" in page
    assert 'id="claims"' not in page, "nothing was checked about storage"
    first = (out / "signal" / "depth.json").stat().st_mtime_ns
    assert answer(*command, before=UNSEEN)["claims"] == record["claims"]
    assert (out / "signal" / "depth.json").stat().st_mtime_ns == first, "read, not run again"


def test_reasons_of_failures_are_lines_that_a_terminal_shows(capsys):
    tally = SimpleNamespace(failed=2, reasons=["lost\x1b[2J\nin action"])
    with pytest.raises(typer.Exit):
        _admit_failures(SimpleNamespace(tallies={"bounded-1": tally}))
    line = capsys.readouterr().err
    assert "2 tasks of bounded-1 failed (lost" in line
    assert line.count("\n") == 1
    assert "\x1b" not in line


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


TINY = f"""
import sys
from dataclasses import replace
from simonides.reproduction import plans
sys.path.insert(0, {str(Path(__file__).parents[1] / "reproduction")!r})
from tiny import TINY, spec
bounded = spec("original", (3,), ("threshold",), 2, rank_fractions=(0.5, 1.0))
plans.QUICK = replace(TINY, name="quick", sweeps={{**TINY.sweeps, "bounded": (bounded,)}})
"""
"""Makes a run a tiny one; of its four tasks each takes a moment."""

UNSEEN = f"""{TINY}
from simonides.report import files
files.rendered = lambda figure, ending: b"<svg></svg>"
"""
"""Makes a run a tiny one whose pictures, which take longest, are blank."""

PAUSED = f"""{TINY}
import time
from pathlib import Path
from simonides.reproduction import run

def pausing(*job, watch=None, run_sweep=run.run_sweep, **options):
    def look(tally):
        if 0 < tally.done < tally.total:
            Path("paused").touch()
            while True:
                time.sleep(0.01)
    return run_sweep(*job, watch=look, **options)

run.run_sweep = pausing
"""
"""Makes a run a tiny one that stays where some of its tasks are kept and others are not."""


def limited(size):
    """Return what lets a process write no file larger than this, as a full disk would."""
    return f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"


@pytest.mark.slow
def test_without_room_for_a_picture_there_is_one_line_and_no_half_of_it(tmp_path):
    out = tmp_path / "out"
    command = ("reproduce", "C.2", "--out", str(out), "--workers", "1")
    line = refused(*command, "--json", before=TINY + limited(10_000))
    assert "no space for" in line
    assert "run the same command again" in line
    assert not [path for path in out.rglob("*.*") if path.stat().st_size >= 10_000]
    assert not list(out.rglob("*.part"))
    assert answer(*command, before=TINY)["report"]


def rank_command(out):
    return "reproduce", "rank", "--out", str(out), "--workers", "1"


@contextmanager
def in_the_middle(folder):
    """Start a run that has kept some of its tasks and stays there."""
    with start(*rank_command(folder / "out"), before=PAUSED, cwd=folder) as process:
        wait_until(lambda: (folder / "paused").exists() or process.poll() is not None)
        yield process
        process.communicate(timeout=PATIENCE)
    kept = status(folder / "out" / "sweeps" / "bounded-1")
    assert 0 < kept.done < kept.total


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_was(finished, tmp_path):
    with in_the_middle(tmp_path) as process:
        interrupt(process)
    assert process.returncode == 130
    out = tmp_path / "out"
    record = answer(*rank_command(out), before=UNSEEN)
    assert status(out / "sweeps" / "bounded-1").left == 0
    assert Path(record["report"]).exists()
    assert record["claims"] == finished[1]
    assert answer(*rank_command(out), before=UNSEEN)["claims"] == record["claims"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of one figure that nothing happened to."""
    out = tmp_path_factory.mktemp("finished") / "out"
    return out, answer(*rank_command(out), before=UNSEEN)["claims"]


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
    ended = run(*rank_command(copied), "--json", before=UNSEEN)
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
    line = refused(*rank_command(copied), "--json", before=UNSEEN)
    assert "0.0.1" in line
    assert "start a new folder" in line
    assert {path: path.read_bytes() for path in sweep.rglob("*.parquet")} == before


@pytest.mark.slow
def test_without_room_for_records_what_was_kept_stays(finished, tmp_path):
    out = tmp_path / "out"
    ended = run(*rank_command(out), "--json", before=UNSEEN + limited(3000))
    assert ended.returncode == 2
    assert "no space for" in ended.stderr.splitlines()[-1]
    assert answer(*rank_command(out), before=UNSEEN)["claims"] == finished[1]


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_and_two_at_once_are_refused(finished, tmp_path):
    out = tmp_path / "out"
    with in_the_middle(tmp_path) as first:
        line = refused(*rank_command(out), "--json", before=UNSEEN)
        first.kill()
    assert f"process {first.pid} is running a sweep there" in line
    assert answer(*rank_command(out), before=UNSEEN)["claims"] == finished[1]
    kept = status(out / "sweeps" / "bounded-1")
    assert (kept.left, kept.damaged) == (0, 0)
