"""A reproduction's claims and times, as the documentation shows them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_tables_are_made_from_the_files_of_a_run(tmp_path):
    claim = {"statement": "|W| is one", "paper": "1", "found": "0.9", "verdict": "agrees"}
    times = [
        {"part": "rank-1", "tasks": 1200, "task_seconds": 31.4, "seconds": 16.2},
        {"part": "claims", "tasks": None, "task_seconds": None, "seconds": 2.0},
    ]
    (tmp_path / "claims.json").write_text(json.dumps([{**claim, "topic": "storage"}]))
    (tmp_path / "times.json").write_text(json.dumps(times))
    (tmp_path / "docs" / "measured").mkdir(parents=True)
    subprocess.run(
        [sys.executable, "-m", "benchmarks.claims", ".", "tiny"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        check=True,
    )
    written = tmp_path / "docs" / "measured"
    storage = (written / "claims_tiny_storage.md").read_text().splitlines()
    assert storage[2:] == [r"| \|W\| is one | 1 | 0.9 | agrees |"]
    assert len((written / "claims_tiny_signal.md").read_text().splitlines()) == 2
    rows = (written / "times_tiny.md").read_text().splitlines()[2:]
    assert rows == ["| rank-1 | 1,200 | 31 | 16 |", "| claims |  |  | 2 |", "| all |  |  | 18 |"]
    assert json.loads((written / "reproduction_tiny.json").read_text())["times"] == times
