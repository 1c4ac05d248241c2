"""Headers of weights: what is read, what is not, and every way in which a file can lie."""

import os
import tracemalloc

import numpy as np
import pytest
from handmade import entries, write, write_raw

from simonides.failures import BadArgumentError
from simonides.tensor_files import LONGEST_HEADER, Tensor, read_header

FEW = {"a": ("F32", [2, 3]), "b": ("U8", [4])}


def test_names_shapes_and_types(tmp_path):
    tensors = {"b": ("I64", [3]), "a.weight": ("BF16", [2, 5]), "scalar": ("F32", [])}
    header = read_header(str(write(tmp_path / "x.safetensors", tensors)))
    assert header == {
        "a.weight": Tensor((2, 5), is_float=True),
        "b": Tensor((3,), is_float=False),
        "scalar": Tensor((), is_float=True),
    }


def test_metadata_and_padding_are_no_tensors(tmp_path):
    header = (
        b'{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}   '
    )
    assert list(read_header(str(write_raw(tmp_path / "x", header, 4)))) == ["w"]


def test_weights_are_not_read(tmp_path):
    rows = 2**24
    path = write_raw(tmp_path / "x", entries({"w": ("F32", [rows, 1024])}), 0)
    os.truncate(path, path.stat().st_size + rows * 4096)  # 64 GiB that no disk holds
    assert read_header(str(path))["w"].shape == (rows, 1024)


@pytest.mark.parametrize(
    ("length", "size"), [(LONGEST_HEADER + 1, 20), (8 * 2**30, 16 * 2**30), (2**64 - 1, 16 * 2**30)]
)
def test_a_header_of_gigabytes_allocates_nothing(tmp_path, length, size):
    path = write_raw(tmp_path / "x", {}, 0, length=length)
    os.truncate(path, size)
    tracemalloc.start()
    try:
        with pytest.raises(BadArgumentError, match="header claims"):
            read_header(str(path))
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_wherever_a_file_is_cut_it_is_refused(tmp_path):
    whole = write(tmp_path / "whole", FEW).read_bytes()
    cut = tmp_path / "cut"
    for end in range(len(whole)):
        cut.write_bytes(whole[:end])
        with pytest.raises(BadArgumentError, match="cut"):
            read_header(str(cut))
    cut.write_bytes(whole + b"\0")
    with pytest.raises(BadArgumentError, match="are there"):
        read_header(str(cut))


def test_whatever_byte_is_changed_it_is_read_or_refused(tmp_path):
    whole = write(tmp_path / "whole", FEW).read_bytes()
    path = tmp_path / "changed"
    refusals = []
    for position in range(len(whole) - 28):
        for value in b"\x00\xff{9":
            path.write_bytes(whole[:position] + bytes([value]) + whole[position + 1 :])
            try:
                read_header(str(path))
            except BadArgumentError as error:
                refusals.append(str(error))
    assert len(refusals) > 400
    assert max(map(len, refusals)) < 600


def one(**changes: object) -> dict:
    return {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}


DEEP = b'{"a":' * 100_000
HOSTILE = {
    "not JSON": (b"weights", 0, "not JSON"),
    "not UTF-8": (b'{"\xff": 1}', 0, "not JSON"),
    "not an object": ([1, 2], 0, "holds a list"),
    "nested": (DEEP, 0, "nested too deeply"),
    "twice": (b'{"w": 1, "w": 2}', 0, "'w' occurs twice"),
    "twice inside": (b'{"w": {"shape": [1], "shape": [2]}}', 0, "'shape' occurs twice"),
    "NaN": (b'{"w": NaN}', 0, "NaN"),
    "a number of many digits": (b'{"w": ' + b"9" * 10_000 + b"}", 0, "not JSON"),
    "entry no object": ({"w": 3}, 0, "lacks dtype"),
    "entry without bytes": ({"w": {"dtype": "F32", "shape": [2]}}, 8, "lacks dtype"),
    "unknown type": (one(dtype="F99"), 8, "unknown type 'F99'"),
    "type of another kind": (one(dtype=["F32"]), 8, "unknown type"),
    "shape no list": (one(shape=2), 8, "no sizes"),
    "negative": (one(shape=[-1, -2]), 8, "no sizes"),
    "fraction": (one(shape=[2.0]), 8, "no sizes"),
    "truth value": (one(shape=[True, 2]), 8, "no sizes"),
    "three ends": (one(data_offsets=[0, 4, 8]), 8, "no sizes"),
    "backwards": (one(data_offsets=[8, 0]), 8, "does not fit its bytes"),
    "too few bytes": (one(data_offsets=[0, 4]), 4, "does not fit its bytes"),
    "vast": (one(shape=[2**62, 2**62]), 8, "more entries than can be counted"),
    "beyond 64 bits": (one(shape=[2**70]), 8, "no sizes"),
    "beyond the end": (one(data_offsets=[2**40, 2**40 + 8]), 8, "leaves a gap"),
    "unprintable": ({"\x1b[2J": {}}, 0, "cannot be printed"),
    "half a character": (b'{"\\ud800": {}}', 0, "cannot be printed"),
    "overlap": ({**one(), "v": {"dtype": "U8", "shape": [8], "data_offsets": [4, 12]}}, 12, "overlaps"),
    "the same bytes": ({**one(), "v": one()["w"]}, 8, "overlaps"),
    "gap": ({**one(), "v": {"dtype": "U8", "shape": [1], "data_offsets": [9, 10]}}, 10, "leaves a gap"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_header_that_lies_is_refused_by_name(tmp_path, case):
    header, data, reason = HOSTILE[case]
    path = write_raw(tmp_path / "hostile.safetensors", header, data)
    with pytest.raises(BadArgumentError) as caught:
        read_header(str(path))
    assert reason in str(caught.value)
    assert "hostile.safetensors" in str(caught.value)
    assert "pass another" in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_file_of_the_formats_own_library_is_read(tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "x.safetensors"
    arrays = {"w.weight": np.zeros((3, 5), np.float32), "n": np.arange(4)}
    library.save_file(arrays, path, metadata={"format": "np"})
    assert read_header(str(path)) == {"n": Tensor((4,), False), "w.weight": Tensor((3, 5), True)}
