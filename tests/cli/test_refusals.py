"""Bad input: exit code 2, nothing on standard output, one line that names it and the remedy."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from program import PATIENCE, run_file
from running import PROGRAM, answer, refusal, refused

BAD = [
    (["capacity"], "dim"),
    (["verify", "nowhere.npz"], "file = 'nowhere.npz' cannot be used"),
    (["signal", "propagate", "--config", "nowhere.json"], "file = 'nowhere.json' cannot be used"),
    (["capacity", "--dim", "0"], "dim = 0"),
    (["capacity", "--dim", "-3"], "dim = -3"),
    (["capacity", "--dim", "1.5"], "--dim"),
    (["capacity", "--dim", "many"], "--dim"),
    (["capacity", "--dim-in", "5"], "dim"),
    (["capacity", "--dim", "10", "--rank", "11"], "rank = 11"),
    (["capacity", "--dim", "10", "--rank", "0"], "rank = 0"),
    (["capacity", "--dim", "10", "--candidates", "1"], "candidates = 1"),
    (["capacity", "--dim", "10", "--margin", "-1"], "margin = -1"),
    (["capacity", "--dim", "10", "--margin", "nan"], "margin = nan"),
    (["capacity", "--dim", "10", "--margin", "inf"], "margin = inf"),
    (["capacity", "--dim", "10", "--tail-fraction", "0"], "tail_fraction = 0"),
    (["capacity", "--dim", "10", "--tail-fraction", "1.01"], "tail_fraction = 1.01"),
    (["capacity", "--dim", "10", "--problem", "mixed"], "problem = 'mixed'"),
    (["capacity", "--dim", "10", "--plot", "curve.gif"], "curve.gif"),
    (["capacity", "--dim", "10", "--plot", "no/such/folder/curve.png"], "no/such/folder"),
    (["require", "--facts", "0"], "facts = '0'"),
    (["capacity", "--dim", "abc"], "'abc' was given"),
    (["capacity", "--dim", "10", "--margin=wide"], "'wide' was given"),
    (["require"], "--facts"),
    (["theory", "nonsense"], "name = 'nonsense'"),
    (["theory", "scores", "--dim", "1"], "dim = 1"),
    (["theory", "scores", "--plot", "x"], "plot = 'x'"),
    (["decide", "--dim", "5"], "facts"),
    (["decide", "--dim", "5", "--facts", "4", "--problem", "other"], "problem = 'other'"),
    (["decide", "--dim", "5", "--facts", "4", "--save", "proof.txt"], "proof.txt"),
    (["verify", "no-such-proof.npz", "--dim", "5", "--facts", "4"], "no-such-proof.npz"),
    (["unheard-of"], "unheard-of"),
    (["capacity", "--dim", "10", "--colour"], "--colour"),
    (["threshold", "--dim", "6", "--instances", "0"], "instances = 0"),
    (["threshold", "--dim", "6", "--problem", "odd"], "problem = 'odd'"),
    (["threshold", "--dim", "6", "--workers", "-1"], "workers = -1"),
    (["threshold", "--dim", "6", "--rank", "7"], "rank = 7"),
    (["threshold"], "dim = None"),
    (["train", "--dim", "6", "--facts", "9", "--solver", "magic"], "solver = 'magic'"),
    (["train", "--dim", "6", "--facts", "9", "--rank", "7"], "rank = 7"),
    (["train", "--dim", "6", "--facts", "9", "--backend", "jax"], "backend = 'jax'"),
    (["train", "--dim", "6", "--facts", "9", "--max-steps", "-1"], ": max_steps = -1"),
    (["train", "--facts", "9"], "dim"),
    (["decide", "--dim", "6", "--facts", "9", "--rank", "7"], "rank = 7"),
    (["decide", "--dim", "6", "--facts", "9", "--rank", "2", "--largest-margin"], "rank = 2"),
    (["capacity", "--dim", "5", "--dim-in", "6", "--dim-out", "7"], "dim = 5"),
    (["theory", "--plot", "x.png"], "plot = 'x.png'"),
    (["theory", "--dim", "5"], "dim = 5"),
    (["decide", "--dim", "0", "--facts", "9"], "dim = 0"),
    (["decide", "--dim", "5", "--dim-out", "0", "--facts", "9"], "dim_out = 0"),
    (["decide", "--dim-in", "5", "--facts", "9"], "--dim-out"),
    (["decide", "--dim", "5", "--facts", "0"], "facts = 0"),
    (["decide", "--dim", "5", "--facts", "9", "--candidates", "1"], "candidates = 1"),
    (["decide", "--dim", "5", "--facts", "9", "--seed", "-1"], "seed = -1"),
    (["decide", "--dim", "5", "--facts", "9", "--tolerance", "0"], "tolerance = 0"),
    (["decide", "--dim", "5", "--facts", "9", "--tolerance", "1"], "tolerance = 1"),
    (["decide", "--dim", "5", "--facts", "9", "--tolerance", "nan"], "tolerance = nan"),
    (["decide", "--dim", "9", "--dim-out", "6", "--facts", "9", "--rank", "7"], "rank = 7"),
    (["decide", "--dim", "5", "--facts", f"{10**18}"], f"({10**18}, None)"),
    (["decide", "--dim", "5", "--facts", f"{10**18}", "--problem", "decoupled"], "memory"),
    (["train", "--dim", "5", "--facts", "9", "--candidates", f"{10**18}"], f"(9, {10**18})"),
    (["decide", "--dim", "100000", "--facts", f"{10**10}"], "memory"),
    (["threshold", "--dim", "1000000"], "memory"),
    (["threshold", "--dim", f"{10**12}"], "memory"),
    (["verify", ".", "--dim", "5", "--facts", "9"], "'.'"),
    (["verify", "proof.npz", "--dim", "5", "--facts", "9", "--tolerance", "2"], "tolerance = 2"),
]


@pytest.mark.parametrize(("arguments", "named"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_exits_with_two_and_one_line(arguments, named):
    line = refused(*arguments)
    assert named in f": {line}"
    assert ":" in line, "a remedy follows the reason"


def test_a_refusal_points_to_the_command_s_own_help():
    assert refused("capacity", "--colour").endswith("see 'simonides capacity --help'\n")
    assert refused("sweep", "run").endswith("see 'simonides sweep run --help'\n")
    assert refused("signal", "diagram", "--x").endswith("see 'simonides signal diagram --help'\n")
    assert refused("unheard-of").endswith("see 'simonides --help'\n")


def test_a_refusal_is_a_line_that_a_terminal_shows():
    line = refused("theory", "\x1b[2J" + "x" * 10_000)
    assert line.rstrip("\n").isprintable()
    assert len(line) < 3000


def test_with_json_the_answer_is_empty_and_the_refusal_the_same():
    asked = ["decide", "--dim", "5", "--facts", "0"]
    assert refused(*asked, "--json") == refused(*asked)


HEADERS = {
    "boundless": "{'descr': '<f8', 'fortran_order': False, 'shape': (1" + "0" * 30 + ",), }",
    "untrue": "{'descr': '<f8', 'fortran_order': False, 'shape': (True,), }",
    "deep": "-" * 5000 + "1",
}
"""What numpy.lib.format trips over in ways of its own."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder of arrays, good and bad."""
    folder = tmp_path_factory.mktemp("arrays")
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((12, 5))
    holed = inputs.copy()
    holed[3, 2] = np.nan
    endless = inputs.copy()
    endless[3, 2] = -np.inf
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 5), }"
    arrays = {
        "x": inputs,
        "y": rng.standard_normal((12, 6)),
        "t": rng.integers(12, size=12),
        "few": rng.standard_normal((4, 6)),
        "holed": holed,
        "endless": endless,
        "complex": inputs + 1j,
        "flat": inputs[:, 0],
        "words": np.array([["a", "b"]]),
        "rowless": inputs[:0],
        "objects": np.array([{}], dtype=object),
        "fractions": np.zeros(12),
        "beyond": np.full(12, 12),
        "overflowing": np.full(12, 2**64 - 1, dtype=np.uint64),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=name == "objects")
    np.savez(folder / "archive.npy.npz", inputs)
    (folder / "empty.npy").touch()
    (folder / "text.npy").write_text("1 2 3\n")
    (folder / "zip.npy").write_bytes(b"PK\x03\x04 and no more")
    (folder / "torn.npy").write_bytes((folder / "x.npy").read_bytes()[:200])
    (folder / "nested.npy").write_bytes(b"\x93NUMPY\x01\x00\x10\x00{((((((((((((((\n")
    (folder / "vast.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + header.ljust(117).encode() + b"\n"
    )
    for name, text in HEADERS.items():
        body = text.encode() + b"\n"
        magic = b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little")
        (folder / f"{name}.npy").write_bytes(magic + body + bytes(64))
    (folder / "folder.npy").mkdir()
    return folder


