"""Headers of GGUF files: what is read, what is not, and every way in which one can lie."""

import struct
import tracemalloc
from contextlib import contextmanager

import pytest
from gguf_made import F32, I32, META, Q4_0, content, text, value, write

from simonides import gguf_files
from simonides.failures import BadArgumentError
from simonides.gguf_files import is_gguf, read_gguf
from simonides.planner.model import Layer
from simonides.planner.plan import plan
from simonides.planner.source import read_model
from simonides.tensor_files import Tensor

FEW = {"a": (F32, [3, 2]), "b": (I32, [4])}
COUNTS = 8
"""Where the two numbers begin, after the letters and the version."""


@pytest.mark.parametrize("version", [2, 3])
def test_names_shapes_types_and_what_is_said_beside(tmp_path, version):
    path = write(tmp_path / "x.gguf", {"scalar": (F32, []), **FEW}, version=version)
    tensors, values = read_gguf(path)
    assert tensors == {
        "a": Tensor((2, 3), is_float=True),
        "b": Tensor((4,), is_float=False),
        "scalar": Tensor((), is_float=True),
    }
    assert values["general.architecture"] == "llama"
    assert values["tokenizer.ggml.tokens"] == 3
    assert is_gguf(path)


def test_a_quantised_model_has_the_layers_of_its_shapes(tmp_path):
    # Known by how it begins: a store of models gives its files other names.
    model = read_model(str(write(tmp_path / "sha256-1234")))
    assert (model.family, model.vocabulary) == ("llama", 96)
    assert set(model.layers) == {
        Layer("blk.*.attn_q", 64, 64, 2),
        Layer("blk.*.attn_k", 64, 32, 2),
        Layer("blk.*.ffn_down", 160, 64, 2),
        Layer("output", 64, 96),
    }
    reasons = {part.name: part.reason for part in model.skipped}
    assert reasons["token_embd.weight"] == "a table of vectors"
    assert "stack" in reasons["blk.*.ffn_gate_exps.weight"]
    assert len(plan(model).rows) == 4


def test_weights_are_not_read(tmp_path):
    path = tmp_path / "x.gguf"
    small, vast = struct.pack("<IQ", 1, 32), struct.pack("<IQ", 1, 2**36)
    path.write_bytes(content({"w": (Q4_0, [32])}).replace(small, vast))
    with path.open("ab") as file:  # sparse: no disk holds it
        file.truncate(2**36)
    assert read_gguf(path)[0]["w"].shape == (2**36,)


def test_wherever_a_file_is_cut_it_is_refused(tmp_path):
    whole, path = content(FEW), tmp_path / "x.gguf"
    for end in range(4, len(whole) - 63):
        path.write_bytes(whole[:end])
        with pytest.raises(BadArgumentError, match=r"a whole \.gguf file"):
            read_gguf(path)


def test_whatever_byte_is_changed_it_is_read_or_refused(tmp_path):
    whole, path = content(FEW), tmp_path / "x.gguf"
    refusals = []
    for position in range(len(whole) - 64):
        for letter in b"\x00\xff\x09":
            path.write_bytes(whole[:position] + bytes([letter]) + whole[position + 1 :])
            try:
                read_gguf(path)
            except BadArgumentError as error:
                refusals.append(str(error))
    assert len(refusals) > 200
    assert "".join(refusals).isprintable()
    assert max(map(len, refusals)) < 600


def changed(position: int, *numbers: int) -> bytes:
    """Return a file with other numbers in some place."""
    whole = content(FEW)
    raw = struct.pack(f"<{len(numbers)}Q", *numbers)
    return whole[:position] + raw + whole[position + len(raw) :]


NESTED = text("list") + struct.pack("<IIQ", 9, 9, 1) + value([1])
LIES = {
    "another version": (content(FEW, version=1), "version 2 or 3"),
    "the other end first": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "version 2 or 3"),
    "endless tensors": (changed(COUNTS, 2**63), "claims 9,223,372,036,854,775,808 tensors"),
    "endless keys": (changed(COUNTS, 2, 2**63), "keys, and 100,000 are read"),
    "an endless text": (
        changed(COUNTS + 16, 2**62),
        "a key or name has 4,611,686,018,427,387,904 bytes",
    ),
    "a list in a list": (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + NESTED + bytes(64),
        "unknown kind 9",
    ),
    "an endless list": (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 12, 2**61),
        "cut off",
    ),
    "endless texts": (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<IIQ", 9, 8, 2**40),
        "more than 4,194,304 texts",
    ),
    "many axes": (content({"w": (F32, [1] * 5)}), "5 axes"),
    "a vast shape": (
        content({"w": (F32, [7, 7])}).replace(
            struct.pack("<QQ", 7, 7), struct.pack("<QQ", 2**63, 2**63)
        ),
        "does not fit its bytes",
    ),
    "no alignment": (content(FEW, {"general.alignment": 0}), "alignment"),
    "an alignment in words": (content(FEW, {"general.alignment": "x"}), "alignment"),
    "a name that moves a terminal": (content({"\x1b[2J": (F32, [1])}), "cannot be printed"),
    "a long name": (content({"a" * 60_000: (F32, [1])}), "60,000 characters"),
    "one key twice": (content({}, {"a": 1, "b": 1}).replace(text("b"), text("a")), "occurs twice"),
    "one tensor twice": (content(FEW).replace(text("b"), text("a")), "occurs twice"),
}


