"""Files of others: whatever they claim, nothing is allocated, waited for or executed."""

import os
import pickle
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import attacks
import numpy as np
import parquet_made
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from program import PATIENCE

from simonides import AssociativeMemory, Certificate, reading
from simonides.failures import BadArgumentError
from simonides.gguf_files import read_gguf
from simonides.parquet_files import parse_parquet
from simonides.planner.source import read_model
from simonides.problems import checked
from simonides.tensor_files import read_header, read_tensors

READERS = [
    reading.read_bytes,
    reading.read_json,
    reading.read_toml,
    reading.read_array,
    reading.read_arrays,
    read_header,
    read_tensors,
    read_gguf,
    Certificate.load,
]

LIMITED = """
import resource, sys, tempfile
from pathlib import Path
import attacks
from simonides.failures import BadArgumentError
folder = Path(tempfile.mkdtemp(dir=sys.argv[1]))
files = {name: attacks.written(name, folder) for name in attacks.ATTACKS}
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 10**9, used + 10**9))
for name, (path, read, refusal) in files.items():
    assert path.stat().st_size < 10**8, name
    try:
        read(path)
    except BadArgumentError as error:
        assert refusal in str(error), (name, str(error))
        assert str(error).isprintable() and str(path) in str(error), name
    else:
        raise AssertionError(name)
print("refused")
"""