@pytest.mark.parametrize(
    "name",
    [
        "holed", "endless", "complex", "flat", "words", "rowless", "objects", "empty", "text", "zip",
        "torn", "nested", "vast", "folder", "missing", *HEADERS,
    ],
)  # fmt: skip
def test_inputs_that_are_no_matrix_of_numbers(files, name):
    path = f"{name}.npy"
    asked = ["decide", "--inputs", path, "--outputs", "y.npy", "--save", f"{name}.npz"]
    assert "inputs" in refused(*asked, cwd=files)
    assert not (files / f"{name}.npz").exists()


OWN = ["--inputs", "x.npy", "--outputs", "y.npy"]
FEW = ["--inputs", "x.npy", "--outputs", "few.npy"]
IGNORED = [
    (["--inputs", "x.npy"], "--outputs"),
    (["--outputs", "y.npy"], "--inputs"),
    (["--inputs", "x.npy", "--dim", "5", "--facts", "9"], "--outputs"),
    (["--dim", "5", "--facts", "9", "--targets", "t.npy"], "targets = 't.npy'"),
    ([*OWN, "--dim", "5"], "--dim"),
    ([*OWN, "--dim-in", "5"], "--dim-in"),
    ([*OWN, "--dim-out", "6"], "--dim-out"),
    ([*OWN, "--facts", "12"], "--facts"),
    ([*OWN, "--candidates", "12"], "--candidates"),
    ([*OWN, "--problem", "decoupled"], "--problem"),
    ([*OWN, "--targets", "fractions.npy"], "targets"),
    ([*OWN, "--targets", "beyond.npy"], "targets[0] = 12"),
    ([*OWN, "--targets", "overflowing.npy"], "targets[0] = 18446744073709551615"),
    ([*OWN, "--inputs", "archive.npy.npz"], "archive.npy.npz"),
    (FEW, "targets"),
]


