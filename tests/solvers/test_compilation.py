"""Kernels: compiled once, kept on disk, and never compiled by what solves nothing."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING

import numba
import pytest
import typer
from numba.core import event
from program import PATIENCE

from simonides.cli import main
from simonides.interrupts import PRESSES
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
        timeout=PATIENCE,
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


@pytest.mark.slow
def test_verifying_compiles_nothing(tmp_path):
    problem, proof = OriginalProblem.gaussian(4, 6, seed=0), str(tmp_path / "proof.npz")
    decide(problem).certificate.save(proof)
    cache = tmp_path / "cache"
    assert compilations("verify", proof, "--dim", "6", "--facts", "4", cache=cache) == 0
    assert not list(cache.rglob("*.nb?"))


SOLVES_NOTHING = """
--help
capacity --dim 50
require --facts 500
theory scores
plan gpt2
signal propagate --layers 2 --dim 64 --tokens 32
decide --dim 5 --facts 0
threshold --dim 0
"""

LOADED = """
import sys
from simonides.cli import main

for command in sys.argv.pop().strip().splitlines():
    sys.argv[1:] = command.split()
    try:
        main()
    except SystemExit as ended:
        assert ended.code in (None, 0, 2), command
    loaded = {"numba", "sklearn", "torch", "dask"} & set(sys.modules)
    assert not loaded, (command, loaded)
assert "simonides.cli.app" in sys.modules
"""


@pytest.mark.slow
def test_what_solves_nothing_does_not_even_load_the_compiler():
    done = subprocess.run(
        [sys.executable, "-c", LOADED, SOLVES_NOTHING], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "capacity" in done.stdout


DOUBLING = """
from simonides.compiled import kernel

@kernel()
def double(x):
    return x + x

@kernel()
def triple(x):
    return x + x + x
"""

DAMAGES = {
    "emptied": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "flipped": lambda content: content[:60] + bytes(255 - byte for byte in content[60:]),
}


@pytest.fixture
def doubling(tmp_path, monkeypatch):
    """Return a call in a program of its own, as it were, that says how many kernels it compiled."""
    (tmp_path / "doubling.py").write_text(DOUBLING)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("simonides.compiled._SAID", set())

    def call(name: str = "double") -> int:
        sys.modules.pop("doubling", None)
        with event.install_recorder("numba:compile") as compiled:
            called = getattr(importlib.import_module("doubling"), name)
            assert called(21) == {"double": 42, "triple": 63}[name]
        return sum(step.is_start for _, step in compiled.buffer)

    yield call
    sys.modules.pop("doubling", None)


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_compiled_code_is_compiled_again_once_and_said(doubling, suffix, damage, tmp_path):
    assert [doubling(), doubling()] == [1, 0]
    (path,) = (tmp_path / "cache").rglob(f"*{suffix}")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(RuntimeWarning, match="was damaged: compiled again") as notes:
        assert doubling() == 1
    assert len(notes) == 1
    assert doubling() == 0


def test_a_cache_damaged_in_many_places_is_said_in_one_line(doubling, tmp_path):
    kernels = ("double", "triple")
    assert [doubling(name) for name in kernels] == [1, 1]
    for path in (tmp_path / "cache").rglob("*.nbi"):
        path.write_bytes(b"")
    with pytest.warns(RuntimeWarning, match="was damaged: compiled again") as notes:
        assert [doubling(name) for name in kernels] == [1, 1]
    assert len(notes) == 1


def test_code_that_the_compiler_kept_by_itself_is_replaced_without_a_word(doubling, tmp_path):
    doubling()
    for path in (tmp_path / "cache").rglob("*.nb?"):
        path.write_bytes(pickle.dumps("0.60.0"))
    assert [doubling(), doubling()] == [1, 0]


def test_code_that_cannot_be_kept_is_compiled_all_the_same(doubling, tmp_path, monkeypatch):
    doubling()
    (index,) = (tmp_path / "cache").rglob("*.nbi")
    index.unlink()
    index.mkdir()  # nothing can be read or written there, by anybody
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        assert doubling() == 1
    monkeypatch.setattr("numba.core.caching.CompileResultCacheImpl._locator_classes", [])
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        assert doubling() == 1


def test_an_end_of_a_file_is_not_ctrl_c(monkeypatch):
    def ends(**_: object) -> None:
        raise typer.Abort from EOFError("Ran out of input")

    monkeypatch.setattr("simonides.cli.app.app", ends)
    monkeypatch.setattr(PRESSES, "listen", lambda: None)
    with pytest.raises(EOFError, match="Ran out"):
        main()