FUZZED = """
import resource, sys
from pathlib import Path
import fuzz
fuzz.seeds(Path(sys.argv[1]))
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 10**9, used + 10**9))
assert fuzz.fuzz_files(450, 0, Path(sys.argv[1])) > 150
assert fuzz.fuzz_problems(45, 0) > 40
print("refused")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory cannot be limited")
@pytest.mark.parametrize("script", [LIMITED, FUZZED], ids=["attacks", "fuzz"])
def test_no_file_takes_a_gigabyte(tmp_path, script):
    """All files in a process that may not have one, and whose give-up is generous."""
    paths = [Path(attacks.__file__).parent, *sys.path]
    ended = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
    )
    assert (ended.stdout, ended.stderr) == ("refused\n", "")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize("read", READERS)
def test_only_regular_files_are_read(tmp_path, read):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, kind in ((pipe, "pipe"), (tmp_path, "folder"), (Path("/dev/zero"), "device")):
        with pytest.raises(BadArgumentError, match=f"it is a {kind}"):
            read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_models_and_memories_are_regular_files_too(tmp_path):
    for name, read in (("m.safetensors", read_model), ("c.json", read_model)):
        os.mkfifo(tmp_path / name)
        with pytest.raises(BadArgumentError, match="it is a pipe"):
            read(str(tmp_path / name))
    os.mkfifo(tmp_path / "m.npz")
    with pytest.raises(BadArgumentError, match="a file"):
        AssociativeMemory.load(tmp_path / "m.npz")


def test_a_link_that_the_user_names_is_followed(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(3))
    (tmp_path / "link").symlink_to(tmp_path / "x.npy")
    assert reading.read_array(tmp_path / "link").tolist() == [0, 1, 2]


@pytest.mark.parametrize("read", READERS)
def test_a_missing_file_is_missing(tmp_path, read):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing")


def test_arrays_of_any_shape_and_order_are_read(tmp_path):
    arrays = {
        "x": np.arange(6.0).reshape(2, 3),
        "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "empty": np.zeros((0, 4)),
        "number": np.array(3),
        "text": np.array("claim"),
        "half": np.ones(3, dtype=np.float16),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", **arrays)
        again = reading.read_arrays(tmp_path / "x.npz")
        assert again.keys() == arrays.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(again[name], array)
            assert again[name].dtype == array.dtype
    assert reading.read_arrays(tmp_path / "x.npz", known={"x", "y"}).keys() == {"x"}


def test_a_large_file_of_the_users_own_is_read(tmp_path):
    """Bounded by its own size and nothing else, compressed as far as random numbers are."""
    array = np.random.default_rng(0).standard_normal(2**20)
    np.save(tmp_path / "x.npy", array)
    np.testing.assert_array_equal(reading.read_array(tmp_path / "x.npy"), array)
    with (tmp_path / "x.npy").open("ab") as file:  # sparse: no disk holds it
        file.truncate(2**36)
    np.testing.assert_array_equal(reading.read_array(tmp_path / "x.npy"), array)
    assert reading.limit(3 * 2**30) == 24 * 2**30


def test_small_numbers_become_doubles_and_no_more(tmp_path):
    """A file of bytes becomes eight times its size: a second copy would take 100 MB past a gigabyte."""
    np.save(tmp_path / "x.npy", np.full((1000, 1000), -128, np.int8))
    tracemalloc.start()
    try:
        array = reading.read_array(tmp_path / "x.npy")
        assert checked.matrix("inputs", array).min() == -128
        assert tracemalloc.get_traced_memory()[1] < 10.1 * array.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_tables_as_writers_write_them_are_read(version):
    numbers = np.random.default_rng(0).standard_normal(30_000)
    columns = {
        "id": [f"{row:040x}" for row in range(30_000)],
        "status": ["done"] * 30_000,
        "empty": pa.array([None] * 30_000, pa.float64()),
        "number": numbers,
        "list": [numbers[: row % 3] for row in range(30_000)],
    }
    table = pa.table(columns)
    for part in (table, table[:0]):
        sink = pa.BufferOutputStream()
        pq.write_table(part, sink, compression="zstd", data_page_version=version)
        assert parse_parquet(sink.getvalue().to_pybytes(), table.schema).equals(part)
    made = parquet_made.content(parquet_made.page(numbers.tobytes(), 30_000), 30_000)
    schema = pa.schema({"a": pa.float64()})
    assert parse_parquet(made, schema)["a"].to_pylist() == numbers.tolist()


TWICE = [
    parquet_made.record(f1=0, f2=80, f3=80)[:-1] + b"\x05\x04" + parquet_made.number(8) + b"\0",
    parquet_made.record(f1=0, f2=(6, parquet_made.number(80)), f3=80),
    parquet_made.record(f1=0, f2=80, f3=(12, b"\x1c" * 90)),
    parquet_made.record(f1=0, f2=2**31, f3=80),
]


@pytest.mark.parametrize("header", TWICE, ids=["twice", "wide", "deep", "large"])
def test_a_page_means_the_same_to_whoever_reads_it(header):
    with pytest.raises(ValueError, match="a page's header"):
        parse_parquet(parquet_made.content(header + bytes(100), 10), pa.schema({"a": pa.float64()}))


def test_nothing_is_executed(tmp_path):
    class Evil:
        def __reduce__(self):
            return (pytest.fail, ("a file was unpickled",))

    np.save(tmp_path / "x.npy", np.array([Evil()]), allow_pickle=True)
    with pytest.raises(BadArgumentError, match="Python objects"):
        reading.read_array(tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", x=np.array([Evil()]))
    with pytest.raises(BadArgumentError, match="Python objects"):
        reading.read_arrays(tmp_path / "x.npz")
    (tmp_path / "bare").write_bytes(pickle.dumps([1]))
    for read in (reading.read_array, reading.read_arrays):
        with pytest.raises(BadArgumentError):
            read(tmp_path / "bare")


def test_a_damaged_member_is_refused(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.random.default_rng(0).standard_normal(1000))
    content = bytearray(path.read_bytes())
    content[4000] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(BadArgumentError, match=r"x\.npz"):
        reading.read_arrays(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x.npy", attacks.npy((1,)) + bytes(8))
    with pytest.raises(BadArgumentError, match="as numpy never does"):
        reading.read_arrays(path)


def test_no_reason_can_move_a_terminal(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"\x1b[2J\u202e": 1, "\x1b[2J\u202e": 2}', encoding="utf-8")
    with pytest.raises(BadArgumentError) as refusal:
        reading.read_json(path)
    assert str(refusal.value).isprintable()


def test_a_refusal_survives_being_sent_between_processes(tmp_path):
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(reading.UnreadableFileError) as refusal:
        reading.read_json(tmp_path / "x.json")
    again = pickle.loads(pickle.dumps(refusal.value))
    assert (str(again), again.reason) == (str(refusal.value), "it holds a list, not an object")


def test_no_descriptor_is_left_open(tmp_path):
    (tmp_path / "x").write_text("[")
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    for read in READERS[1:]:  # any bytes will do for the first
        for path in (tmp_path / "x", tmp_path):
            with pytest.raises(BadArgumentError):
                read(path)
    assert sys.platform != "linux" or len(os.listdir("/proc/self/fd")) == before