@pytest.mark.parametrize(
    ("kind", "is_float"),
    [(F32, True), (30, True), (24, False), (25, False), (26, False), (27, False)],
)
def test_whole_numbers_are_told_from_real_ones(tmp_path, kind, is_float):
    whole = content({"w": (F32, [16])}).replace(
        struct.pack("<QIQ", 16, F32, 0), struct.pack("<QIQ", 16, kind, 0)
    )
    path = tmp_path / "x.gguf"
    path.write_bytes(whole + bytes(64))  # as many bytes as any of these kinds takes
    assert read_gguf(path)[0]["w"] == Tensor((16,), is_float)


def placed(first: int, second: int, unit: int, room: int, kind: int = F32) -> bytes:
    """Return a file of two tensors of 64 bytes at two places, with an alignment and bytes behind it."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, 1) + text("general.alignment") + value(unit)
    for name, place in (("a", first), ("b", second)):
        head += text(name) + struct.pack("<IQIQ", 1, 16, kind, place)
    return head + bytes(-len(head) % unit + room)


@pytest.mark.parametrize("unit", [1, 8, 32, 64, 4096])
def test_tensors_begin_where_the_alignment_says(tmp_path, unit):
    path, step = tmp_path / "x.gguf", max(unit, 64)
    path.write_bytes(placed(0, step, unit, step + 64))
    assert set(read_gguf(path)[0]) == {"a", "b"}
    path.write_bytes(placed(0, step, unit, step + 63))  # a byte short
    with pytest.raises(BadArgumentError, match="does not fit its bytes"):
        read_gguf(path)
    if unit > 1:
        path.write_bytes(placed(0, step + 1, unit, 2 * step + 64))
        with pytest.raises(BadArgumentError, match=f"no multiple of {unit:,}"):
            read_gguf(path)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, 32), (32, 0), (64, 96)])
def test_tensors_that_overlap_are_refused(tmp_path, first, second):
    path = tmp_path / "x.gguf"
    path.write_bytes(placed(first, second, 32, 1000))
    with pytest.raises(BadArgumentError, match="does not fit its bytes"):
        read_gguf(path)


def test_a_kind_that_is_not_known_takes_a_bit_for_an_entry(tmp_path):
    path = tmp_path / "x.gguf"
    path.write_bytes(placed(0, 2, 1, 4, kind=99))
    assert set(read_gguf(path)[0]) == {"a", "b"}
    path.write_bytes(placed(0, 1, 1, 4, kind=99))
    with pytest.raises(BadArgumentError, match="does not fit its bytes"):
        read_gguf(path)


def test_sizes_of_kinds_are_those_of_the_library():
    constants = pytest.importorskip("gguf.constants", reason="comes with the extra 'hf'")
    ours = gguf_files._BLOCKS
    assert {
        int(kind): block for kind, block in constants.GGML_QUANT_SIZES.items() if kind in ours
    } == ours


def test_long_lists_of_texts_are_passed_over(tmp_path):
    words = ["", "a" * 3_000_000, *(f"word {number}" for number in range(200_000)), "é"]
    path = write(tmp_path / "x.gguf", FEW, {**META, "words": words, "after": 7})
    tensors, values = read_gguf(path)
    assert (values["words"], values["after"], set(tensors)) == (len(words), 7, {"a", "b"})


def test_many_short_lists_of_texts_are_read_once(tmp_path, monkeypatch):
    class Counting:
        def __init__(self, file):
            self.file, self.bytes = file, 0
            self.seek, self.tell, self.fileno = file.seek, file.tell, file.fileno

        def read(self, size):
            content = self.file.read(size)
            self.bytes += len(content)
            return content

    counted = []

    @contextmanager
    def opened(path):
        with path.open("rb") as file:
            counted.append(Counting(file))
            yield counted[-1]

    monkeypatch.setattr(gguf_files, "opened", opened)
    path = write(tmp_path / "x.gguf", FEW, {str(key): ["a"] * 40 for key in range(500)})
    assert len(read_gguf(path)[1]) == 500
    assert counted[0].bytes < 4 * path.stat().st_size


def test_a_model_of_too_many_kinds_of_layers_is_refused(tmp_path):
    shapes = {f"w{number}.weight": (F32, [1, 2]) for number in range(5_001)}
    with pytest.raises(BadArgumentError, match="at most 5,000 kinds of layers: it has 5,001"):
        read_model(str(write(tmp_path / "x.gguf", shapes)))


@pytest.mark.parametrize("lie", LIES)
def test_a_header_that_lies_is_refused_in_one_line(tmp_path, lie):
    whole, reason = LIES[lie]
    path = tmp_path / "x.gguf"
    path.write_bytes(whole)
    with pytest.raises(BadArgumentError, match=reason) as refusal:
        read_gguf(path)
    assert str(refusal.value).isprintable()


def test_one_of_several_files_is_no_model(tmp_path):
    path = write(tmp_path / "x.gguf", meta={**META, "split.count": 3})
    with pytest.raises(BadArgumentError, match="one of several files"):
        read_model(str(path))


@pytest.mark.parametrize("length", [2**16 - 1, 2**22])
def test_a_long_key_is_neither_held_nor_printed(tmp_path, length):
    """Python takes four bytes for every letter of a text in which one needs as many."""
    key = text(b"\xf0\x9f\x98\x80" + bytes(length - 4)) + value(1)
    path = tmp_path / "x.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + 2 * key)
    tracemalloc.start()
    try:
        with pytest.raises(BadArgumentError, match=r"twice|a key or name has") as refusal:
            read_gguf(path)
        assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()
    assert len(str(refusal.value)) < 300 + len(str(path))
