"""Inputs mapped from a file: the rules read them block by block, and find the same."""

import tracemalloc

import numpy as np
import pytest
from drawn import gaussian, shared
from numpy.lib.format import open_memmap

from simonides import AssociativeMemory


def mapped(path, array):
    np.save(path, array)
    return np.load(path, mmap_mode="r")


@pytest.mark.parametrize("method", ["hebbian", "pseudo_inverse"])
@pytest.mark.parametrize("facts", [8, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore::simonides.memory.shortfall.NotAllStoredWarning")
def test_a_rule_finds_the_same_from_a_file(tmp_path, method, facts, dtype):
    X, Y = gaussian(facts, 12)
    X = X.astype(dtype)
    whole = AssociativeMemory(method, rank=6).fit(X, Y)
    streamed = AssociativeMemory(method, rank=6).fit(mapped(tmp_path / "x.npy", X), Y)
    np.testing.assert_allclose(streamed.weights_, whole.weights_, atol=1e-9)
    np.testing.assert_array_equal(streamed.failed_, whole.failed_)
    limited = AssociativeMemory(method, rank=6, max_memory=10**6).fit(X, Y)
    np.testing.assert_allclose(limited.weights_, whole.weights_, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["hebbian", "pseudo_inverse"])
def test_a_file_is_never_in_memory_at_once(tmp_path, method):
    facts, dim = 100_000, 200
    _, outputs, _ = shared(1, dim, 50)
    targets = np.arange(facts) % 50
    X = open_memmap(tmp_path / "x.npy", "w+", dtype=np.float32, shape=(facts, dim))
    rng = np.random.default_rng(0)
    for start in range(0, facts, 20_000):
        part = slice(start, start + 20_000)
        X[part] = outputs[targets[part]] + rng.standard_normal((20_000, dim), dtype=np.float32) / 3
    X.flush()
    inputs = np.load(tmp_path / "x.npy", mmap_mode="r")
    tracemalloc.start()
    memory = AssociativeMemory(method).fit(inputs, outputs=outputs, targets=targets)
    share = memory.score(inputs, targets)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert share == 1
    assert inputs.nbytes == 80_000_000
    # Blocks of 16 MiB, a few at a time; the file in double precision would be 160 MB.
    assert peak < 100_000_000, peak


def test_every_method_takes_a_mapped_file(tmp_path):
    X, Y = gaussian(20, 12)
    inputs = mapped(tmp_path / "x.npy", X)
    memory = AssociativeMemory().fit(inputs, Y)
    assert memory.score(inputs, Y) == 1
    np.testing.assert_array_equal(memory.weights_, AssociativeMemory().fit(X, Y).weights_)
