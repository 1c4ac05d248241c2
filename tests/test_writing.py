"""Whatever file event is the last one, files are whole and what was kept stays."""

import subprocess
import sys
from pathlib import Path

import pytest

EVENTS = Path(__file__).with_name("file_events.py")

LEAST = {"replaced": 5, "proof": 5, "sweep": 40}
"""Events it surely has: a file alone is opened, written, flushed, renamed, its folder flushed."""


@pytest.mark.slow
def test_nothing_is_lost_at_any_file_event(tmp_path):
    done = subprocess.run(
        [sys.executable, EVENTS, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    counts = [line.split() for line in done.stdout.splitlines()]
    assert len(counts) == 2 * len(LEAST)
    for work, _, count in counts:
        assert int(count) >= LEAST[work]