@pytest.mark.parametrize("command", ["decide", "train"])
@pytest.mark.parametrize(("arguments", "named"), IGNORED, ids=[" ".join(a) for a, _ in IGNORED])
def test_no_option_about_the_problem_goes_unheeded(files, command, arguments, named):
    assert named in refused(command, *arguments, cwd=files)


def test_a_seed_is_refused_where_it_draws_nothing(files):
    assert "--seed" in refused("decide", *OWN, "--seed", "0", cwd=files)
    assert "--seed" in refused("train", *OWN, "--seed", "0", "--solver", "cross_entropy", cwd=files)
    own = ["--inputs", str(files / "x.npy"), "--outputs", str(files / "y.npy")]
    proof = str(files / "proof.npz")
    answer("decide", *own, "--save", proof)
    assert answer("verify", proof, *own)["valid"] is True
    assert "--seed" in refused("verify", proof, *own, "--seed", "3")
    # Adam's first weights are drawn, whosever the facts are.
    first, same, other = (
        answer("train", *own, "--max-steps", "3", *seed)["loss"]
        for seed in ([], ["--seed", "0"], ["--seed", "1"])
    )
    assert first == same != other


def unwritable(folder: Path) -> Path:
    if os.geteuid() == 0:
        return Path("/proc")  # where even root cannot write
    folder.chmod(0o500)
    return folder


def test_a_proof_that_could_not_be_saved_is_refused_before_the_work(tmp_path):
    hours = ["decide", "--dim", "1000", "--facts", "90000"]
    assert "create" in refused(*hours, "--save", str(tmp_path / "nope" / "proof.npz"))
    (tmp_path / "folder.npz").mkdir()
    assert "folder.npz" in refused(*hours, "--save", str(tmp_path / "folder.npz"))
    path = str(unwritable(tmp_path) / "proof.npz")
    assert path in refused(*hours, "--save", path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_to_be_written_to_is_not_waited_for(tmp_path):
    for command, option, name in (
        (["decide", "--dim", "5", "--facts", "5"], "--save", "proof.npz"),
        (["capacity", "--dim", "5"], "--plot", "curve.svg"),
    ):
        os.mkfifo(tmp_path / name)
        assert "it is none" in refused(*command, option, str(tmp_path / name))


def test_looking_whether_a_proof_can_be_saved_leaves_files_as_they_are(tmp_path):
    there = tmp_path / "there.npz"
    there.write_text("keep me")
    for path in (there, tmp_path / "new.npz"):
        refused("decide", "--dim", "5", "--facts", "0", "--save", str(path))
    assert there.read_text() == "keep me"
    assert list(tmp_path.iterdir()) == [there]


def test_an_unwritable_picture_is_refused_in_one_line(tmp_path):
    path = str(unwritable(tmp_path) / "curve.png")
    assert path in refused("capacity", "--dim", "10", "--plot", path)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory cannot be limited")
@pytest.mark.slow
def test_running_out_of_memory_is_reported_in_one_line():
    # Vectors fit within the limit; what solving needs beside them does not.
    limit = 10**9
    ended = run_file(
        "decide", "--dim", "500", "--facts", "40000",
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    line = refusal(ended)
    assert "out of memory" in line
    assert "ask for less" in line


@pytest.mark.slow
def test_a_full_disk_is_reported_in_one_line():
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no full device on this system")
    with full.open("w") as sink:
        done = subprocess.run(
            [PROGRAM, "capacity", "--dim", "50", "--json"],
            stdout=sink, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("shown", [[], ["--json"]], ids=["table", "json"])
def test_a_reader_that_leaves_is_no_error(shown):
    ours, theirs = os.pipe()
    os.close(ours)
    command = [PROGRAM, "capacity", "--dim", "10", *shown]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, b"")
