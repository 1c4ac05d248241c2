"""Kernels: compiled once, kept on disk, and never compiled by what solves nothing."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.decide import decide

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
    small = ("decide", "--dim", "10", "--facts", "20")
    first = processor_seconds(*small, cache=tmp_path)
    assert list(tmp_path.rglob("*.nb?"))
    again = processor_seconds(*small, cache=tmp_path)
    assert first - again > 1  # the first did compile
    assert first - again < 20
    assert again < 4


def test_theory_compiles_nothing(tmp_path):
    processor_seconds("capacity", "--dim", "100", cache=tmp_path)
    assert not list(tmp_path.iterdir())


def test_verifying_compiles_nothing(tmp_path):
    problem, proof = OriginalProblem.gaussian(4, 6, seed=0), str(tmp_path / "proof.npz")
    decide(problem).certificate.save(proof)
    processor_seconds("verify", proof, "--dim", "6", "--facts", "4", cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.nb?"))


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "capacity --dim 50",
        "require --facts 500",
        "theory scores",
        "plan gpt2",
        "signal propagate --layers 2 --dim 64 --tokens 32",
        "decide --dim 5 --facts 0",
        "threshold --dim 0",
    ],
)
def test_what_solves_nothing_does_not_even_load_the_compiler(command):
    code = (
        "import sys; from simonides.cli import main\n"
        "try: main()\n"
        "except SystemExit as ended: assert ended.code in (0, 2)\n"
        "assert 'simonides.cli.app' in sys.modules\n"
        "loaded = {'numba', 'sklearn', 'torch', 'dask'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
