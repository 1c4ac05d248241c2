"""Files made to harm their reader: small on disk, vast or endless once they are believed."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING

import gguf_made
import numpy as np
import parquet_made
import pyarrow as pa
import pyarrow.parquet as pq

from simonides import AssociativeMemory, Certificate, reading
from simonides.parquet_files import parse_parquet
from simonides.planner.plan import plan
from simonides.planner.source import read_model

if TYPE_CHECKING:
    from pathlib import Path

BLOCK = 2**24
"""Bytes of zeros that are compressed once and repeated."""


def zeros(size: int, start: bytes = b"") -> bytes:
    """Return what inflates to a start and so many zeros, without having deflated them all."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(BLOCK)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + block * (size // BLOCK) + packer.flush()


def archive(path: Path, content: bytes, size: int, *, method: int = 8, copies: int = 1) -> Path:
    """Write an archive whose one member claims a size, and is listed so often."""
    name = b"weights.npy"
    common = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 33, 0, len(content), size, len(name), 0)
    local = b"PK\3\4" + common + name
    listed = (b"PK\1\2" + struct.pack("<H", 20) + common + bytes(14) + name) * copies
    start = len(local) + len(content)
    end = struct.pack("<HHHHIIH", 0, 0, copies % 2**16, copies % 2**16, len(listed), start, 0)
    path.write_bytes(local + content + listed + b"PK\5\6" + end)
    return path


def npy(shape: tuple[int, ...], version: int = 1, length: int | None = None) -> bytes:
    """Return the header of an array, which may claim to be longer than it is."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    claimed = len(text) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<I", claimed)[: 2 * version] + text


def tensors(path: Path, header: bytes) -> Path:
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    return path


def gguf(start: bytes, rest: bytes = b"") -> bytes:
    """Return a file of that format whose one value is a list that begins so."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + gguf_made.text("key")
    return head + struct.pack("<I", 9) + start + rest


def memory(path: Path, **changes: object) -> Path:
    """Write what ``save`` would write of two facts, with some of it changed."""
    dim = 2
    arrays = {
        "outputs": np.eye(2, dim),
        "targets": np.arange(2),
        "failed": np.zeros(0, dtype=np.int64),
        "weights": np.eye(dim),
    }
    note = {"format": 1, "params": {}, "dim_in": dim, "n_iter": 0, "proof": None}
    for name, value in changes.items():
        (arrays if isinstance(value, np.ndarray) else note)[name] = value
    np.savez(path, simonides=np.array(json.dumps(note)), **arrays)
    return path


