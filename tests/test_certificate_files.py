"""Certificates on disk: what is saved comes back, what is damaged or foreign is refused."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from proofs import KINDS, storable, unstorable

from simonides.certificate import Certificate, verify


@pytest.mark.parametrize("make", [storable, unstorable], ids=["storable", "not-storable"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_is_saved_comes_back(make, kind, tmp_path):
    problem, proof = make(kind)
    path = proof.save(tmp_path / "proof.npz")
    assert path == tmp_path / "proof.npz"
    back = Certificate.load(str(path))
    assert (back.claim, back.fingerprint) == (proof.claim, proof.fingerprint)
    for name in ("weights", "pair_facts", "pair_rivals", "multipliers"):
        one, other = getattr(proof, name), getattr(back, name)
        if one is None:
            assert other is None
        else:
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype
    assert verify(back, problem).valid
    again = back.save(tmp_path / "again.npz")
    assert verify(Certificate.load(again), problem) == verify(proof, problem)


def test_the_name_of_the_file_is_kept(tmp_path):
    _, proof = storable()
    assert proof.save(tmp_path / "proof").exists()


def written(path, **fields):
    with path.open("wb") as file:
        np.savez(file, **fields)
    return path


GOOD = {"claim": "storable", "fingerprint": "0", "format": 1}


class Trap:
    """What executes code when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("field", ["weights", "claim"])
def test_pickled_objects_are_refused_and_never_loaded(field, tmp_path):
    sprung = tmp_path / "sprung"
    array = np.empty((1,), dtype=object)
    array[0] = Trap(sprung)
    path = written(tmp_path / "bad.npz", **(GOOD | {field: array}))
    with pytest.raises(ValueError, match=r"bad\.npz.*written by"):
        Certificate.load(path)
    assert not sprung.exists()


def test_a_plain_pickle_is_refused_and_never_loaded(tmp_path):
    sprung, path = tmp_path / "sprung", tmp_path / "bad.npz"
    path.write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(ValueError, match=r"bad\.npz"):
        Certificate.load(path)
    assert not sprung.exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"nothing", b"PK\x03\x04", b"\x93NUMPY\x01\x00"],
    ids=["empty", "text", "zip", "npy"],
)
def test_other_files_are_refused(content, tmp_path):
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.npz"):
        Certificate.load(path)


@pytest.mark.parametrize("missing", sorted(GOOD))
def test_a_missing_header_is_refused(missing, tmp_path):
    fields = {name: value for name, value in GOOD.items() if name != missing}
    with pytest.raises(ValueError, match=f"it has no entry '{missing}'; pass the .npz"):
        Certificate.load(written(tmp_path / "bad.npz", **fields))


def test_an_unknown_claim_or_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match="perhaps"):
        Certificate.load(written(tmp_path / "bad.npz", **(GOOD | {"claim": "perhaps"})))
    with pytest.raises(ValueError, match="format = 2"):
        Certificate.load(written(tmp_path / "bad.npz", **(GOOD | {"format": 2})))


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        Certificate.load(tmp_path / "nothing.npz")


def test_a_truncated_file_is_refused(tmp_path):
    _, proof = storable()
    path = proof.save(tmp_path / "proof.npz")
    content = path.read_bytes()
    for length_kept in range(0, len(content), 7):
        path.write_bytes(content[:length_kept])
        with pytest.raises(ValueError, match=r"proof\.npz"):
            Certificate.load(path)


def test_flipped_bits_never_crash_and_never_prove_anything_new(tmp_path):
    problem, proof = storable()
    path = proof.save(tmp_path / "proof.npz")
    content = path.read_bytes()
    for place in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            back = Certificate.load(path)
        except ValueError:
            continue
        if verify(back, problem).valid:
            np.testing.assert_array_equal(back.weights, proof.weights)


def damaged_deflate(path):
    _, proof = storable()
    proof.save(path)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as archive:
        start = archive.getinfo("weights.npy").header_offset
    content[start + 60 : start + 90] = b"\xff" * 30
    path.write_bytes(content)


def lone_array(path):
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def vector_format(path):
    written(path, **(GOOD | {"format": np.array([1, 1])}))


def open_brackets(path):
    announcing(path, "((((")


@pytest.mark.parametrize("damage", [damaged_deflate, lone_array, vector_format, open_brackets])
def test_damaged_files_are_refused(damage, tmp_path):
    path = tmp_path / "bad.npz"
    damage(path)
    with pytest.raises(ValueError, match=r"bad\.npz|format"):
        Certificate.load(path)


def announcing(path, shape, name="weights"):
    """Write a certificate with a member whose header alone is there, and says it is large."""
    written(path, **GOOD)
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    with zipfile.ZipFile(path, "a") as archive:
        member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
        archive.writestr(f"{name}.npy", member)
    return path


@pytest.mark.parametrize("shape", [(10**20,), (10**12,), (2**40, 2**40)])
def test_arrays_that_no_memory_holds_are_refused_before_they_are_made(shape, tmp_path):
    path = announcing(tmp_path / "huge.npz", shape)
    with pytest.raises(ValueError, match=r"huge\.npz.*would unpack to") as refusal:
        Certificate.load(path)
    assert "\n" not in str(refusal.value)


def test_what_is_not_of_a_certificate_is_not_read(tmp_path):
    path = announcing(tmp_path / "more.npz", (10**20,), name="extra")
    assert Certificate.load(path).fingerprint == "0"


def test_saving_does_not_write_through_a_link_left_in_the_folder(tmp_path):
    _, proof = storable()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / f".proof.npz.{os.getpid()}").symlink_to(victim)
    proof.save(tmp_path / "proof.npz")
    assert victim.read_text() == "mine"


def test_many_may_save_to_the_same_place(tmp_path):
    _, proof = storable()
    path = tmp_path / "proof.npz"
    with ThreadPoolExecutor(8) as pool:
        saved = list(pool.map(lambda _: proof.save(path), range(64)))
    assert saved == [path] * 64
    assert Certificate.load(path).fingerprint == proof.fingerprint
    assert os.listdir(tmp_path) == ["proof.npz"]


def test_a_saved_proof_has_the_permissions_of_any_new_file(tmp_path):
    _, proof = storable()
    plain = tmp_path / "plain"
    plain.touch()
    assert proof.save(tmp_path / "proof.npz").stat().st_mode == plain.stat().st_mode
