"""Kernels: compiled once, kept on disk, and never compiled by what solves nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from simonides.problems.original import OriginalProblem
from simonides.solvers.deciding.decide import decide

if TYPE_CHECKING:
    from pathlib import Path

COUNTING = """
import sys
from numba.core import event
with event.install_recorder("numba:compile") as compilations:
    from simonides.cli import main
    try:
        main()
    except SystemExit as ended:
        assert ended.code in (None, 0), ended.code
print(sum(event.is_start for _, event in compilations.buffer), file=sys.stderr)
"""


def compilations(*arguments: str, cache: Path) -> int:
    """Run a command with kernels kept in a folder of their own; return how many it compiled."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, *arguments, "--json"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stderr.split()[-1])


@pytest.mark.slow
def test_compilation_is_paid_once(tmp_path):
    small = ("decide", "--dim", "10", "--facts", "20")
    assert compilations(*small, cache=tmp_path) > 0
    kept = sorted(path.name for path in tmp_path.rglob("*.nb?"))
    assert kept
    assert compilations(*small, cache=tmp_path) == 0
    assert sorted(path.name for path in tmp_path.rglob("*.nb?")) == kept


def test_theory_compiles_nothing(tmp_path):
    assert compilations("capacity", "--dim", "100", cache=tmp_path) == 0
    assert not list(tmp_path.iterdir())


def test_verifying_compiles_nothing(tmp_path):
    problem, proof = OriginalProblem.gaussian(4, 6, seed=0), str(tmp_path / "proof.npz")
    decide(problem).certificate.save(proof)
    cache = tmp_path / "cache"
    assert compilations("verify", proof, "--dim", "6", "--facts", "4", cache=cache) == 0
    assert not list(cache.rglob("*.nb?"))


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