def text(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def dictionary(path: Path) -> Path:
    """Write ten thousand copies of a text of a megabyte, which the format keeps once."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000), pa.array(["x" * 10**6]))
    pq.write_table(pa.table({"text": column}), path, compression="zstd", store_schema=False)
    return path


def unfolding(values: int, kind: int = parquet_made.DATA) -> bytes:
    """Return a Parquet file with a page of zeros, a gigabyte of them, that claims so many values."""
    page = parquet_made.page(bytes(2**30), values, kind)
    if kind == parquet_made.DICTIONARY:
        page, values = page + parquet_made.places(4), 4
    return parquet_made.content(page, values)


def planned(path: Path) -> None:
    plan(read_model(str(path)), candidates=100)


def parquet(path: Path) -> pa.Table:
    columns = pa.schema({"a": pa.float64(), "text": pa.string()})
    with reading.expecting("file", path, "a table", "pass another"):
        return parse_parquet(reading.read_bytes(path), columns)


def texts(path: Path) -> pa.Table:
    with reading.expecting("file", path, "a table", "pass another"):
        return parse_parquet(reading.read_bytes(path), pa.schema({"a": pa.string()}))


NAME = ".".join("ab" * 10_000)
ENTRY = '{"dtype":"F32","shape":[0,4],"data_offsets":[0,0]}'
WIDE = np.ones((22_000, 1))
GIGABYTES = 3 * 2**30

ATTACKS = {
    "deflated zeros": (
        lambda path: archive(path, zeros(GIGABYTES, npy((GIGABYTES // 8,))), GIGABYTES + 90),
        Certificate.load,
        "would unpack to",
    ),
    "deflated zeros behind a small size": (
        lambda path: archive(path, zeros(GIGABYTES, npy((GIGABYTES // 8,))), 1000),
        Certificate.load,
        "weights.npy",
    ),
    "a header that claims gigabytes": (
        lambda path: archive(path, zeros(2**28, npy((1,), 2, 2**31)), 2**28 - 1),
        Certificate.load,
        "header",
    ),
    "a list of many members": (
        lambda path: archive(path, b"", 0, copies=200_000),
        Certificate.load,
        "too many members",
    ),
    "a member of another compression": (
        lambda path: archive(path, b"\t\4\5\0]\0\0\0\xff", 1000, method=zipfile.ZIP_LZMA),
        Certificate.load,
        "compressed as numpy never does",
    ),
    "an array that claims two gigabytes": (
        lambda path: text(path, npy((2**28,))),
        reading.read_array,
        "would unpack to 2,147,483,648 bytes",
    ),
    "factors of a vast matrix": (
        lambda path: memory(path, left=WIDE, right=WIDE, outputs=np.eye(2, 22_000), dim_in=22_000),
        AssociativeMemory.load,
        "factors would become",
    ),
    "facts that failed twice": (
        lambda path: memory(path, failed=np.zeros(942, dtype=np.int64)),
        AssociativeMemory.load,
        "listed twice",
    ),
    "steps below zero": (
        lambda path: memory(path, n_iter=-1),
        AssociativeMemory.load,
        "n_iter = -1",
    ),
    "a proof of what is not stored": (
        lambda path: memory(path, proof=["not-storable", ""]),
        AssociativeMemory.load,
        "not of what is stored",
    ),
    "a name of many parts": (
        lambda path: tensors(path, f'{{"{NAME}":{ENTRY}}}'.encode()),
        planned,
        "has a name of 39,999 characters",
    ),
    "GGUF of endless texts": (
        lambda path: text(path, gguf(b"\x08" + bytes(3) + struct.pack("<Q", 2**23), bytes(2**26))),
        planned,
        "more than 4,194,304 texts",
    ),
    "GGUF of endless numbers": (
        lambda path: text(path, gguf(b"\x0c" + bytes(3) + struct.pack("<Q", 2**58))),
        planned,
        "its header is cut off",
    ),
    "GGUF of a long name": (
        lambda path: text(path, gguf_made.content({NAME: (0, [1])})),
        planned,
        "has a name of 39,999 characters",
    ),
    "a header of empty lists": (
        lambda path: tensors(path, b'{"__metadata__":[' + b"[]," * 10**7 + b"[]]}"),
        planned,
        "more than 1,048,576 items",
    ),
    "JSON nested deeply": (
        lambda path: text(path, '{"a":' * 900 + "1" + "}" * 900),
        reading.read_json,
        "nested too deeply",
    ),
    "JSON of many digits": (
        lambda path: text(path, '{"n_embd": ' + "9" * 5_000 + "}"),
        reading.read_json,
        "digits",
    ),
    "TOML nested deeply": (
        lambda path: text(path, "facts = " + "[" * 1_500 + "]" * 1_500),
        reading.read_toml,
        "nested too deeply",
    ),
    "TOML of many dots": (
        lambda path: text(path, ".".join("a" * 400_000) + " = 1"),
        reading.read_toml,
        "nested too deeply",
    ),
    "TOML of many quoted dots": (
        lambda path: text(
            path,
            """x = {a = '''' ''', b = \"\"\" \\\" \"\"\"\"\", """
            + ".".join(["','"] * 200_000)
            + " = 1}",
        ),
        reading.read_toml,
        "nested too deeply",
    ),
    "TOML of many digits": (
        lambda path: text(path, "facts = " + "9" * 5_000),
        reading.read_toml,
        "digits",
    ),
    "TOML without end": (
        lambda path: text(path, "# \n" * 400_000),
        reading.read_toml,
        "at most 1,000,000 bytes",
    ),
    "a page of a gigabyte": (
        lambda path: text(path, unfolding(4)),
        parquet,
        "would unpack to 1,073,741,824 bytes",
    ),
    "a page of other values than its column": (
        lambda path: text(path, parquet_made.content(parquet_made.page(bytes(2**10), 2**27), 4)),
        parquet,
        "another number of values",
    ),
    "a dictionary of a gigabyte": (
        lambda path: text(path, unfolding(2**27, parquet_made.DICTIONARY)),
        parquet,
        "would unpack to 1,073,741,824 bytes",
    ),
    "a dictionary of endless texts": (
        lambda path: text(
            path,
            parquet_made.content(
                parquet_made.page(bytes(8), 2**30, parquet_made.DICTIONARY)
                + parquet_made.places(4),
                4,
                parquet_made.TEXT,
            ),
        ),
        texts,
        "would unpack to 17,179,869,",
    ),
    "values of a gigabyte": (
        lambda path: text(
            path,
            parquet_made.content(
                parquet_made.page(bytes(10**6), 1, parquet_made.DICTIONARY)
                + parquet_made.places(2**12),
                2**12,
                parquet_made.FIXED,
                10**6,
            ),
        ),
        parquet,
        "its column a is of another type",
    ),
    "a name that occurs often": (
        lambda path: text(path, parquet_made.schema([parquet_made.LEAF] * 20_000, 20_000)),
        parquet,
        "Exceeded size limit",
    ),
    "lists in lists": (
        lambda path: text(path, parquet_made.schema([*parquet_made.LIST * 10, parquet_made.LEAF])),
        parquet,
        "its column a is of another type",
    ),
    "a text that is repeated": (dictionary, parquet, "would unpack to"),
}
"""How each file is written, who reads it, and what is said of it."""

ENDINGS = {Certificate.load: ".npz", AssociativeMemory.load: ".npz"}


def written(name: str, folder: Path) -> tuple[Path, object, str]:
    """Return the file of an attack, its reader and its refusal."""
    write, read, refusal = ATTACKS[name]
    return write(folder / f"{name}{ENDINGS.get(read, '')}"), read, refusal
