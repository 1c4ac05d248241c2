"""Memories on disk: what is read is what was written, and nothing else is read."""

import json
import pickle
import resource
import struct
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from drawn import fitted, gaussian

from simonides import AssociativeMemory, verify
from simonides.memory.shortfall import NotAllStoredWarning

ENDINGS = ["npz", "safetensors"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("options", [{}, {"rank": 8, "random_state": 3}, {"margin": 0.1}])
def test_what_is_read_is_what_was_written(tmp_path, ending, options):
    memory, X, Y = fitted(**options)
    path = memory.save(tmp_path / f"memory.{ending}")
    again = AssociativeMemory.load(path)
    np.testing.assert_array_equal(again.decision_function(X), memory.decision_function(X))
    assert again.get_params() == memory.get_params()
    assert again.capacity_ == memory.capacity_
    assert (again.load_, again.n_stored_, again.n_iter_) == (memory.load_, 20, memory.n_iter_)
    assert verify(again.certificate_, again.problem()).valid
    again.add(*gaussian(2, 12, seed=5))
    assert again.score(X, Y) == 1


@pytest.mark.parametrize("ending", ENDINGS)
def test_names_of_columns_are_kept(tmp_path, ending):
    X, Y = gaussian(20, 12)
    frame = pd.DataFrame(X, columns=[f"column {number}" for number in range(12)])
    memory = AssociativeMemory().fit(frame, Y)
    again = AssociativeMemory.load(memory.save(tmp_path / f"named.{ending}"))
    np.testing.assert_array_equal(again.feature_names_in_, memory.feature_names_in_)
    np.testing.assert_array_equal(again.predict(frame), np.arange(20))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"column 3": "another"}))
    plain = AssociativeMemory.load(fitted()[0].save(tmp_path / f"plain.{ending}"))
    assert not hasattr(plain, "feature_names_in_")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere files cannot be limited")
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_leaves_the_older_file_and_nothing_else(tmp_path, ending):
    memory, X, _ = fitted()
    path = memory.save(tmp_path / f"memory.{ending}")
    older = path.read_bytes()
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(older) // 2, hard))
    try:
        with pytest.raises(OSError, match="no space for"):
            memory.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert [*tmp_path.iterdir()] == [path]
    assert path.read_bytes() == older
    np.testing.assert_array_equal(AssociativeMemory.load(path).predict(X), memory.predict(X))


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_proof_that_facts_do_not_fit_is_kept(tmp_path, ending):
    X, Y = gaussian(60, 8)
    with pytest.warns(NotAllStoredWarning):
        memory = AssociativeMemory().fit(X, Y)
    again = AssociativeMemory.load(memory.save(tmp_path / f"full.{ending}"))
    np.testing.assert_array_equal(again.failed_, memory.failed_)
    assert verify(again.certificate_, again.problem()).valid


@pytest.mark.parametrize("ending", ENDINGS)
def test_without_its_facts_a_memory_recalls_and_does_no_more(tmp_path, ending):
    memory, X, Y = fitted()
    again = AssociativeMemory.load(memory.save(tmp_path / f"bare.{ending}", facts=False))
    assert again.score(X, Y) == 1
    with pytest.raises(ValueError, match="facts=True"):
        again.forget([0])


def forged(path, **arrays):
    np.savez(path, **arrays)
    return path


def note(**values):
    return np.array(json.dumps({"format": 1, **values}))


