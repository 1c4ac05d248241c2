"""Seeded fuzzing: damaged files of every format, and random problems against HiGHS and planted verdicts.

``python tests/fuzz.py --rounds 100000 --seed 1`` goes on for longer than the suite does.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import gguf_made
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from simonides import (
    AssociativeMemory,
    Certificate,
    DecoupledProblem,
    OriginalProblem,
    decide,
    reading,
    verify,
)
from simonides.certificate import Claim
from simonides.experiments.spec import read_spec
from simonides.failures import BadArgumentError
from simonides.parquet_files import parse_parquet
from simonides.planner.source import read_model
from simonides.signal.models.reading import read_config

if TYPE_CHECKING:
    from collections.abc import Callable

sys.path.append(str(Path(__file__).parent / "solvers"))
from definition import linear_program_stores

LONGEST = 60
"""Seconds that a file may take before it counts as a hang: generous, so that a busy machine is none."""

SPEC = """
problem = ["original", "decoupled"]
dims = [5, 6]
facts = [9]
solvers = [{name = "hebbian"}]
instances = 2
seed = 0
"""

CONFIG = {
    "model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 32, "vocab_size": 100,
}  # fmt: skip

STORABLE = OriginalProblem.gaussian(20, 8, seed=0)


def load_certificate(path: Path) -> None:
    proof = Certificate.load(path)
    outcome = verify(proof, STORABLE)
    assert not (outcome.valid and outcome.claim is Claim.NOT_STORABLE), "a false proof"


def load_memory(path: Path) -> None:
    memory = AssociativeMemory.load(path)
    assert 0 <= memory.n_stored_ <= len(memory.targets_)
    memory.predict(np.ones((1, memory.n_features_in_)))


COLUMNS = pa.schema({"name": pa.string(), "value": pa.float64(), "list": pa.list_(pa.float64())})


def load_parquet(path: Path) -> None:
    with reading.expecting("file", path, "a table", "pass another"):
        parse_parquet(reading.read_bytes(path), COLUMNS)


def seeds(folder: Path) -> list[tuple[str, bytes, Callable[[Path], object]]]:
    """Return files of every format with their readers."""
    decide(STORABLE).certificate.save(folder / "proof.npz")
    rng = np.random.default_rng(0)
    np.save(folder / "array.npy", rng.standard_normal((6, 4)))
    memory = AssociativeMemory(rank=4).fit(*rng.standard_normal((2, 10, 6)))
    memory.save(folder / "memory.npz")
    memory.save(folder / "memory.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "spec.toml").write_text(SPEC)
    rows = {"name": ["a", "b", "a"], "value": [1.0, None, 3.0], "list": [[1.0], [], [2.0, 3.0]]}
    pq.write_table(pa.table(rows, schema=COLUMNS), folder / "rows.parquet", compression="zstd")
    readers = {
        "proof.npz": load_certificate,
        "array.npy": reading.read_array,
        "memory.npz": load_memory,
        "memory.safetensors": load_memory,
        "config.json": lambda path: read_model(str(path)),
        "spec.toml": read_spec,
        "rows.parquet": load_parquet,
    }
    files = [(name, (folder / name).read_bytes(), read) for name, read in readers.items()]
    weights = (folder / "memory.safetensors").read_bytes()
    files.append(("model.safetensors", weights, lambda path: read_model(str(path))))
    model = gguf_made.content()
    files.append(("model.gguf", model, lambda path: read_model(str(path))))
    files.append(("signal.json", (folder / "config.json").read_bytes(), read_config))
    return files


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with bytes changed, cut, added, doubled or moved, where they matter: mostly early."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        size = max(len(data), 1)
        place = int(rng.integers(size) if rng.random() < 0.5 else rng.integers(min(size, 300)))
        stop = min(size, place + int(rng.integers(1, 40)))
        change = rng.integers(6)
        if change == 0:
            data[place : place + 1] = bytes([int(rng.integers(256))])
        elif change == 1:
            data[place : place + 1] = rng.choice(
                [b"\0", b"\xff", b"9", b"-", b"[", b"{", b'"', b","]
            )
        elif change == 2:
            del data[place:]
        elif change == 3:
            data[place:place] = rng.bytes(int(rng.integers(1, 30)))
        elif change == 4:
            data[place:place] = data[place:stop] * int(rng.integers(1, 50))
        else:
            other = int(rng.integers(size))
            data[place:stop] = data[other : other + stop - place]
    return bytes(data)


def fuzz_files(rounds: int, seed: int, folder: Path) -> int:
    """Read damaged files, each of which must be read or refused; return how many were refused."""
    refused = 0
    files = seeds(folder)
    rng = np.random.default_rng(seed)
    signal.signal(signal.SIGALRM, _hang)
    for name, content, read in files:  # whole, each is read
        (folder / name).write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(folder / name)
    for number in range(rounds):
        name, content, read = files[number % len(files)]
        path = folder / f"fuzzed-{name}"
        path.write_bytes(mutated(content, rng))
        signal.alarm(LONGEST)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read(path)
        except BadArgumentError:
            refused += 1
        except BaseException:
            sys.stderr.write(f"seed {seed}, round {number}: {path}\n")
            raise
        finally:
            signal.alarm(0)
    return refused


def _hang(*_: object) -> None:
    raise AssertionError(f"a file took more than {LONGEST} seconds")


def drawn(rng: np.random.Generator) -> tuple[OriginalProblem, bool]:
    """Return a small problem, often a degenerate one, and whether planted weights store it."""
    dim_in, dim_out = (int(size) for size in rng.integers(1, 5, size=2))
    inputs = rng.standard_normal((int(rng.integers(2, 14)), dim_in))
    outputs = rng.standard_normal((int(rng.integers(2, 6)), dim_out))
    twist = rng.integers(4)
    if twist == 1:  # on a grid: ties and equal rows
        inputs, outputs = np.round(inputs), np.round(outputs)
    elif twist == 2:  # rows that are multiples of others
        inputs[-1] = inputs[0] * rng.choice([0.01, 0.5, 2.0, 3.0])
    elif twist == 3:  # nearly flat
        inputs[:, 1:] *= 1e-3
    scores = inputs @ rng.standard_normal((dim_in, dim_out)) @ outputs.T
    if rng.random() < 0.5:
        first, second = np.sort(scores, axis=1)[:, :-3:-1].T
        return OriginalProblem(inputs, outputs, scores.argmax(axis=1)), bool(np.all(first > second))
    return OriginalProblem(inputs, outputs, rng.integers(len(outputs), size=len(inputs))), False


def fuzz_problems(rounds: int, seed: int) -> int:
    """Decide small problems; return how many were decided, each as HiGHS says and as was planted."""
    rng, decided = np.random.default_rng(seed), 0
    for number in range(rounds):
        if number % 3:
            problem, planted = drawn(rng)
        else:
            sizes = (int(size) for size in rng.integers((2, 1, 1), (12, 5, 5)))
            candidates = int(rng.integers(2, 6))
            problem = DecoupledProblem.gaussian(*sizes, candidates=candidates, seed=number)
            planted = False
        decision = decide(problem)
        if decision.certificate is not None:
            decided += 1
            assert verify(decision.certificate, problem).valid, (seed, number)
            stores = decision.certificate.claim is Claim.STORABLE
            assert stores == linear_program_stores(problem), (seed, number)
            assert stores or not planted, (seed, number)
    return decided


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=20_000, help="files; a tenth as many problems"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        refused = fuzz_files(options.rounds, options.seed, Path(folder))
    problems = options.rounds // 10
    decided = fuzz_problems(problems, options.seed)
    print(f"{options.rounds:,} files read, {refused:,} of them refused")
    print(f"{problems:,} problems, {decided:,} of them decided, each as HiGHS says")


if __name__ == "__main__":
    main()
