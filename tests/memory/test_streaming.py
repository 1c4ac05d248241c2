"""Inputs mapped from a file: the rules read them block by block, and find the same."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from drawn import gaussian, shared
from numpy.lib.format import open_memmap

from simonides import AssociativeMemory, OriginalProblem, decide, verify
from simonides.certificate import Claim
from simonides.memory.budget import is_mapped
from simonides.memory.facts import Facts
from simonides.memory.streaming import MappedProblem


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
    limited = AssociativeMemory(method, rank=6, max_memory=10**7).fit(X, Y)
    np.testing.assert_allclose(limited.weights_, whole.weights_, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int64, np.float32, ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_file_of_any_kind_stays_one(tmp_path, dtype, order):
    X, Y = gaussian(12, 20)
    X = np.asarray(10 * X, dtype=dtype, order=order)
    inputs = mapped(tmp_path / "x.npy", X)
    whole = AssociativeMemory("pseudo_inverse").fit(X, Y)
    streamed = AssociativeMemory("pseudo_inverse").fit(inputs, Y)
    assert is_mapped(streamed.inputs_)
    assert streamed.inputs_.dtype == np.dtype(dtype)
    np.testing.assert_allclose(streamed.weights_, whole.weights_, atol=1e-9)
    np.testing.assert_array_equal(streamed.predict(inputs), np.arange(12))
    assert verify(streamed.certificate_, streamed.problem()).valid
    assert "12 of 12 facts stored" in str(streamed.diagnose())
    np.testing.assert_array_equal(AssociativeMemory().fit(inputs, Y).predict(inputs), np.arange(12))


def test_a_limit_is_looked_at_before_anything_is_converted():
    X = np.ones((2000, 1000), dtype=np.int8)
    outputs, targets = np.eye(2), np.arange(2000) % 2
    tracemalloc.start()
    with pytest.raises(ValueError, match="max_memory = 1000 must be at least"):
        AssociativeMemory(max_memory=1000).fit(X, outputs=outputs, targets=targets)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # In double precision X would be 16 MB; checks take a few bytes for each of its two million entries.
    assert peak < 8_000_000, peak


@pytest.mark.slow
@pytest.mark.parametrize("method", ["hebbian", "pseudo_inverse"])
def test_a_file_is_never_in_memory_at_once(tmp_path, method, monkeypatch):
    monkeypatch.setattr("simonides.problems.scan._BLOCK_BYTES", 2**20)
    facts, dim = 20_000, 200
    _, outputs, _ = shared(1, dim, 50)
    targets = np.arange(facts) % 50
    X = open_memmap(tmp_path / "x.npy", "w+", dtype=np.float32, shape=(facts, dim))
    noise = np.random.default_rng(0).standard_normal(X.shape, dtype=np.float32)
    X[:] = outputs[targets] + noise / 3
    X.flush()
    inputs = np.load(tmp_path / "x.npy", mmap_mode="r")
    few = {"outputs": outputs, "targets": targets[:99]}
    AssociativeMemory(method).fit(inputs[:99], **few)  # so that what is loaded once is loaded
    tracemalloc.start()
    memory = AssociativeMemory(method).fit(inputs, outputs=outputs, targets=targets)
    share = memory.score(inputs, targets)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert share == 1
    assert inputs.nbytes == 16_000_000
    # Blocks of a MiB, a few at a time; the file in double precision would be 32 MB.
    assert peak < 16_000_000, peak


@pytest.mark.parametrize("method", ["hebbian", "pseudo_inverse"])
@pytest.mark.filterwarnings("ignore::simonides.memory.shortfall.NotAllStoredWarning")
def test_a_margin_counts_from_a_file_too(tmp_path, method):
    X, Y = gaussian(30, 40)
    inputs = mapped(tmp_path / "x.npy", X)
    plain = AssociativeMemory(method).fit(inputs, Y)
    whole = AssociativeMemory(method, margin=3.0).fit(X, Y)
    streamed = AssociativeMemory(method, margin=3.0).fit(inputs, Y)
    np.testing.assert_array_equal(streamed.failed_, whole.failed_)
    assert streamed.n_stored_ < plain.n_stored_


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("rank", [None, 35])
def test_a_streamed_memory_carries_its_proof(tmp_path, normalize, rank):
    X, Y = gaussian(20, 40)
    inputs = mapped(tmp_path / "x.npy", X.astype(np.float32))
    options = {"rank": rank, "normalize_outputs": normalize}
    memory = AssociativeMemory("pseudo_inverse", **options).fit(inputs, Y)
    assert memory.certificate_.claim is Claim.STORABLE
    mapping = MappedProblem.of(memory.facts_, normalize=normalize)
    assert mapping.fingerprint() == memory.problem().fingerprint()
    in_blocks, at_once = (verify(memory.certificate_, p) for p in (mapping, memory.problem()))
    assert in_blocks.valid
    assert at_once.valid
    assert in_blocks.margin_bound == pytest.approx(at_once.margin_bound)
    other = MappedProblem.of(memory.facts_.where(slice(0, 19)))
    assert not verify(memory.certificate_, other).valid


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_proof_that_facts_do_not_fit_holds_of_the_same_facts_in_a_file(tmp_path, dtype):
    X, outputs, targets = shared(60, 3, 12)
    X = X.astype(dtype)
    facts = Facts(mapped(tmp_path / "x.npy", X), outputs, targets)
    whole, mapping = OriginalProblem(X, outputs, targets), MappedProblem.of(facts)
    proof = decide(whole).certificate
    assert proof.claim is Claim.NOT_STORABLE
    from_file, at_once = verify(proof, mapping), verify(proof, whole)
    assert from_file.valid
    assert from_file == at_once
    flawed = replace(proof, multipliers=np.ones_like(proof.multipliers))
    assert not verify(flawed, mapping).valid


@pytest.mark.filterwarnings("ignore::simonides.memory.shortfall.NotAllStoredWarning")
def test_no_proof_is_claimed_of_what_is_not_recalled(tmp_path):
    X, Y = gaussian(60, 12)
    inputs = mapped(tmp_path / "x.npy", X)
    assert AssociativeMemory("hebbian").fit(inputs, Y).certificate_ is None
    assert AssociativeMemory("hebbian", margin=1.0).fit(inputs, Y).certificate_ is None


def test_a_row_that_is_out_of_range_is_named(tmp_path):
    X, Y = gaussian(20, 12)
    X[3] *= 1e200
    with pytest.raises(ValueError, match=r"X\[3\] = .* rescale"):
        AssociativeMemory("hebbian").fit(mapped(tmp_path / "x.npy", X), Y)


def test_a_bar_is_told_of_every_block(tmp_path, capsys):
    X, Y = gaussian(20, 40)
    inputs = mapped(tmp_path / "x.npy", X)
    AssociativeMemory("pseudo_inverse", progress=True).fit(inputs, Y)
    assert "20/20" in capsys.readouterr().err


def test_every_method_takes_a_mapped_file(tmp_path):
    X, Y = gaussian(20, 12)
    inputs = mapped(tmp_path / "x.npy", X)
    memory = AssociativeMemory().fit(inputs, Y)
    assert memory.score(inputs, Y) == 1
    np.testing.assert_array_equal(memory.weights_, AssociativeMemory().fit(X, Y).weights_)