def test_hostile_archives_are_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return (pytest.fail, ("a file was unpickled",))

    pickled = forged(tmp_path / "pickle.npz", simonides=note(), weights=np.array([Evil()]))
    bomb = tmp_path / "bomb.npz"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weights.npy", b"\0" * 10**7)
    huge = tmp_path / "huge.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }\n"
    with zipfile.ZipFile(huge, "w") as archive:
        member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
        archive.writestr("weights.npy", member)
    vast = tmp_path / "vast.npz"
    with zipfile.ZipFile(vast, "w") as archive:
        header = header.replace(b"1000000000000", b"100000000000000000000")
        member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
        archive.writestr("weights.npy", member)
    (tmp_path / "text.npz").write_text("weights")
    (tmp_path / "bare.npz").write_bytes(pickle.dumps([1]))
    np.save(tmp_path / "one.npy", np.ones(3))
    lone = (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    empty = forged(tmp_path / "empty.npz", simonides=note())
    foreign = forged(tmp_path / "foreign.npz", x=np.ones(2))
    newer = forged(tmp_path / "newer.npz", simonides=np.array('{"format": 99}'))
    paths = [pickled, bomb, huge, vast, tmp_path / "text.npz", tmp_path / "bare.npz", lone, empty]
    for path in [*paths, foreign, newer]:
        with pytest.raises(ValueError, match=r"must be"):
            AssociativeMemory.load(path)
    assert "unpack to 10,000,000 bytes" in str(refusal(bomb))


def refusal(path):
    with pytest.raises(ValueError, match="must be") as caught:
        AssociativeMemory.load(path)
    return caught.value


def test_hostile_safetensors_are_refused(tmp_path):
    for number, content in enumerate(
        [
            b"",
            b"\xff" * 8,
            struct.pack("<Q", 2**40) + b"{}",
            struct.pack("<Q", 2) + b"{}",
            b"no" * 9,
        ]
    ):
        path = tmp_path / f"{number}.safetensors"
        path.write_bytes(content)
        assert "a memory written by save" in str(refusal(path))


@pytest.mark.parametrize(
    "change",
    [
        {"weights": np.ones((3, 3))},
        {"targets": np.array([99] * 20)},
        {"failed": np.array([20])},
        {"inputs": np.ones((3, 12))},
        {"outputs": np.full((20, 12), np.nan)},
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(tmp_path, change):
    memory, _, _ = fitted()
    path = memory.save(tmp_path / "memory.npz")
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    assert "must be" in str(refusal(forged(tmp_path / "changed.npz", **{**arrays, **change})))


@pytest.mark.parametrize(
    ("lacking", "reason"), [("simonides", "'simonides'"), ("weights", "'weights'")]
)
def test_what_a_file_lacks_is_named(tmp_path, lacking, reason):
    memory, _, _ = fitted()
    with np.load(memory.save(tmp_path / "memory.npz")) as archive:
        arrays = {name: archive[name] for name in archive.files if name != lacking}
    said = str(refusal(forged(tmp_path / "less.npz", **arrays)))
    assert "less.npz' must be a memory written by save: it has no entry " + reason in said


@pytest.mark.parametrize(
    "change",
    [
        {"dim_in": "a"},
        {"dim_in": 1e400},
        {"params": {"a": 1}},
        {"proof": ["maybe", ""]},
        {"proof": []},
        {"features": ["one"]},
        {"features": [1] * 12},
        {"features": "abcdefghijkl"},
    ],
)
def test_notes_that_make_no_sense_are_refused_by_file(tmp_path, change):
    memory, _, _ = fitted()
    with np.load(memory.save(tmp_path / "memory.npz")) as archive:
        arrays = {name: archive[name] for name in archive.files}
    kept = json.loads(str(arrays.pop("simonides")))
    path = forged(
        tmp_path / "odd.npz", **arrays, simonides=np.array(json.dumps({**kept, **change}))
    )
    assert "odd.npz' must be a memory written by save" in str(refusal(path))


def test_paths_that_cannot_be(tmp_path):
    memory, _, _ = fitted()
    for ending in ENDINGS:
        (folder := tmp_path / f"folder.{ending}").mkdir()
        with pytest.raises(ValueError, match="a file, not a folder"):
            memory.save(folder)
        folder.rmdir()
    for path, reason in (
        (tmp_path / "memory.pkl", "ending in"),
        (tmp_path / "nowhere" / "memory.npz", "folder that exists"),
    ):
        with pytest.raises(ValueError, match=reason):
            memory.save(path)
    with pytest.raises(ValueError, match="a file"):
        AssociativeMemory.load(tmp_path / "memory.npz")
    memory.set_params(random_state=np.random.default_rng(0))
    with pytest.raises(ValueError, match="random_state"):
        memory.save(tmp_path / "memory.npz")
    assert not list(tmp_path.iterdir())


def test_without_the_library_safetensors_the_extra_is_named(tmp_path, monkeypatch):
    memory, _, _ = fitted()
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ValueError, match=r"pip install -e '\.\[hf\]' in the clone"):
        memory.save(tmp_path / "memory.safetensors")
    assert not list(tmp_path.iterdir())
