"""Kernels: compiled once, kept on disk, and never compiled by what solves nothing."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = str(Path(sys.executable).parent / "simonides")


def processor_seconds(*arguments: str, cache: Path) -> float:
    """Run a command with kernels kept in a folder of their own; return what it cost."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [PROGRAM, *arguments, "--json"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
def test_compilation_is_paid_once(tmp_path):
    decide = ("decide", "--dim", "10", "--facts", "20")
    first = processor_seconds(*decide, cache=tmp_path)
    assert list(tmp_path.rglob("*.nbi"))
    again = processor_seconds(*decide, cache=tmp_path)
    assert first - again > 1  # the first did compile
    assert first - again < 20
    assert again < 4


def test_theory_compiles_nothing(tmp_path):
    processor_seconds("capacity", "--dim", "100", cache=tmp_path)
    assert not list(tmp_path.iterdir())
